// What it is worth to fetch the next task's blocks while the current one runs: tiles of several shapes, in random order
// over memory that no cache holds and over a set that fits, with 0 to 8 operations a word. Beside the same machine
// without the prefetch, oneTBB, and one thread's loop over the same tiles with the same body, which fetches the next
// tile by hand: the whole of it before the current one, or a slice of it before each slice of the current one. What is
// compared with it are gains: time without over time with, of each.
//
// Three kinds of body, since they leave the processor more or less to hide by itself: eight sums apart, one chain of
// multiply-adds to a lane of a vector, and one that writes what it has read.
//
// Every way walks on through the same random order, so that no way finds in the cache what another has just read.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/view.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include "peers/onetbb.hpp"
#endif

namespace {

using bench::Contestant;
using bench::Direction;
using Tile = penstock::view<float, 2>;
using ReadTile = penstock::view<const float, 2>;

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

/// The rows from `first` to before `last`, of each the columns from `from` to before `to`.
template <class Kind, class View>
void digest_part(View tile, std::size_t first, std::size_t last, std::size_t from, std::size_t to, Words& sums) {
    for (std::size_t row = first; row < last; ++row) {
        auto* const words = tile.row(row).data();
        for (std::size_t column = from; column < to; column += sums.size()) Kind::take(words + column, sums);
    }
}

/// The body: goes through the tile and leaves one figure.
template <class Kind, class View>
void digest_all(View tile, std::span<float> result) {
    Words sums{};
    digest_part<Kind>(tile, 0, tile.extent(0), 0, tile.extent(1), sums);
    result[0] = std::accumulate(sums.begin(), sums.end(), 0.0f);
}

/// As a procedure to call.
template <class Kind>
void digest(ReadTile tile, std::span<float> result) {
    digest_all<Kind>(tile, result);
}
template <class Kind>
void revise(Tile tile, std::span<float> result) {
    digest_all<Kind>(tile, result);
}

template <class Kind>
void fetch_part(Tile tile, std::size_t first, std::size_t last, std::size_t from, std::size_t to) {
    constexpr std::size_t line = 64 / sizeof(float);
    for (std::size_t row = first; row < last; ++row)
        for (std::size_t column = from; column < to; column += line)
            __builtin_prefetch(tile.row(row).data() + column, Kind::writes ? 1 : 0);
}

/// Memory of `bytes`, cut into tiles of one shape, visited in one random order that starts again at its end.
class Field {
  public:
    Field(float* data, std::size_t bytes, const Shape& shape) : data_(data), shape_(shape) {
        const std::size_t across = strided() ? pitch_bytes / shape.row_bytes : 1;
        const std::size_t down = strided() ? bytes / (pitch_bytes * shape.rows) : bytes / shape.row_bytes;
        across_ = across;
        order_.resize(across * down);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::shuffle(order_.begin(), order_.end(), std::mt19937{7});
    }

    bool strided() const { return shape_.rows > 1; }
    std::size_t tile_bytes() const { return shape_.rows * shape_.row_bytes; }
    Tile next() {
        const std::size_t number = order_[position_];
        position_ = position_ + 1 == order_.size() ? 0 : position_ + 1;
        const std::size_t columns = shape_.row_bytes / sizeof(float);
        if (!strided()) return {data_ + number * columns, {1, columns}};
        float* const corner = data_ + number / across_ * shape_.rows * pitch + number % across_ * columns;
        return {corner, shape_.rows, columns, static_cast<std::ptrdiff_t>(pitch)};
    }

  private:
    float* data_;
    Shape shape_;
    std::size_t across_ = 1;
    std::vector<std::size_t> order_;
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

template <class Kind>
Contestant by_tagged_calls(std::string name, std::shared_ptr<Load> load, penstock::Machine& machine) {
    return contestant(std::move(name), std::move(load), [&machine](Load& work, std::size_t tiles) {
        for (std::size_t i = 0; i < tiles; ++i) {
            if constexpr (Kind::writes)
                machine.call<revise<Kind>>(penstock::inout(work.field.next()), penstock::out(work.result(i)));
            else machine.call<digest<Kind>>(penstock::in(work.field.next()), penstock::out(work.result(i)));
        }
        machine.barrier();
    });
}

enum class ByHand { nothing, whole, slices };

/// One thread's loop over the tiles, which fetches the next tile in this way.
template <class Kind, ByHand way>
Contestant by_loop(std::string name, std::shared_ptr<Load> load) {
    return contestant(std::move(name), std::move(load), [](Load& work, std::size_t tiles) {
        Tile next = work.field.next();
        for (std::size_t i = 0; i < tiles; ++i) {
            const Tile tile = next;
            const bool last = i + 1 == tiles;
            if (!last) next = work.field.next();
            const std::size_t rows = tile.extent(0), columns = tile.extent(1);
            if constexpr (way == ByHand::slices) {
                Words sums{};
                const std::size_t slices = 16;
                for (std::size_t k = 0; k < slices; ++k) {
                    const auto part = [&](auto act) {
                        if (rows == 1) act(0, 1, columns / slices * k, columns / slices * (k + 1));
                        else act(rows / slices * k, rows / slices * (k + 1), 0, columns);
                    };
                    if (!last) part([&](auto... range) { fetch_part<Kind>(next, range...); });
                    part([&](auto... range) { digest_part<Kind>(tile, range..., sums); });
                }
                work.result(i)[0] = std::accumulate(sums.begin(), sums.end(), 0.0f);
            } else {
                if (way == ByHand::whole && !last) fetch_part<Kind>(next, 0, rows, 0, columns);
                digest_all<Kind>(tile, work.result(i));
            }
        }
    });
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
Outcome compare(const Field& field, const std::string& name, bool central, Machines& machines,
                const bench::Options& options, bench::Report& report) {
    const auto load = std::make_shared<Load>(field, std::size_t{options.quick ? 2u : 8u} << 20);
    std::vector<Contestant> contestants{by_tagged_calls<Kind>("without", load, *machines.without),
                                        by_tagged_calls<Kind>("with", load, *machines.with),
                                        by_tagged_calls<Kind>("always", load, *machines.always),
                                        by_tagged_calls<Kind>("always, 4 in flight", load, *machines.four),
                                        by_loop<Kind, ByHand::nothing>("loop", load),
                                        by_loop<Kind, ByHand::whole>("whole", load),
                                        by_loop<Kind, ByHand::slices>("slices", load)};
#if defined(PENSTOCK_BENCH_TBB)
    contestants.push_back(by_onetbb<Kind>(load));
#endif
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    const auto faster = [&](const char* a, const char* b) { return result.median(a) < result.median(b) ? a : b; };
    const std::string by_hand = faster("loop", faster("whole", "slices"));
    Outcome outcome{
        name, central, result.ratio("without", "with"), result.ratio_of_ratios("without", "with", "loop", by_hand), {}};
    bench::Report::Figures figures{{"without_ns", result.median("without")},
                                   {"gain", outcome.gain.usual.value},
                                   {"low", outcome.gain.usual.low},
                                   {"high", outcome.gain.usual.high},
                                   {"noise", result.noise().value},
                                   {"always", result.ratio("without", "always").usual.value},
                                   {"always_four", result.ratio("without", "always, 4 in flight").usual.value},
                                   {"loop_ns", result.median("loop")},
                                   {"whole", result.ratio("loop", "whole").usual.value},
                                   {"slices", result.ratio("loop", "slices").usual.value},
                                   {"of_by_hand", outcome.of_by_hand.usual.value}};
#if defined(PENSTOCK_BENCH_TBB)
    outcome.over_onetbb = result.ratio("onetbb", "with");
    figures.emplace_back("over_onetbb", outcome.over_onetbb.usual.value);
#endif
    report.row(name, figures);
    return outcome;
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
                outcomes.push_back(compare<Kind>(field, name + kind, central, machines, options, report));
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
    if (!options.quick) options.plan.rounds = 41;
    bench::Report report{about, options};

    const std::size_t bytes = std::size_t{options.quick ? 256u : 1024u} << 20;
    std::vector<float> data(bytes / sizeof(float));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 7 + 1);
    judge(compare_all(data.data(), bytes, options, report), report);
    report.note("from memory: over " + std::to_string(bytes >> 20) +
                " MiB in pages as the system gives them; gain: time without over time with; whole, slices: the same of "
                "one thread's loop that "
                "fetches the next tile by hand");
    return report.finish();
}
