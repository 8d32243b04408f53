// A stamped call is an ordinary one whose entry has been exchanged for one that reads the clock before and after what
// the target unpacks and runs; the issuer reads it as the call returns, as it sees the completion, and as wait()
// returns. Each side keeps its stamps in its own memory until the batch is over, so that no line travels for them.
//
// Reading the clock takes time as well. A stage goes from the end of one reading to the end of the next, so that each
// holds one whole reading, which is taken off again; except the way to the target: what the issuer reads as the call
// returns, it reads while the record travels. The sum of the stages, made so, must be the trip without stamps, which is
// measured in the same rounds. It does not depend on whether the clocks of both processors agree; the two ways do.
#include "null_task/stages.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/floors.hpp"
#include "harness/measure.hpp"
#include "peers/ours.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace bench {
namespace {

using penstock::procedure::Constant;
using Ticks = penstock::Clock::Ticks;
using Block = std::array<float, 16>;
using Span = std::span<const float>;

constexpr std::size_t trips = 256;  // a batch: its stamps fit the caches next to both
constexpr std::size_t warm_trips = 500;

struct AtTarget {
    Ticks begun, ended;
};
struct AtIssuer {
    Ticks published, seen, collected;
};

/// Written by the target alone while tasks are outstanding, by the issuer while none is.
struct alignas(128) TargetLog {
    std::array<AtTarget, trips> stamps;
    std::size_t next = 0;
} target_log;

/// Does nothing with its arguments, which it is handed nevertheless.
template <class... Spans>
void take(Spans... spans) {
    [[maybe_unused]] const auto handed = [](Span span) { asm volatile("" : : "r"(span.data()), "r"(span.size())); };
    (handed(spans), ...);
    null_task();
}

template <std::size_t>
using Argument = Span;
template <std::size_t>
using Tagged = decltype(penstock::in(std::declval<const Block&>()));

template <std::size_t... i>
struct Trip {
    using Site = penstock::procedure::SiteOf<Constant<take<Argument<i>...>>, Tagged<i>...>;

    static penstock::Handle issue(penstock::Machine& machine, const std::array<Block, 8>& blocks) {
        return machine.call<take<Argument<i>...>>(penstock::in(blocks[i])...);
    }
    static void run_stamped(const penstock::PackedArguments& arguments, penstock::LocalStore& store) {
        const Ticks begun = penstock::Clock::ticks();
        Site::Call::run(arguments, store);
        const Ticks ended = penstock::Clock::ticks();
        target_log.stamps[target_log.next++ % trips] = {begun, ended};
    }
    static constexpr penstock::Entry stamped = [] {
        penstock::Entry entry = Site::Registered::entry;
        entry.run = run_stamped;
        return entry;
    }();
};

/// While it lives, what is called at a call site runs by another entry. No task is outstanding at either end.
class Exchanged {
  public:
    Exchanged(std::uint32_t number, const penstock::Entry& entry)
        : place_(penstock::entries[number]), usual_(std::exchange(place_, &entry)) {}
    ~Exchanged() { place_ = usual_; }
    Exchanged(const Exchanged&) = delete;
    Exchanged& operator=(const Exchanged&) = delete;

  private:
    const penstock::Entry*& place_;
    const penstock::Entry* usual_;
};

/// What reading the clock takes, in ticks, between two readings that follow one another.
double ticks_of_a_stamp() {
    std::array<Ticks, trips> stamps;
    for (Ticks& stamp : stamps) stamp = penstock::Clock::ticks();
    return static_cast<double>(stamps.back() - stamps.front()) / (trips - 1);
}

constexpr const char* stage_names[] = {"issue", "to_target", "run", "back", "collect"};
constexpr std::size_t stage_count = std::size(stage_names);

/// Nanoseconds of each stage of the trips of one batch.
struct Stages {
    std::array<double, stage_count> of{};
    double stamp = 0;
};

template <class Trip>
Stages stamped_batch(penstock::Machine& machine, const std::array<Block, 8>& blocks) {
    std::array<AtIssuer, trips> stamps;
    const double stamp = ticks_of_a_stamp();
    const Exchanged exchanged{Trip::Site::Registered::number, Trip::stamped};
    for (std::size_t i = 0; i < warm_trips; ++i) Trip::issue(machine, blocks).wait();
    target_log.next = 0;
    const Ticks begin = penstock::Clock::ticks();
    for (AtIssuer& at : stamps) {
        const penstock::Handle handle = Trip::issue(machine, blocks);
        at.published = penstock::Clock::ticks();
        while (!handle.ready()) penstock::relax();
        at.seen = penstock::Clock::ticks();
        handle.wait();
        at.collected = penstock::Clock::ticks();
    }
    std::array<double, stage_count> sums{};
    Ticks last = begin;
    const auto stage = [&](std::size_t number, Ticks from, Ticks to) {
        sums[number] += static_cast<double>(static_cast<std::int64_t>(to - from));  // of two clocks, so perhaps below 0
    };
    for (std::size_t i = 0; i < trips; ++i) {
        const auto& [begun, ended] = target_log.stamps[i];
        stage(0, last, stamps[i].published);
        stage(1, stamps[i].published, begun);
        stage(2, begun, ended);
        stage(3, ended, stamps[i].seen);
        stage(4, stamps[i].seen, stamps[i].collected);
        last = stamps[i].collected;
    }
    const double ns = penstock::Clock::nanoseconds_per_tick();
    Stages found{.stamp = stamp * ns};
    for (std::size_t s = 0; s < stage_count; ++s) found.of[s] = (sums[s] / trips - (s == 1 ? 0 : stamp)) * ns;
    return found;
}

/// Two contestants: the trip as it is, and the sum of the stages of trips with stamps, which are kept beside it.
template <class Trip>
std::shared_ptr<std::vector<Stages>> add(std::size_t arguments, penstock::Machine& machine,
                                         std::vector<Contestant>& contestants) {
    static const std::array<Block, 8> blocks{};
    const std::string name = std::to_string(arguments) + " arguments";
    Peer peer = penstock_peer(machine);
    peer.name = name;
    peer.round_trip = [&machine] { Trip::issue(machine, blocks).wait(); };
    contestants.push_back(round_trip_of(peer, 2000));
    contestants.back().singles = {};
    const auto kept = std::make_shared<std::vector<Stages>>();
    contestants.push_back({name + ", stages", [&machine, kept, inside = peer.inside] {
                               inside([&] { kept->push_back(stamped_batch<Trip>(machine, blocks)); });
                               double sum = 0;
                               for (const double stage : kept->back().of) sum += stage;
                               return sum;
                           }});
    return kept;
}

void add_row(std::size_t arguments, const Result& result, const std::vector<Stages>& stages, Report& report) {
    const auto median_of = [&](auto figure) {
        std::vector<double> all;
        std::ranges::transform(stages, std::back_inserter(all), figure);
        return median(all);
    };
    const std::string name = std::to_string(arguments) + " arguments";
    Report::Figures figures;
    for (std::size_t s = 0; s < stage_count; ++s)
        figures.emplace_back(std::string(stage_names[s]) + "_ns",
                             median_of([s](const Stages& all) { return all.of[s]; }));
    const Interval over = result.ratio(name + ", stages", name).usual;
    figures.insert(figures.end(), {{"sum_ns", result.median(name + ", stages")},
                                   {"whole_ns", result.median(name)},
                                   {"sum_over_whole", over.value},
                                   {"low", over.low},
                                   {"high", over.high},
                                   {"stamp_ns", median_of([](const Stages& all) { return all.stamp; })}});
    report.row("stages: " + name, std::move(figures));
}

}  // namespace

void measure_stages(Report& report, const Options& options, penstock::Machine& one_target) {
    std::vector<Contestant> contestants{nearest_floors().one_line()};
    std::vector<std::shared_ptr<std::vector<Stages>>> kept;
    const auto add_trip = [&]<std::size_t... i>(std::index_sequence<i...>) {
        kept.push_back(add<Trip<i...>>(sizeof...(i), one_target, contestants));
    };
    [&]<std::size_t... n>(std::index_sequence<n...>) {
        (add_trip(std::make_index_sequence<n>{}), ...);
    }(std::make_index_sequence<9>{});
    const auto result = measure(contestants, options.plan);
    report.conditions(result);
    for (std::size_t n = 0; n < kept.size(); ++n) add_row(n, result, *kept[n], report);
    report.note(
        "stages: the call until it returns; the record's way until the target begins the entry; unpacking and "
        "running; the completion and its way until the issuer sees it; the rest of wait(); each but the second "
        "without the one reading of the clock that it holds (stamp_ns)");
}

}  // namespace bench
