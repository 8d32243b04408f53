// How bytes get to the core that reads them: stored plainly, demoted, past the caches, as a remote chooses, or pulled.
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/floors.hpp"
#include "harness/plot.hpp"
#include "peers/carried.hpp"
#include "peers/crew.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"
#include "penstock/spmd.hpp"
#include "penstock/topology.hpp"

namespace {

using bench::Contestant;
using bench::Crew;
using penstock::Rank;
using penstock::StoreWay;
using penstock::Substrate;
using Word = std::uint64_t;

constexpr std::array<std::size_t, 10> sizes{8,         64,        512,        1u << 10, 4u << 10,
                                            16u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20};
constexpr std::size_t largest = sizes.back() / sizeof(Word);
constexpr std::array<std::size_t, 4> block_sizes{1u << 10, 4u << 10, 16u << 10, 64u << 10};
constexpr std::size_t blocks = 4;  ///< under way in a stream of blocks
enum class Kind { plain, demote, stream, pull, one_by_one, chosen };

const char* name(Kind kind) {
    constexpr const char* names[] = {"plain", "demote", "stream", "pull", "plain, word by word", "chosen"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<StoreWay> way_of(Kind kind) {
    if (kind == Kind::plain) return StoreWay::plain;
    if (kind == Kind::demote) return StoreWay::demote;
    if (kind == Kind::stream) return StoreWay::stream;
    return std::nullopt;
}

std::vector<Kind> kinds() {
    std::vector<Kind> all{Kind::plain, Kind::stream, Kind::pull, Kind::one_by_one, Kind::chosen};
    if (penstock::Topology::here().has_cldemote()) all.insert(all.begin() + 1, Kind::demote);
    return all;
}

std::string words(std::size_t bytes) {
    if (bytes >= std::size_t{1} << 20) return std::to_string(bytes >> 20) + " MiB";
    return bytes >= 1024 ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes) + " B";
}

std::uint32_t times_for(std::size_t bytes) {
    return static_cast<std::uint32_t>(
        std::max<std::size_t>(3, std::min<std::size_t>(2000, (std::size_t{4} << 20) / bytes)));
}

/// One of two ranks, which store to each other in turn; each reads all that arrives.
class Side {
  public:
    explicit Side(Rank me)
        : me_(me), other_(1 - me.index()), inbox_(me, "inbox", largest), ready_(me, "ready"),
          outbox_(me.make("outbox", largest * sizeof(Word))), source_(largest, Word{1}), theirs_([&] {
              inbox_.grant(other_);
              ready_.grant(other_);
              me.grant(outbox_, other_);
              return penstock::Remote<Word>::accept(me, other_, "inbox");
          }()),
          theirs_ready_(penstock::RemoteCounter::accept(me, other_, "ready")),
          theirs_outbox_(me.accept(other_, "outbox")) {}

    /// There and back. Half of it is the time until the consumer has read the bytes.
    void exchange(Kind kind, std::size_t bytes, std::uint32_t times) {
        theirs_.set_way(way_of(kind));
        for (std::uint32_t i = 0; i < times; ++i) {
            if (me_.index() == 0) {
                send(kind, bytes);
                receive(kind, bytes);
            } else {
                receive(kind, bytes);
                send(kind, bytes);
            }
        }
    }

    /// Rank 0 stores block after block, rank 1 reads them; a block's place is used again once it was read.
    void stream(Kind kind, std::size_t bytes, std::uint32_t times) {
        theirs_.set_way(way_of(kind));
        const std::size_t count = bytes / sizeof(Word);
        const std::uint64_t got_before = got_;
        for (std::uint32_t i = 0; i < times; ++i) {
            const std::size_t place = i % blocks * count;
            if (me_.index() == 0) {
                if (i >= blocks) ready_.wait_until(got_before + i - blocks + 1, penstock::Awaited::rank(other_));
                theirs_.store(place, std::span<const Word>(source_).first(count));
                theirs_.publish(theirs_ready_, ++sent_);
            } else {
                ready_.wait_until(++got_, penstock::Awaited::rank(other_));
                sum_ = sum_ + read(inbox_.data() + place, count);
                theirs_ready_.store(++sent_);
            }
        }
        if (me_.index() == 0) {
            ready_.wait_until(got_before + times, penstock::Awaited::rank(other_));
            got_ = got_before + times;
        }
    }

  private:
    void send(Kind kind, std::size_t bytes) {
        const std::size_t count = bytes / sizeof(Word);
        source_[0] = ++sent_;
        if (kind == Kind::pull) std::memcpy(outbox_.data(), source_.data(), bytes);
        else if (kind == Kind::one_by_one)
            for (std::size_t i = 0; i < count; ++i) theirs_[i] = source_[i];
        else theirs_.store(0, std::span<const Word>(source_).first(count));
        theirs_.publish(theirs_ready_, sent_);
    }

    void receive(Kind kind, std::size_t bytes) {
        ready_.wait_until(++got_, penstock::Awaited::rank(other_));
        const Word* const from =
            kind == Kind::pull ? reinterpret_cast<const Word*>(theirs_outbox_.data()) : inbox_.data();
        sum_ = sum_ + read(from, bytes / sizeof(Word));
        if (from[0] != got_) throw std::runtime_error("push: what arrived is not what was stored");
    }

    static Word read(const Word* from, std::size_t count) {
        Word sums[4] = {};
        std::size_t i = 0;
        for (; i + 4 <= count; i += 4)
            for (std::size_t k = 0; k < 4; ++k) sums[k] += from[i + k];
        for (; i < count; ++i) sums[0] += from[i];
        return sums[0] + sums[1] + sums[2] + sums[3];
    }

    Rank me_;
    int other_;
    penstock::Region<Word> inbox_;
    penstock::Counter ready_;
    penstock::RankMemory outbox_;
    std::vector<Word> source_;
    penstock::Remote<Word> theirs_;
    penstock::RemoteCounter theirs_ready_;
    penstock::RankMemory theirs_outbox_;
    std::uint64_t sent_ = 0, got_ = 0;
    volatile Word sum_ = 0;  ///< so that the loads are not left out
};

/// Numbers of what Carried keeps.
enum Goal : std::size_t { one_way_64, choice, pipelined };

/// The rows of one size; the picture finds them again by it.
std::string row_name(Substrate substrate, std::size_t bytes) {
    return std::string(penstock::name(substrate)) + ", " + words(bytes) + ", ";
}

/// The fastest of these ways over the chosen one, in each standing of the processors: another way may be the best in
/// each.
bench::Ratio best_over_chosen(const bench::Result& result, const std::vector<std::string>& names) {
    std::vector<bench::Ratio::Of> found;
    for (const bench::Standing standing : result.standings()) {
        const auto best = *std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
            return result.median(a, standing) < result.median(b, standing);
        });
        for (const auto& one : result.ratio(best, "chosen").standings)
            if (one.standing == standing) found.push_back(one);
    }
    return bench::Ratio{std::move(found)};
}

void measure_one_way(Crew& crew, bench::Floors& floors, Substrate substrate, const bench::Options& options,
                     bench::Carried& carried) {
    const auto all = kinds();
    const auto work_of = [&](std::size_t s, std::size_t k) {
        return [&crew, work = s * all.size() + k, bytes = sizes[s]] { return crew.timed(work, times_for(bytes)) / 2; };
    };
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        std::vector<Contestant> contestants{floors.two_lines()};
        for (std::size_t k = 0; k < all.size(); ++k) contestants.push_back({name(all[k]), work_of(s, k)});
        const auto result = bench::measure(contestants, options.plan);
        carried.rows(row_name(substrate, sizes[s]), result);
        carried.mark(row_name(substrate, sizes[s]) +
                     std::string(penstock::name(penstock::StoreWays::here().of(sizes[s]))));
        if (sizes[s] == 64) carried.goal(one_way_64, result.ratio("chosen", "F2"));
        std::vector<std::string> ways;
        for (const Kind kind : all)
            if (way_of(kind)) ways.emplace_back(name(kind));
        carried.goal(choice, best_over_chosen(result, ways));
    }
}

void measure_streams(Crew& crew, bench::Floors& floors, Substrate substrate, const bench::Options& options,
                     bench::Carried& carried, std::size_t first) {
    const auto all = kinds();
    std::size_t work = first;
    for (const std::size_t bytes : block_sizes) {
        std::vector<Contestant> contestants{floors.two_lines()};
        for (const Kind kind : all)
            if (way_of(kind))
                contestants.push_back(
                    {name(kind), [&crew, work = work++, bytes] { return crew.timed(work, 4 * times_for(bytes)); }});
        const auto result = bench::measure(contestants, options.plan);
        carried.rows(std::string(penstock::name(substrate)) + ", stream of blocks of " + words(bytes) + ", ", result);
        if (penstock::Topology::here().has_cldemote()) carried.goal(pipelined, result.ratio("plain", "demote"));
    }
}

/// One rank; rank 0 measures.
void member(Rank me, const bench::Options& options, bench::Carried& carried) {
    Crew crew(me);
    Side side(me);
    for (const std::size_t bytes : sizes)
        for (const Kind kind : kinds())
            crew.add([&side, kind, bytes](std::uint32_t times) { side.exchange(kind, bytes, times); });
    const std::size_t streams = sizes.size() * kinds().size();
    for (const std::size_t bytes : block_sizes)
        for (const Kind kind : kinds())
            if (way_of(kind)) crew.add([&side, kind, bytes](std::uint32_t times) { side.stream(kind, bytes, times); });
    if (me.index() != 0) return crew.serve();
    const auto& processors = bench::allowed_processors();
    bench::Floors floors{processors.front(), processors[processors.size() > 1 ? 1 : 0]};
    measure_one_way(crew, floors, me.substrate(), options, carried);
    measure_streams(crew, floors, me.substrate(), options, carried, streams);
    crew.stop();
}

/// The picture: time over size, a ring where the calibration chose this way.
bool draw(const bench::Carried& carried, const std::string& file) {
    bench::Plot plot("Until the consumer has read the bytes: " + bench::machine_in_words(), "bytes", "time one way");
    for (const auto substrate : {Substrate::threads, Substrate::processes}) {
        std::vector<bench::Series> lines;
        for (const Kind kind : kinds()) {
            bench::Series line{name(kind), {}};
            for (const std::size_t bytes : sizes)
                if (const auto median = carried.median(row_name(substrate, bytes) + name(kind)))
                    line.points.push_back(
                        {static_cast<double>(bytes), *median, carried.marked(row_name(substrate, bytes) + name(kind))});
            lines.push_back(std::move(line));
        }
        plot.chart(std::string(penstock::name(substrate)), std::move(lines));
    }
    std::ofstream out(file);
    out << plot.svg("a ring: what the calibration chose");
    out.flush();
    if (!out) std::fprintf(stderr, "push: cannot write '%s'\n", file.c_str());
    return out.good();
}

}  // namespace

int main(int argc, char** argv) {
    const bool demotes = penstock::Topology::here().has_cldemote();
    bench::About about{"push",
                       "one-way time until the consumer has read n bytes, by each way of storing and by pulling",
                       {"push/one-way-64", "push/choice"},
                       true};
    if (demotes) about.goals.emplace_back("push/pipelined");
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 41;
    bench::Report report{about, options};
    bench::Carried carried;
    for (const auto substrate : {Substrate::processes, Substrate::threads})
        penstock::spmd(2, [&](Rank me) { member(me, options, carried); }, {.substrate = substrate, .pin = false});
    carried.hand_over(report);
    report.goal("push/one-way-64", *carried.goal(one_way_64), bench::Direction::at_most, 0.6,
                bench::Judged::by_interval);
    report.goal("push/choice", *carried.goal(choice), bench::Direction::at_least, 0.95, bench::Judged::by_interval);
    if (demotes) report.goal("push/pipelined", *carried.goal(pipelined), bench::Direction::at_least, 1.3);
    report.note(
        "chosen: as a remote does by itself, by what was measured once and by how "
        "far its reader is; measured: " +
        penstock::StoreWays::here().description());
    report.note(
        "goals are the worse of threads and processes; push/choice the worst of all sizes and standings, against the "
        "best way there");
    if (!demotes) report.note("push/pipelined is judged on processors with CLDEMOTE only");
    const bool drawn = options.plot.empty() || draw(carried, options.plot);
    const int status = report.finish();
    return drawn ? status : 1;
}
