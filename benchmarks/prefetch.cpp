// What it is worth to fetch the next task's blocks while the current one runs: tiles of several shapes, in random order
// over memory that no cache holds and over a set that fits, with 0 to 8 operations a word. Beside the same machine
// without the prefetch, oneTBB, and a loop over the same tiles, which fetches the next tile by hand, into the first
// cache or the second, whichever is faster. What is compared with it are gains: time without over time with, of each.
// The loop runs on as many threads as the machine, each with its share of the tiles, since processors fetch from one
// memory.
//
// Bodies of two forms. One is a single piece of code, so that the next tile can only be fetched whole, before it. The
// other goes through its tile in 16 parts and has something between them: penstock::fetch_ahead() in a task, a part of
// the next tile in the loop by hand.
//
// Three kinds of body, since they leave the processor more or less to hide by itself: eight sums apart, one chain of
// multiply-adds to a lane of a vector, and one that writes what it has read. What goes through a part of a tile is one
// function, which is never inlined: everybody runs the same instructions.
//
// Every way walks on through the same random order, so that no way finds in the cache what another has just read.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/partner.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/fetch_ahead.hpp"
#include "penstock/view.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include "peers/onetbb.hpp"
#endif

namespace {

using bench::Contestant;
using bench::Direction;
using Tile = penstock::view<float, 2>;
using ReadTile = penstock::view<const float, 2>;

constexpr std::size_t page = 4096;
constexpr std::size_t pitch_bytes = 16 * 1024;
constexpr std::size_t pitch = pitch_bytes / sizeof(float);

struct Shape {
    const char* name;
    std::size_t rows;
    std::size_t row_bytes;  ///< more than the pitch: the block is contiguous
};

constexpr Shape shapes[] = {{"64 x 256 B", 64, 256},   {"128 x 512 B", 128, 512}, {"16 x 64 B", 16, 64},
                            {"4 KiB", 1, 4 << 10},     {"16 KiB", 1, 16 << 10},   {"64 KiB", 1, 64 << 10},
                            {"256 KiB", 1, 256 << 10}, {"1 MiB", 1, 1 << 20}};

/// What a body does with a vector of words, and what it leaves of them in `sums`.
using Words = std::array<float, 8>;

/// `operations` with each word by itself, then a sum: it is the memory that limits.
template <int operations>
struct Sums {
    static constexpr bool writes = false;
    static void take(const float* words, Words& sums) {
        for (std::size_t lane = 0; lane < sums.size(); ++lane) {
            float word = words[lane];
            for (int i = 0; i < operations; ++i) word = word * 0.5f + 1.0f;
            sums[lane] += word;
        }
    }
};

/// Each of `operations` waits for the one before, from the first word of the tile to its last.
template <int operations>
struct Chain {
    static constexpr bool writes = false;
    static void take(const float* words, Words& sums) {
        for (std::size_t lane = 0; lane < sums.size(); ++lane)
            for (int i = 0; i < operations; ++i) sums[lane] = sums[lane] * 0.5f + words[lane];
    }
};

/// `operations` with each word, in its place.
template <int operations>
struct Writes {
    static constexpr bool writes = true;
    static void take(float* words, Words& last) {
        for (std::size_t lane = 0; lane < last.size(); ++lane) {
            float word = words[lane];
            for (int i = 0; i < operations; ++i) word = word * 0.5f + 1.0f;
            last[lane] = words[lane] = word;
        }
    }
};

/// The rows from `first` to before `last` of a tile, of each the columns from `from` to before `to`.
struct Part {
    std::size_t first, last, from, to;
};
constexpr std::size_t parts = 16;
template <class View>
Part whole_of(const View& tile) {
    return {0, tile.extent(0), 0, tile.extent(1)};
}
template <class View>
Part part_of(const View& tile, std::size_t k) {
    const std::size_t rows = tile.extent(0) / parts, columns = tile.extent(1) / parts;
    if (tile.extent(0) == 1) return {0, 1, columns * k, columns * (k + 1)};
    return {rows * k, rows * (k + 1), 0, tile.extent(1)};
}

template <class Kind, class View>
[[gnu::noinline]] void digest_part(View tile, Part part, Words& into) {
    Words sums = into;  // else the compiler must think that words and sums may be the same
    for (std::size_t row = part.first; row < part.last; ++row) {
        auto* const words = tile.row(row).data();
        for (std::size_t column = part.from; column < part.to; column += sums.size()) Kind::take(words + column, sums);
    }
    into = sums;
}

/// The body: goes through the tile and leaves one figure.
template <class Kind, class View>
void digest_all(View tile, std::span<float> result) {
    Words sums{};
    digest_part<Kind>(tile, whole_of(tile), sums);
    result[0] = std::accumulate(sums.begin(), sums.end(), 0.0f);
}
/// The same in parts, with something before each.
template <class Kind, class View, class Before>
void digest_in_parts(View tile, std::span<float> result, Before before) {
    Words sums{};
    for (std::size_t k = 0; k < parts; ++k) {
        before(k);
        digest_part<Kind>(tile, part_of(tile, k), sums);
    }
    result[0] = std::accumulate(sums.begin(), sums.end(), 0.0f);
}

enum class Form { whole, in_parts };

/// As a procedure to call.
template <class Kind, Form form, class View>
void digest(View tile, std::span<float> result) {
    if constexpr (form == Form::whole) digest_all<Kind>(tile, result);
    else digest_in_parts<Kind>(tile, result, [](std::size_t) { penstock::fetch_ahead(); });
}

enum class Cache { first, second };

/// A volatile instruction, since g++ 12 drops calls of functions that only prefetch.
template <class Kind, Cache cache>
void fetch_part(Tile tile, Part part) {
    constexpr std::size_t line = 64 / sizeof(float);
    for (std::size_t row = part.first; row < part.last; ++row) {
        const float* const words = tile.row(row).data();
        for (std::size_t column = part.from; column < part.to; column += line) {
            __builtin_prefetch(words + column, Kind::writes && cache == Cache::first ? 1 : 0,
                               cache == Cache::first ? 3 : 2);
            asm volatile("" : : "r"(words + column));
        }
    }
}

/// Memory of `bytes`, cut into tiles of one shape, visited in one random order that starts again at its end.
class Field {
  public:
    Field(float* data, std::size_t bytes, const Shape& shape) : data_(data), shape_(shape) {
        std::vector<std::size_t> order;
        const std::size_t across = strided() ? pitch_bytes / shape.row_bytes : 1;
        const std::size_t down = strided() ? bytes / (pitch_bytes * shape.rows) : bytes / shape.row_bytes;
        across_ = across;
        order.resize(across * down);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), std::mt19937{7});
        order_ = std::make_shared<const std::vector<std::size_t>>(std::move(order));
    }

    bool strided() const { return shape_.rows > 1; }
    std::size_t tile_bytes() const { return shape_.rows * shape_.row_bytes; }
    void skip(std::size_t tiles) { position_ = (position_ + tiles) % order_->size(); }
    Tile next() {
        const std::size_t number = (*order_)[position_];
        position_ = position_ + 1 == order_->size() ? 0 : position_ + 1;
        const std::size_t columns = shape_.row_bytes / sizeof(float);
        if (!strided()) return {data_ + number * columns, {1, columns}};
        float* const corner = data_ + number / across_ * shape_.rows * pitch + number % across_ * columns;
        return {corner, shape_.rows, columns, static_cast<std::ptrdiff_t>(pitch)};
    }

  private:
    float* data_;
    Shape shape_;
    std::size_t across_ = 1;
    std::shared_ptr<const std::vector<std::size_t>> order_;
    std::size_t position_ = 0;
};

/// What a batch works on: the tiles and a place for each result, a line apart.
struct Load {
    Load(Field tiles, std::size_t batch_bytes)
        : field(std::move(tiles)),
          count(std::max<std::size_t>(4, std::min<std::size_t>(batch_bytes / field.tile_bytes(), 2000))),
          results(count * 16) {}
    std::span<float> result(std::size_t i) { return {&results[i * 16], 1}; }

    Field field;
    std::size_t count;
    std::vector<float> results;
};

template <class Pass>
Contestant contestant(std::string name, std::shared_ptr<Load> load, Pass pass) {
    return {std::move(name), [load, pass] {
                const bench::Pinned pinned{bench::allowed_processors().front()};
                std::fill(load->results.begin(), load->results.end(), -1.0f);
                pass(*load, std::max<std::size_t>(1, load->count / 8));
                const auto start = bench::Clock::now();
                pass(*load, load->count);
                const double time = bench::nanoseconds_since(start);
                for (std::size_t i = 0; i < load->count; ++i)
                    if (!(load->result(i)[0] > 0)) throw std::runtime_error("prefetch: a tile was not read");
                return time / static_cast<double>(load->count);
            }};
}

template <class Kind, Form form = Form::whole>
Contestant by_tagged_calls(std::string name, std::shared_ptr<Load> load, penstock::Machine& machine) {
    return contestant(std::move(name), std::move(load), [&machine](Load& work, std::size_t tiles) {
        for (std::size_t i = 0; i < tiles; ++i) {
            if constexpr (Kind::writes)
                machine.call<digest<Kind, form, Tile>>(penstock::inout(work.field.next()),
                                                       penstock::out(work.result(i)));
            else
                machine.call<digest<Kind, form, ReadTile>>(penstock::in(work.field.next()),
                                                           penstock::out(work.result(i)));
        }
        machine.barrier();
    });
}

/// A thread on each processor, awake from gather() to disperse().
class Team {
  public:
    Team() {
        const auto& processors = bench::allowed_processors();
        for (std::size_t i = 1; i < processors.size(); ++i)
            partners_.push_back(std::make_unique<bench::Partner>(processors[i]));
    }
    std::size_t size() const { return partners_.size() + 1; }
    void gather() {
        work_ = nullptr;
        for (std::size_t i = 0; i < partners_.size(); ++i)
            partners_[i]->start([this, i, seen = turn_.load()]() mutable {
                for (;; ++seen) {
                    while (turn_.load(std::memory_order_acquire) == seen) std::this_thread::yield();
                    if (work_ == nullptr) return;
                    (*work_)(i + 1);
                    done_.fetch_add(1, std::memory_order_release);
                }
            });
    }
    /// Calls `work` with the number of each thread, the caller's is 0.
    void all(const std::function<void(std::size_t)>& work) {
        work_ = &work;
        done_.store(0, std::memory_order_relaxed);
        turn_.fetch_add(1, std::memory_order_release);
        work(0);
        while (done_.load(std::memory_order_acquire) != partners_.size()) std::this_thread::yield();
    }
    void disperse() {
        work_ = nullptr;
        turn_.fetch_add(1, std::memory_order_release);
        for (const auto& partner : partners_) partner->join();
    }

  private:
    std::vector<std::unique_ptr<bench::Partner>> partners_;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::atomic<std::uint64_t> turn_{0};
    std::atomic<std::size_t> done_{0};
};

enum class ByHand { nothing, into_first_cache, into_second_cache };

/// Of tiles first .. end - 1 of a batch, one thread's.
template <class Kind, Form form, ByHand way>
void loop_over(Load& work, Field field, std::size_t first, std::size_t end) {
    constexpr Cache cache = way == ByHand::into_first_cache ? Cache::first : Cache::second;
    field.skip(first);
    Tile next = field.next();
    for (std::size_t i = first; i < end; ++i) {
        const Tile tile = next;
        const bool fetches = way != ByHand::nothing && i + 1 < end;
        if (i + 1 < end) next = field.next();
        if constexpr (form == Form::in_parts) {
            digest_in_parts<Kind>(tile, work.result(i), [&](std::size_t k) {
                if (fetches) fetch_part<Kind, cache>(next, part_of(next, k));
            });
        } else {
            if (fetches) fetch_part<Kind, cache>(next, whole_of(next));
            digest_all<Kind>(tile, work.result(i));
        }
    }
}

/// A loop over the tiles, which fetches the next tile in this way.
template <class Kind, Form form, ByHand way>
Contestant by_loop(std::string name, std::shared_ptr<Load> load, Team& team) {
    auto inner = contestant(std::move(name), std::move(load), [&team](Load& work, std::size_t tiles) {
        team.all([&](std::size_t thread) {
            const auto share = [&](std::size_t i) { return tiles * i / team.size(); };
            loop_over<Kind, form, way>(work, work.field, share(thread), share(thread + 1));
        });
        work.field.skip(tiles);
    });
    inner.batch = [&team, batch = std::move(inner.batch)] {
        team.gather();
        const double time = batch();
        team.disperse();
        return time;
    };
    return inner;
}

#if defined(PENSTOCK_BENCH_TBB)
template <class Kind>
Contestant by_onetbb(std::shared_ptr<Load> load) {
    bench::in_onetbb_arena([] {});  // made here, where this thread may still use every processor
    return contestant("onetbb", std::move(load), [](Load& work, std::size_t tiles) {
        bench::in_onetbb_arena([&] {
            tbb::task_group group;
            for (std::size_t i = 0; i < tiles; ++i)
                group.run([tile = work.field.next(), result = work.result(i)] { digest_all<Kind>(tile, result); });
            group.wait();
        });
    });
}
#endif

struct Machines {
    std::unique_ptr<penstock::Machine> without = bench::make_machine({.prefetch = penstock::Prefetch::never});
    std::unique_ptr<penstock::Machine> with = bench::make_machine({.prefetch = penstock::Prefetch::measured});
    std::unique_ptr<penstock::Machine> always = bench::make_machine({.prefetch = penstock::Prefetch::always});
    std::unique_ptr<penstock::Machine> four =
        bench::make_machine({.prefetch = penstock::Prefetch::always, .jobs_in_flight = 4});
    Team team;
};

/// What one case says towards the goals.
struct Outcome {
    std::string name;
    bool central;  ///< 64 x 256 B over the large memory, eight sums: the case of the goals
    bench::Ratio gain;
    bench::Ratio of_by_hand;  ///< our gain over the best by hand, which is 1 where fetching by hand gains nothing
    bench::Ratio over_onetbb;
};

template <class Kind>
void compare(const Field& field, const std::string& name, bool central, Machines& machines,
             const bench::Options& options, bench::Report& report, std::vector<Outcome>& outcomes) {
    const auto load = std::make_shared<Load>(field, std::size_t{options.quick ? 2u : 8u} << 20);
    constexpr Form in_parts = Form::in_parts;
    std::vector<Contestant> contestants{
        by_tagged_calls<Kind>("without", load, *machines.without),
        by_tagged_calls<Kind>("with", load, *machines.with),
        by_tagged_calls<Kind>("always", load, *machines.always),
        by_tagged_calls<Kind>("always, 4 in flight", load, *machines.four),
        by_loop<Kind, Form::whole, ByHand::nothing>("loop", load, machines.team),
        by_loop<Kind, Form::whole, ByHand::into_first_cache>("loop, first cache", load, machines.team),
        by_loop<Kind, Form::whole, ByHand::into_second_cache>("loop, second cache", load, machines.team),
        by_tagged_calls<Kind, in_parts>("parts without", load, *machines.without),
        by_tagged_calls<Kind, in_parts>("parts with", load, *machines.with),
        by_loop<Kind, in_parts, ByHand::nothing>("parts, loop", load, machines.team),
        by_loop<Kind, in_parts, ByHand::into_first_cache>("parts, loop, first cache", load, machines.team),
        by_loop<Kind, in_parts, ByHand::into_second_cache>("parts, loop, second cache", load, machines.team)};
#if defined(PENSTOCK_BENCH_TBB)
    contestants.push_back(by_onetbb<Kind>(load));
#endif
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    for (const std::string form : {"", "parts "}) {
        const std::string without = form + "without", with = form + "with",
                          loop = form.empty() ? "loop" : "parts, loop";
        const std::string first = loop + ", first cache", second = loop + ", second cache";
        std::string by_hand = loop;
        for (const auto& each : {first, second})
            if (result.median(each) < result.median(by_hand)) by_hand = each;
        Outcome outcome{name + (form.empty() ? "" : ", in parts"),
                        central && form.empty(),
                        result.ratio(without, with),
                        result.ratio_of_ratios(without, with, loop, by_hand),
                        {}};
        bench::Report::Figures figures{{"without_ns", result.median(without)},
                                       {"gain", outcome.gain.usual.value},
                                       {"low", outcome.gain.usual.low},
                                       {"high", outcome.gain.usual.high},
                                       {"noise", result.noise().value}};
        if (form.empty()) {
            figures.emplace_back("always", result.ratio(without, "always").usual.value);
            figures.emplace_back("always_four", result.ratio(without, "always, 4 in flight").usual.value);
        }
        figures.emplace_back("loop_ns", result.median(loop));
        figures.emplace_back("first_cache", result.ratio(loop, first).usual.value);
        figures.emplace_back("second_cache", result.ratio(loop, second).usual.value);
        figures.emplace_back("of_by_hand", outcome.of_by_hand.usual.value);
#if defined(PENSTOCK_BENCH_TBB)
        outcome.over_onetbb = result.ratio("onetbb", with);
        figures.emplace_back("over_onetbb", outcome.over_onetbb.usual.value);
#endif
        report.row(outcome.name, figures);
        outcomes.push_back(std::move(outcome));
    }
}

std::vector<Outcome> compare_all(float* data, std::size_t bytes, const bench::Options& options, bench::Report& report) {
    Machines machines;
    std::vector<Outcome> outcomes;
    for (const bool in_cache : {false, true}) {
        const std::size_t used = in_cache ? bench::last_level_cache_bytes() / 4 : bytes;
        for (const Shape& shape : shapes) {
            const Field field{data, used, shape};
            const std::string name = std::string(shape.name) + (in_cache ? ", in cache, " : ", from memory, ");
            const bool central = &shape == &shapes[0] && !in_cache;
            const auto add = [&]<class Kind>(Kind, const char* kind) {
                compare<Kind>(field, name + kind, central, machines, options, report, outcomes);
            };
            add(Sums<0>{}, "sums of words");
            add(Chain<2>{}, "chains of 2 operations");
            if (options.quick) continue;
            add(Sums<2>{}, "sums, 2 operations");
            add(Sums<8>{}, "sums, 8 operations");
            add(Writes<2>{}, "written, 2 operations");
        }
    }
    return outcomes;
}

void judge(const std::vector<Outcome>& outcomes, bench::Report& report) {
    const Outcome& central =
        *std::find_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.central; });
    report.goal("prefetch/strided", central.gain, Direction::at_least, 1.5);
#if defined(PENSTOCK_BENCH_TBB)
    report.goal("prefetch/strided-over-onetbb", central.over_onetbb, Direction::at_least, 1.5);
#else
    report.missing("prefetch/strided-over-onetbb", Direction::at_least, 1.5,
                   "oneTBB was not found when this was built");
#endif
    const auto worst = [&](std::string goal, bench::Ratio Outcome::* of, double at_least) {
        const auto found = std::min_element(outcomes.begin(), outcomes.end(), [of](const Outcome& a, const Outcome& b) {
            return bench::worse(a.*of, b.*of, Direction::at_least, bench::Judged::by_interval);
        });
        bench::Ratio all;
        for (const Outcome& outcome : outcomes) all.add(outcome.*of);
        report.note(goal + " is the case '" + found->name + "'");
        report.goal(std::move(goal), all, Direction::at_least, at_least, bench::Judged::by_interval);
    };
    report.note("prefetch/strided is the case '" + central.name + "'");
    worst("prefetch/worst", &Outcome::gain, 0.98);
    worst("prefetch/of-by-hand", &Outcome::of_by_hand, 0.9);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "prefetch",
        "tiles in random order, with the prefetch of the next task's blocks, without, by hand, and under oneTBB",
        {"prefetch/strided", "prefetch/strided-over-onetbb", "prefetch/worst", "prefetch/of-by-hand"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    bench::Report report{about, options};

    const std::size_t bytes = std::size_t{options.quick ? 256u : 1024u} << 20;
    std::vector<float> memory((bytes + page) / sizeof(float));
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i % 7 + 1);
    // So that a tile has as many lines as its bytes say, and everybody asks for the same ones.
    void* data = memory.data();
    std::size_t room = memory.size() * sizeof(float);
    std::align(page, bytes, data, room);
    judge(compare_all(static_cast<float*>(data), bytes, options, report), report);
    report.note(
        "from memory: over " + std::to_string(bytes >> 20) +
        " MiB in pages as the system gives them; gain: time without over time with; first_cache, second_cache: the "
        "same of a loop that fetches the next tile by hand");
    return report.finish();
}
