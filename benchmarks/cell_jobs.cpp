// Cell-Space's synthetic jobs with its own measures: 1 and 10 cycles for each byte that a job reads or writes, chains
// whose jobs keep their transfers, persistent data in the place of input and output, and overheads over a time without
// stalls.
//
// The paper's figures 5 and 6. Its effective execution time (AEET) is that of a function that takes a fixed number of
// cycles, on processors that have no caches: what a job waits for its data is overhead. So AEET is here the time of the
// same job alone on data that lie in the cache, as often as there are jobs, over the number of workers. (`./bench jobs`
// takes the time inside the jobs instead, stalls and all.) TET is the time from the first issue until all is complete;
// the overhead is TET / AEET - 1.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/chain.hpp"
#include "penstock/machine.hpp"
#include "penstock/resident.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::in;
using penstock::out;
using penstock::staged;
using In = std::span<const std::uint64_t>;
using Out = std::span<std::uint64_t>;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t bytes = 32'400, words = bytes / 8;  // of a job's input, and of its output
constexpr std::size_t blocks = 2048;                      // of memory that jobs go round in
constexpr const char* alone = "a job alone, in the cache";

/// So many steps of 4 cycles: a multiplication and an addition that must wait for the one before.
template <int steps>
void step(std::uint64_t& state, std::uint64_t word) {
    for (int n = 0; n < steps; ++n) {
        state = state * 6364136223846793005u + word;
        asm volatile("" : "+r"(state));
    }
}

/// `cycles` for each byte of the table, of x and of y, which together are 64,800, however they are shared out.
template <int cycles>
void job(In table, In x, Out y) {
    std::uint64_t state = 1;
    for (const auto word : table) step<2 * cycles>(state, word);
    for (std::size_t i = 0; i < y.size(); ++i) {
        step<4 * cycles>(state, x[i]);
        y[i] = state;
    }
}

template <int cycles>
void plain_job(In x, Out y) {
    job<cycles>({}, x, y);
}

struct Data {
    Words x = Words(blocks * words), y = Words(blocks * words), table = Words(2 * words);
    std::size_t jobs;  ///< of a batch

    explicit Data(std::size_t jobs_of_a_batch) : jobs{jobs_of_a_batch} {
        std::uint64_t value = 88172645463325252u;
        for (auto& word : x) word = value = value * 2862933555777941757u + 3037000493u;
    }
    In inputs(std::size_t first, std::size_t count) const {
        return In(x).subspan(first % blocks * words, count * words);
    }
    Out outputs(std::size_t first, std::size_t count) { return Out(y).subspan(first % blocks * words, count * words); }
};

/// Nanoseconds of a job in a batch of them.
double batch(Data& data, const std::function<void(Data&)>& pass) {
    const bench::Pinned pinned{bench::allowed_processors().front()};
    const auto start = bench::Clock::now();
    pass(data);
    return bench::nanoseconds_since(start) / static_cast<double>(data.jobs);
}

struct Way {
    std::string name;
    std::function<void(Data&)> pass;
};

template <int cycles>
Way basic(std::string name, penstock::Machine& machine) {
    return {std::move(name), [&machine](Data& data) {
                for (std::size_t i = 0; i < data.jobs; ++i)
                    machine.call<plain_job<cycles>>(in(data.inputs(i, 1)), out(data.outputs(i, 1)));
                machine.barrier();
            }};
}

template <int cycles>
Way in_the_store(penstock::Machine& machine) {
    return {"staged", [&machine](Data& data) {
                for (std::size_t i = 0; i < data.jobs; ++i)
                    machine.call<plain_job<cycles>>(staged(in(data.inputs(i, 1))), staged(out(data.outputs(i, 1))));
                machine.barrier();
            }};
}

/// Each job of a chain reads its own input and writes its own output, but for the part of both that is resident.
template <int cycles>
Way chained(std::string name, penstock::Machine& machine, Data& data, std::size_t length, std::size_t percent) {
    const std::size_t resident = 2 * words * percent / 100, moved = words - resident / 2;
    using Jobs = penstock::Chain<In, Out>;
    auto chain = std::make_shared<Jobs>(std::to_string(length) + " jobs");
    auto [x, y] = chain->parameters();
    const auto table = std::make_shared<penstock::Resident<std::uint64_t>>(
        machine.resident(In(data.table).first(std::max<std::size_t>(1, resident))));
    for (std::size_t i = 0; i < length; ++i) {
        const auto from = in(x.subspan(i * words, moved));
        const auto to = out(y.subspan(i * words, moved));
        if (resident == 0) chain->template add<plain_job<cycles>>(from, to);
        else chain->template add<job<cycles>>(in(*table), from, to);
    }
    return {std::move(name), [&machine, chain, table, length](Data& all) {
                for (std::size_t i = 0; i < all.jobs; i += length)
                    machine.call(*chain, in(all.inputs(i, length)), out(all.outputs(i, length)));
                machine.barrier();
            }};
}

template <int cycles>
void compare(Data& data, const bench::Options& options, bench::Report& report) {
    std::vector<std::unique_ptr<penstock::Machine>> machines;
    const auto machine = [&](penstock::MachineOptions with) -> penstock::Machine& {
        machines.push_back(bench::make_machine(with));
        return *machines.back();
    };
    auto& usual = machine({});
    const int workers = usual.targets() + 1;
    std::vector<Way> ways{basic<cycles>("basic", usual),
                          in_the_store<cycles>(usual),
                          chained<cycles>("chains of 4", usual, data, 4, 0),
                          chained<cycles>("chains of 16", usual, data, 16, 0),
                          chained<cycles>("chains of 16, 20 % persistent", usual, data, 16, 20),
                          chained<cycles>("chains of 16, 50 % persistent", usual, data, 16, 50)};
    for (const std::uint32_t jobs : {1u, 2u, 3u, 4u})
        ways.push_back(basic<cycles>(std::to_string(jobs) + " at a target",
                                     machine({.prefetch = penstock::Prefetch::always, .jobs_in_flight = jobs})));

    std::vector<Contestant> contestants{{alone, [&data] {
                                             return batch(data,
                                                          [](Data& all) {
                                                              for (std::size_t i = 0; i < all.jobs / 4; ++i)
                                                                  plain_job<cycles>(all.inputs(0, 1),
                                                                                    all.outputs(0, 1));
                                                          }) *
                                                    4;
                                         }}};
    for (const Way& way : ways) contestants.push_back({way.name, [&] { return batch(data, way.pass); }});
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    const auto overhead = [&](const std::string& name, double bench::Interval::* part) {
        return result.ratio(name, alone).usual.*part * workers - 1;
    };
    const std::string prefix = std::to_string(cycles) + (cycles == 1 ? " cycle a byte: " : " cycles a byte: ");
    report.row(prefix + alone, {{"ns_a_job", result.median(alone)}});
    for (const Way& way : ways)
        report.row(prefix + way.name, {{"ns_a_job", result.median(way.name)},
                                       {"overhead", overhead(way.name, &bench::Interval::value)},
                                       {"low", overhead(way.name, &bench::Interval::low)},
                                       {"high", overhead(way.name, &bench::Interval::high)}});
    if (cycles != 1) return;
    const auto over = [&](double bench::Interval::* staged_part, double bench::Interval::* basic_part) {
        return overhead("staged", staged_part) / overhead("basic", basic_part);
    };
    report.goal("jobs/staged-over-unstaged",
                bench::Interval{over(&bench::Interval::value, &bench::Interval::value),
                                over(&bench::Interval::low, &bench::Interval::high),
                                over(&bench::Interval::high, &bench::Interval::low)},
                Direction::at_most, 1.5);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "cell-jobs",
        "Cell-Space's synthetic jobs by its own measures: chains, persistent data, staging, 1 to 4 jobs at a target",
        {"jobs/staged-over-unstaged"}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 15;
    options.plan.attempts = options.quick ? 1 : 2;
    bench::Report report{about, options};
    {
        Data data{options.quick ? blocks / 4 : 4 * blocks};
        compare<1>(data, options, report);
    }
    {
        Data data{options.quick ? blocks / 16 : blocks};
        compare<10>(data, options, report);
    }
    report.note("a job reads and writes 64,800 bytes in all; of persistent data each target keeps its own copy");
    report.note(
        "AEET is the time of the job alone on data in the cache, over the workers, of which the issuing thread is one");
    return report.finish();
}
