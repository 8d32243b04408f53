#include "jobs/staging.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/processors.hpp"
#include "jobs/job.hpp"
#include "peers/ours.hpp"
#include "penstock/view.hpp"

namespace jobs {
namespace {

using bench::Contestant;
using bench::Direction;
using penstock::in;
using penstock::out;
using penstock::staged;
using Word = std::uint64_t;
using Words = std::vector<Word>;

constexpr std::size_t memory = 64 << 20;  ///< of all inputs, and of all outputs: more than caches hold

/// A thread's own memory, as a local store gives it: blocks one behind the other, each at a multiple of 128 bytes.
class OwnStore {
  public:
    /// Of two blocks, the first of so many words.
    static std::array<Word*, 2> blocks(std::size_t first, std::size_t second) {
        constexpr std::size_t alignment = 128 / sizeof(Word);
        thread_local Words own;
        const std::size_t skip = (first + alignment - 1) / alignment * alignment;
        if (own.size() < skip + second + alignment) own.resize(skip + second + alignment);
        const std::size_t odd = reinterpret_cast<std::uintptr_t>(own.data()) / sizeof(Word) % alignment;
        Word* const begin = own.data() + (alignment - odd) % alignment;
        return {begin, begin + skip};
    }
};

// ---- jobs in one piece: 1 cycle for each byte that is read ----

[[gnu::noinline]] void plain_job(In x, Out y) {
    std::uint64_t ticks = 0;
    job<1>(x, y, ticks);
}

/// Copies in, computes, copies out.
void copying_job(In x, Out y) {
    const auto [from, to] = OwnStore::blocks(x.size(), y.size());
    std::copy_n(x.data(), x.size(), from);
    plain_job(In(from, x.size()), Out(to, y.size()));
    std::copy_n(to, y.size(), y.data());
}

// ---- jobs on tiles of a matrix, which they read by their columns ----

constexpr std::size_t tile_rows = 128, tile_columns = 32;  ///< 32 KiB
constexpr std::size_t pitch = 2048;                        ///< words from row to row: rows meet in the caches' sets
using Tile = penstock::view<const Word, 2>;

[[gnu::noinline]] void tile_job(Tile tile, Out y) {
    for (std::size_t column = 0; column < tile_columns; ++column) {
        Word sum = 0;
        for (std::size_t row = 0; row < tile.extent(0); ++row) sum += tile(row, column);
        y[column] = sum;
    }
}

void copying_tile_job(Tile tile, Out y) {
    Word* const copy = OwnStore::blocks(tile.size(), 0)[0];
    for (std::size_t row = 0; row < tile.extent(0); ++row)
        std::copy_n(tile.row(row).data(), tile.extent(1), copy + row * tile.extent(1));
    tile_job(Tile(copy, tile_rows, tile_columns, tile_columns), y);
}

/// Inputs and outputs of jobs that go round in them.
struct Data {
    Words x = Words(memory / sizeof(Word)), y = Words(memory / sizeof(Word));
    Data() {
        Word value = 88172645463325252u;
        for (auto& word : x) word = value = value * 2862933555777941757u + 3037000493u;
    }
    /// Of job i, in blocks of so many words.
    In input(std::size_t i, std::size_t words) const { return In(x).subspan(i % (x.size() / words) * words, words); }
    Out output(std::size_t i, std::size_t words) { return Out(y).subspan(i % (y.size() / words) * words, words); }
};

/// Jobs of one kind: how they are run and where each finds its data.
class Kind {
  public:
    using Pass = std::function<void(std::size_t jobs)>;

    /// Of `results` words each.
    Kind(Data& data, std::size_t jobs_of_a_batch, std::size_t results)
        : data_(data), jobs_(jobs_of_a_batch), results_(results) {}

    /// A way of running jobs 0 to n - 1. All ways must have the same results.
    void add(std::string name, Pass pass) { ways_.push_back({std::move(name), std::move(pass)}); }

    bench::Result measure(const bench::Options& options) {
        std::vector<Contestant> contestants;
        for (const auto& way : ways_) {
            check(way);
            contestants.push_back({way.name, [this, &way] {
                                       const bench::Pinned pinned{bench::allowed_processors().front()};
                                       const auto start = bench::Clock::now();
                                       way.pass(jobs_);
                                       return bench::nanoseconds_since(start) / static_cast<double>(jobs_);
                                   }});
        }
        return bench::measure(contestants, options.plan);
    }

  private:
    struct Way {
        std::string name;
        Pass pass;
    };

    void check(const Way& way) {
        const auto some = Out(data_.y).first(results_ * std::min<std::size_t>(jobs_, 100));
        std::fill(some.begin(), some.end(), 0);
        way.pass(jobs_);
        if (expected_.empty()) expected_.assign(some.begin(), some.end());
        if (!std::equal(some.begin(), some.end(), expected_.begin()))
            throw std::runtime_error("jobs, staging: " + way.name + " computes something else");
    }

    Data& data_;
    std::size_t jobs_, results_;
    std::vector<Way> ways_;
    Words expected_;
};

void rows(bench::Report& report, const std::string& prefix, const bench::Result& result) {
    for (const auto& name : result.names()) report.row(prefix + name, {{"ns_a_job", result.median(name)}});
    report.conditions(result);
}

/// Jobs of so many bytes in and as many out.
bench::Result in_one_piece(bench::Report& report, const bench::Options& options, penstock::Machine& machine,
                           penstock::Machine& never, Data& data, std::size_t bytes) {
    const std::size_t words = bytes / sizeof(Word), blocks = data.x.size() / words;
    const auto x = [&data, words](std::size_t i) { return data.input(i, words); };
    const auto y = [&data, words](std::size_t i) { return data.output(i, words); };
    Kind kind(data, std::min<std::size_t>(blocks, options.quick ? 2048 : 16 * 1024), words);
    kind.add("in place", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<plain_job>(in(x(i)), out(y(i)));
        machine.barrier();
    });
    kind.add("copied by the job", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<copying_job>(in(x(i)), out(y(i)));
        machine.barrier();
    });
    kind.add("staged", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<plain_job>(staged(in(x(i))), staged(out(y(i))));
        machine.barrier();
    });
    kind.add("staged, nothing ahead", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) never.call<plain_job>(staged(in(x(i))), staged(out(y(i))));
        never.barrier();
    });
    const auto result = kind.measure(options);
    rows(report, std::to_string(bytes) + " bytes: ", result);
    return result;
}

/// Fetch, run and write-back at the same time, as with an engine that copies: this thread copies, a target runs.
void by_an_engine(bench::Report& report, const bench::Options& options, penstock::Machine& machine, Data& data,
                  std::size_t bytes) {
    constexpr std::size_t pairs = 4;
    const std::size_t words = bytes / sizeof(Word), blocks = data.x.size() / words;
    const auto x = [&data, words](std::size_t i) { return data.input(i, words); };
    const auto y = [&data, words](std::size_t i) { return data.output(i, words); };
    Kind kind(data, std::min<std::size_t>(blocks, options.quick ? 512 : 2048), words);
    kind.add("one target, in place", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.on(0).call<plain_job>(in(x(i)), out(y(i)));
        machine.barrier();
    });
    kind.add("one target, staged", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.on(0).call<plain_job>(staged(in(x(i))), staged(out(y(i))));
        machine.barrier();
    });
    std::vector<Words> from(pairs, Words(words)), to = from;
    kind.add("one target, copied by the caller", [&](std::size_t jobs) {
        std::array<penstock::Handle, pairs> running;
        for (std::size_t i = 0; i < jobs + pairs; ++i) {
            const std::size_t pair = i % pairs;
            if (i >= pairs) {
                running[pair].wait();
                std::ranges::copy(to[pair], y(i - pairs).begin());
            }
            if (i >= jobs) continue;
            std::ranges::copy(x(i), from[pair].begin());
            running[pair] = machine.on(0).call<plain_job>(in(from[pair]), out(to[pair]));
        }
    });
    kind.add("all processors, staged", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<plain_job>(staged(in(x(i))), staged(out(y(i))));
        machine.barrier();
    });
    rows(report, std::to_string(bytes) + " bytes: ", kind.measure(options));
}

void in_tiles(bench::Report& report, const bench::Options& options, penstock::Machine& machine,
              penstock::Machine& never, Data& data) {
    const std::size_t across = pitch / tile_columns, tiles = data.x.size() / (tile_rows * tile_columns);
    const auto tile = [&data, across](std::size_t i) {
        return Tile(data.x.data() + i / across * tile_rows * pitch + i % across * tile_columns, tile_rows, tile_columns,
                    static_cast<std::ptrdiff_t>(pitch));
    };
    const auto y = [&data](std::size_t i) { return Out(data.y).subspan(i * tile_columns, tile_columns); };
    Kind kind(data, tiles, tile_columns);
    kind.add("in place", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<tile_job>(in(tile(i)), out(y(i)));
        machine.barrier();
    });
    kind.add("copied by the job", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<copying_tile_job>(in(tile(i)), out(y(i)));
        machine.barrier();
    });
    kind.add("staged", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) machine.call<tile_job>(staged(in(tile(i))), out(y(i)));
        machine.barrier();
    });
    kind.add("staged, nothing ahead", [&](std::size_t jobs) {
        for (std::size_t i = 0; i < jobs; ++i) never.call<tile_job>(staged(in(tile(i))), out(y(i)));
        never.barrier();
    });
    rows(report, "tiles of 128 x 256 bytes, read by columns: ", kind.measure(options));
}

}  // namespace

void compare_staging(bench::Report& report, const bench::Options& options, penstock::Machine& machine) {
    Data data;
    const auto never = bench::make_machine({.prefetch = penstock::Prefetch::never});
    in_one_piece(report, options, machine, *never, data, 1024);
    in_one_piece(report, options, machine, *never, data, 4096);
    const auto jobs = in_one_piece(report, options, machine, *never, data, 32'400);
    if (machine.targets() != 0) by_an_engine(report, options, machine, data, 32'400);
    in_tiles(report, options, machine, *never, data);
    report.goal("jobs/staged-over-before", jobs.ratio("copied by the job", "staged"), Direction::at_least, 1.1,
                bench::Judged::by_interval);
}

}  // namespace jobs
