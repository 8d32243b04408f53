// What it is worth to fetch the next task's blocks while the current one runs: tiles of several shapes, in random order
// over memory that no cache holds and over a set that fits, with 0 to 8 operations a word. Beside the same machine
// without the prefetch, and oneTBB.
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
using Tile = penstock::view<const float, 2>;

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

/// Reads the tile, does `operations` with each word, leaves one figure. Eight sums, so that it is the memory that
/// limits.
template <int operations>
void digest(Tile tile, std::span<float> result) {
    std::array<float, 8> sums{};
    for (std::size_t row = 0; row < tile.extent(0); ++row) {
        const float* const words = tile.row(row).data();
        for (std::size_t column = 0; column < tile.extent(1); column += sums.size()) {
            for (std::size_t lane = 0; lane < sums.size(); ++lane) {
                float word = words[column + lane];
                for (int i = 0; i < operations; ++i) word = word * 0.5f + 1.0f;
                sums[lane] += word;
            }
        }
    }
    result[0] = std::accumulate(sums.begin(), sums.end(), 0.0f);
}

/// Memory of `bytes`, cut into tiles of one shape, visited in one random order that starts again at its end.
class Field {
  public:
    Field(const float* data, std::size_t bytes, const Shape& shape) : data_(data), shape_(shape) {
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
        const float* const corner = data_ + number / across_ * shape_.rows * pitch + number % across_ * columns;
        return {corner, shape_.rows, columns, static_cast<std::ptrdiff_t>(pitch)};
    }

  private:
    const float* data_;
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

template <int operations>
Contestant by_tagged_calls(std::string name, std::shared_ptr<Load> load, penstock::Machine& machine) {
    return contestant(std::move(name), std::move(load), [&machine](Load& work, std::size_t tiles) {
        for (std::size_t i = 0; i < tiles; ++i)
            machine.call<digest<operations>>(penstock::in(work.field.next()), penstock::out(work.result(i)));
        machine.barrier();
    });
}

#if defined(PENSTOCK_BENCH_TBB)
template <int operations>
Contestant by_onetbb(std::shared_ptr<Load> load) {
    bench::in_onetbb_arena([] {});  // made here, where this thread may still use every processor
    return contestant("onetbb", std::move(load), [](Load& work, std::size_t tiles) {
        bench::in_onetbb_arena([&] {
            tbb::task_group group;
            for (std::size_t i = 0; i < tiles; ++i)
                group.run([tile = work.field.next(), result = work.result(i)] { digest<operations>(tile, result); });
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
    bool central;  ///< 64 x 256 B over the large memory: the case of the goals
    bench::Ratio gain;
    bench::Ratio over_onetbb;
    int operations;
};

template <int operations>
Outcome compare(const Field& field, const std::string& name, Machines& machines, const bench::Options& options,
                bench::Report& report) {
    const auto load = std::make_shared<Load>(field, std::size_t{options.quick ? 2u : 8u} << 20);
    std::vector<Contestant> contestants{by_tagged_calls<operations>("without", load, *machines.without),
                                        by_tagged_calls<operations>("with", load, *machines.with),
                                        by_tagged_calls<operations>("always", load, *machines.always),
                                        by_tagged_calls<operations>("always, 4 in flight", load, *machines.four)};
#if defined(PENSTOCK_BENCH_TBB)
    contestants.push_back(by_onetbb<operations>(load));
#endif
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    Outcome outcome{name, false, result.ratio("without", "with"), {}, operations};
    bench::Report::Figures figures{{"without_ns", result.median("without")},
                                   {"gain", outcome.gain.usual.value},
                                   {"low", outcome.gain.usual.low},
                                   {"high", outcome.gain.usual.high},
                                   {"noise", result.noise().value},
                                   {"always", result.ratio("without", "always").usual.value},
                                   {"always_four", result.ratio("without", "always, 4 in flight").usual.value}};
#if defined(PENSTOCK_BENCH_TBB)
    outcome.over_onetbb = result.ratio("onetbb", "with");
    figures.emplace_back("over_onetbb", outcome.over_onetbb.usual.value);
#endif
    report.row(name, figures);
    return outcome;
}

std::vector<Outcome> compare_all(const float* data, std::size_t bytes, const bench::Options& options,
                                 bench::Report& report) {
    Machines machines;
    std::vector<Outcome> outcomes;
    for (const bool in_cache : {false, true}) {
        const std::size_t used = in_cache ? bench::last_level_cache_bytes() / 4 : bytes;
        for (const Shape& shape : shapes) {
            const Field field{data, used, shape};
            const std::string name = std::string(shape.name) + (in_cache ? ", in cache, " : ", from memory, ");
            const std::size_t first = outcomes.size();
            outcomes.push_back(compare<0>(field, name + "0 operations", machines, options, report));
            if (!options.quick) {
                outcomes.push_back(compare<2>(field, name + "2 operations", machines, options, report));
                outcomes.push_back(compare<8>(field, name + "8 operations", machines, options, report));
            }
            for (std::size_t i = first; i < outcomes.size(); ++i)
                outcomes[i].central = &shape == &shapes[0] && !in_cache;
        }
    }
    return outcomes;
}

void judge(const std::vector<Outcome>& outcomes, bench::Report& report) {
    const auto central = std::find_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.central; });
    report.goal("prefetch/strided", central->gain, Direction::at_least, 1.5);
#if defined(PENSTOCK_BENCH_TBB)
    report.goal("prefetch/strided-over-onetbb", central->over_onetbb, Direction::at_least, 1.5);
#else
    report.missing("prefetch/strided-over-onetbb", Direction::at_least, 1.5,
                   "oneTBB was not found when this was built");
#endif
    const auto worst = std::min_element(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
        return bench::worse(a.gain, b.gain, Direction::at_least, bench::Judged::by_interval);
    });
    bench::Ratio all;
    for (const Outcome& outcome : outcomes) all.add(outcome.gain);
    report.goal("prefetch/worst", all, Direction::at_least, 0.97, bench::Judged::by_interval);
    report.note("prefetch/strided is the case '" + central->name + "'; prefetch/worst is the case '" + worst->name +
                "'");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "prefetch",
        "tiles in random order, with the prefetch of the next task's blocks, without, and under oneTBB",
        {"prefetch/strided", "prefetch/strided-over-onetbb", "prefetch/worst"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 41;
    bench::Report report{about, options};

    const std::size_t bytes = std::size_t{options.quick ? 256u : 1024u} << 20;
    std::vector<float> data(bytes / sizeof(float));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 7 + 1);
    judge(compare_all(data.data(), bytes, options, report), report);
    report.note("from memory: over " + std::to_string(bytes >> 20) +
                " MiB in pages as the system gives them; gain: time without over time with");
    return report.finish();
}
