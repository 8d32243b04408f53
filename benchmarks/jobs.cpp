// What the runtime adds to jobs of a fixed number of cycles a byte: alone, in chains, with resident data, over the ways
// of notification.
//
// The figures of Cell-Space's Cell-RTL, on its job of 32,400 bytes in and as many out. Effective execution time (AEET)
// is the time that workers spend inside the jobs' own code, by the time stamps of each job, divided by the number of
// workers; total execution time (TET) is the time from the first issue until all is complete. The overhead is TET /
// AEET - 1: issuing, transfers outside of the code, waiting, and imbalance at the end.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "jobs/job.hpp"
#include "jobs/staging.hpp"
#include "peers/openmp.hpp"
#include "peers/ours.hpp"
#include "penstock/chain.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/resident.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "peers/onetbb.hpp"
#endif

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::in;
using penstock::inout;
using penstock::out;
using penstock::staged;
using Words = std::vector<std::uint64_t>;
using jobs::In;
using jobs::job;
using jobs::Out;

constexpr std::size_t bytes = 32'400;
constexpr std::size_t words = bytes / 8;
constexpr std::size_t blocks = 2048;  // of jobs of one pass: each has memory of its own

/// jobs::job with a part of its input resident.
void job_with_table(In table, In x, Out y, std::uint64_t& ticks) {
    const auto begin = penstock::Clock::ticks();
    std::uint64_t state = 1;
    const auto part = [&](In from, Out to) {
        for (std::size_t i = 0; i < to.size(); ++i) {
            for (int n = 0; n < 2; ++n) {
                state = state * 6364136223846793005u + from[i];
                asm volatile("" : "+r"(state));
            }
            to[i] = state;
        }
    };
    part(table, y.first(table.size()));
    part(x, y.subspan(table.size()));
    ticks = penstock::Clock::ticks() - begin;
}

/// A chain of `length` jobs without a runtime: what each rival's task does.
template <int cycles>
void chain_by_hand(In x, Out y, std::span<std::uint64_t> ticks) {
    thread_local std::array<Words, 2> between{Words(words), Words(words)};
    In from = x;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        const Out to = i + 1 == ticks.size() ? y : Out(between[i % 2]);
        job<cycles>(from, to, ticks[i]);
        from = to;
    }
}

/// The memory of all jobs, and what was measured of each.
struct Data {
    Words x = Words(blocks * words), y = Words(blocks * words), ticks = Words(blocks);
    Data() {
        std::uint64_t value = 88172645463325252u;
        for (auto& word : x) word = value = value * 2862933555777941757u + 3037000493u;
    }
    In input(std::size_t block) const { return In(x).subspan(block * words, words); }
    Out output(std::size_t block) { return Out(y).subspan(block * words, words); }
};

using JobChain = penstock::Chain<In, Out, std::span<std::uint64_t>>;

template <int cycles>
JobChain chain_of(std::size_t length) {
    JobChain chain("of " + std::to_string(length) + " jobs");
    auto [x, y, ticks] = chain.parameters();
    auto from = chain.local<std::uint64_t>(words);
    for (std::size_t i = 0; i < length; ++i) {
        auto to = chain.local<std::uint64_t>(words);
        const auto time = out(ticks.subspan(i, 1));
        if (length == 1) chain.add<job<cycles>>(in(x), out(y), time);
        else if (i == 0) chain.add<job<cycles>>(in(x), out(to), time);
        else if (i + 1 == length) chain.add<job<cycles>>(in(from), out(y), time);
        else chain.add<job<cycles>>(in(from), out(to), time);
        from = to;
    }
    return chain;
}

/// One way of doing one pass of jobs.
struct Way {
    std::string name;
    std::size_t length;  ///< jobs of a chain
    int workers;
    std::function<void(Data&)> pass;
    std::function<void(const std::function<void()>&)> inside = [](const auto& batch) {
        const bench::Pinned pinned{bench::allowed_processors().front()};
        batch();
    };
};

template <int cycles>
Way serial_way() {
    return {"one thread", 1, 1, [](Data& data) {
                for (std::size_t b = 0; b < blocks; ++b) job<cycles>(data.input(b), data.output(b), data.ticks[b]);
            }};
}

template <int cycles>
Way plain_way(std::string name, penstock::Machine& machine, int workers) {
    return {std::move(name), 1, workers, [&machine](Data& data) {
                for (std::size_t b = 0; b < blocks; ++b)
                    machine.call<job<cycles>>(in(data.input(b)), out(data.output(b)), out(data.ticks[b]));
                machine.barrier();
            }};
}

template <int cycles, bool staging = false>
Way chain_way(std::string name, penstock::Machine& machine, std::size_t length) {
    auto chain = std::make_shared<JobChain>(chain_of<cycles>(length));
    return {std::move(name), length, machine.targets() + 1, [&machine, chain, length](Data& data) {
                for (std::size_t b = 0; b < blocks; b += length) {
                    const auto ticks = std::span(data.ticks).subspan(b, length);
                    if constexpr (staging)
                        machine.call(*chain, staged(in(data.input(b))), staged(out(data.output(b))), out(ticks));
                    else machine.call(*chain, in(data.input(b)), out(data.output(b)), out(ticks));
                }
                machine.barrier();
            }};
}

Way resident_way(std::string name, penstock::Machine& machine, const Data& data, std::size_t percent) {
    const std::size_t part = words * percent / 100;
    const auto table = machine.resident(data.input(0).first(part));
    return {std::move(name), 1, machine.targets() + 1, [&machine, table, part](Data& all) {
                for (std::size_t b = 0; b < blocks; ++b)
                    machine.call<job_with_table>(in(table), in(all.input(b).subspan(part)), out(all.output(b)),
                                                 out(all.ticks[b]));
                machine.barrier();
            }};
}

#if defined(PENSTOCK_BENCH_TBB)
template <int cycles>
Way onetbb_way(std::size_t length, int workers) {
    return {"oneTBB, chains of " + std::to_string(length), length, workers,
            [length](Data& data) {
                tbb::parallel_for(tbb::blocked_range<std::size_t>(0, blocks / length), [&](const auto& range) {
                    for (auto c = range.begin(); c != range.end(); ++c)
                        chain_by_hand<cycles>(data.input(c * length), data.output(c * length),
                                              std::span(data.ticks).subspan(c * length, length));
                });
            },
            bench::in_onetbb_arena};
}
#endif
#if defined(_OPENMP)
template <int cycles>
Way openmp_way(std::size_t length, int workers) {
    return {"OpenMP, chains of " + std::to_string(length), length, workers, [length](Data& data) {
                bench::bind_openmp_team();
#pragma omp parallel for schedule(dynamic, 1) num_threads(bench::openmp_team_size())
                for (std::size_t b = 0; b < blocks; b += length)
                    chain_by_hand<cycles>(data.input(b), data.output(b), std::span(data.ticks).subspan(b, length));
            }};
}
#endif

/// Measures ways beside one another: TET as the contestants' times, overheads on the side.
class Comparison {
  public:
    explicit Comparison(int passes) : passes_(passes) {}

    void add(Way way) { ways_.push_back(std::move(way)); }

    template <int cycles>
    bench::Result measure(Data& data, const bench::Plan& plan) {
        std::vector<Contestant> contestants;
        for (const auto& way : ways_) {
            if (way.name.find("resident") == std::string::npos) check<cycles>(way, data);
            contestants.push_back(
                {way.name, [this, &way, &data] { return batch(way, data); }, {}, [this] { return overhead_; }, {}});
        }
        return bench::measure(contestants, plan);
    }

    double cycles_a_job(const std::string& name) const { return bench::median(jobs_.at(name)); }
    const std::vector<Way>& ways() const { return ways_; }

  private:
    double batch(const Way& way, Data& data) {
        double total = 0, effective = 0;
        way.inside([&] {
            for (int pass = 0; pass < passes_; ++pass) {
                const auto start = bench::Clock::now();
                way.pass(data);
                total += bench::nanoseconds_since(start);
                std::uint64_t ticks = 0;
                for (auto t : data.ticks) ticks += t;
                effective += static_cast<double>(ticks) * penstock::Clock::nanoseconds_per_tick();
            }
        });
        const double jobs = static_cast<double>(blocks) * passes_;
        overhead_ = total / (effective / way.workers) - 1;
        jobs_[way.name].push_back(effective / jobs);
        return total / jobs;
    }

    /// The same results as without a runtime, or the figures mean nothing.
    template <int cycles>
    static void check(const Way& way, Data& data) {
        std::fill(data.y.begin(), data.y.end(), 0);
        way.inside([&] { way.pass(data); });
        Words expected(words), ticks(way.length);
        for (std::size_t b = 0; b < blocks; b += way.length * 100) {
            chain_by_hand<cycles>(data.input(b), expected, ticks);
            if (!std::equal(expected.begin(), expected.end(), data.output(b).begin()))
                throw std::runtime_error(way.name + " computes something else");
        }
    }

    int passes_;
    std::vector<Way> ways_;
    double overhead_ = 0;                              ///< of the last batch: TET / AEET - 1
    std::map<std::string, std::vector<double>> jobs_;  ///< ns inside one job
};

void rows(bench::Report& report, const std::string& prefix, const bench::Result& result, const Comparison& comparison) {
    for (const auto& way : comparison.ways()) {
        const auto overhead = result.beside(way.name).usual;
        report.row(prefix + way.name, {{"TET_ns_a_job", result.median(way.name)},
                                       {"ns_inside_a_job", comparison.cycles_a_job(way.name)},
                                       {"overhead", overhead.value},
                                       {"low", overhead.low},
                                       {"high", overhead.high}});
    }
    report.conditions(result);
}

/// Adds the rivals' ways that this program was built with.
template <int cycles>
void add_rivals([[maybe_unused]] Comparison& comparison, [[maybe_unused]] int workers) {
    for ([[maybe_unused]] const std::size_t length : {std::size_t{1}, std::size_t{16}}) {
#if defined(PENSTOCK_BENCH_TBB)
        comparison.add(onetbb_way<cycles>(length, workers));
#endif
#if defined(_OPENMP)
        comparison.add(openmp_way<cycles>(length, workers));
#endif
    }
}

void over_onetbb(bench::Report& report, [[maybe_unused]] const bench::Result& result) {
#if defined(PENSTOCK_BENCH_TBB)
    report.goal("jobs/over-onetbb", result.ratio("oneTBB, chains of 16", "chains of 16"), Direction::at_least, 1,
                bench::Judged::by_interval);
#else
    report.missing("jobs/over-onetbb", Direction::at_least, 1, "oneTBB was not found when this was built");
#endif
}

// ---- what a chain costs that does nothing ----

Contestant null_chain(std::string name, penstock::Machine& machine, std::size_t length) {
    auto chain = std::make_shared<penstock::Chain<>>();
    for (std::size_t i = 0; i < length; ++i) chain->add<bench::null_task>();
    bench::Peer peer = bench::penstock_peer(machine);
    peer.name = std::move(name);
    peer.round_trip = [&machine, chain] { machine.call(*chain).wait(); };
    return bench::round_trip_of(peer, 2000);
}

void null_chains(bench::Report& report, const bench::Options& options, penstock::Machine& machine) {
    std::vector<Contestant> contestants{bench::nearest_floors().one_line(),
                                        bench::round_trip_of(bench::penstock_peer(machine), 2000)};
    const std::string task = contestants.back().name;
    for (const std::size_t length : {1u, 4u, 16u})
        contestants.push_back(null_chain("null chain of " + std::to_string(length), machine, length));
    const auto result = bench::measure(contestants, options.plan);
    report.rows("round trip: ", result);
    report.goal("jobs/chain-16", result.ratio("null chain of 16", task), Direction::at_most, 2.5,
                bench::Judged::by_interval);
}

// ---- the mechanisms by which a completion is noticed (figure 4), and jobs whose data are in flight at a target
// (figure 5) ----

struct Mechanism {
    std::string name;
    penstock::MachineOptions options;
};

std::vector<Mechanism> mechanisms() {
    using penstock::Notification;
    std::vector<Mechanism> all{{"notified by mailbox", {.notification = Notification::mailbox}},
                               {"notified by interrupt", {.notification = Notification::interrupt}}};
    for (const std::uint32_t jobs : {1u, 2u, 3u, 4u})
        all.push_back({std::to_string(jobs) + " in flight", {.jobs_in_flight = jobs}});
    return all;
}

void one_cycle(bench::Report& report, const bench::Options& options, penstock::Machine& machine, Data& data) {
    const int workers = machine.targets() + 1;
    Comparison comparison(options.quick ? 1 : 8);
    comparison.add(serial_way<1>());
    comparison.add(plain_way<1>("no chains", machine, workers));  // notified by polling, 2 in flight
    comparison.add(chain_way<1>("chains of 4", machine, 4));
    comparison.add(chain_way<1>("chains of 16", machine, 16));
    comparison.add(chain_way<1, true>("chains of 16, staged", machine, 16));
    comparison.add(resident_way("20 % resident", machine, data, 20));
    comparison.add(resident_way("50 % resident", machine, data, 50));
    add_rivals<1>(comparison, workers);
    std::vector<std::unique_ptr<penstock::Machine>> machines;
    for (const auto& mechanism : mechanisms()) {
        machines.push_back(bench::make_machine(mechanism.options));
        comparison.add(plain_way<1>(mechanism.name, *machines.back(), workers));
    }
    const auto result = comparison.measure<1>(data, options.plan);
    rows(report, "1 cycle a byte: ", result, comparison);
    report.goal("jobs/overhead-1", result.beside("chains of 16"), Direction::at_most, 0.05);
    over_onetbb(report, result);
}

void ten_cycles(bench::Report& report, const bench::Options& options, penstock::Machine& machine, Data& data) {
    const int workers = machine.targets() + 1;
    Comparison comparison(1);
    comparison.add(serial_way<10>());
    comparison.add(plain_way<10>("no chains", machine, workers));
    comparison.add(chain_way<10>("chains of 16", machine, 16));
    add_rivals<10>(comparison, workers);
    const auto result = comparison.measure<10>(data, options.plan);
    rows(report, "10 cycles a byte: ", result, comparison);
    report.goal("jobs/overhead-10", result.beside("no chains"), Direction::at_most, 0.01);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "jobs",
        "overhead over effective execution time of jobs of 1 and 10 cycles a byte: chains, resident data, mechanisms",
        {"jobs/chain-16", "jobs/overhead-1", "jobs/overhead-10", "jobs/over-onetbb", "jobs/staged-over-before"}};
    bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const auto machine = bench::make_machine();
    null_chains(report, options, *machine);
    options.plan.rounds = options.quick ? 3 : 15;
    options.plan.attempts = 2;
    {
        Data data;
        one_cycle(report, options, *machine, data);
        ten_cycles(report, options, *machine, data);
    }
    options.plan.rounds = options.quick ? 7 : 31;
    jobs::compare_staging(report, options, *machine);
    report.note(
        "overhead is TET / AEET - 1; AEET is the time inside the jobs over the number of workers, the issuing thread "
        "counted where it "
        "works while it waits");
    report.note(
        "a job reads and writes 32,400 bytes; 16,384 jobs a batch at 1 cycle a byte, 2,048 at 10 and with --quick");
    report.note("a chain of n jobs passes its data on in local memory, for the rivals in memory of the thread");
    return report.finish();
}
