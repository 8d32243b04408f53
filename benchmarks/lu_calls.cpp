// LU as Tagged Procedure Calls ran it: every bdiv, bmodd and bmod of a matrix in blocks is a tagged call, dealt out to
// the targets in turn through lanes of 1 to 64 slots, with prefetch and without; the caller issues and waits.
//
// The paper's matrix is 4096 x 4096 in float, its blocks 64 x 64 and 16 x 16, its targets one to six beside the thread
// that issues. Here there are as many targets as there are processors beside the issuing one's. Beside them stands the
// same with Penstock's own distribution, where the caller helps.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/lu/lu.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/machine.hpp"
#include "penstock/trace.hpp"

namespace {

using bench::Contestant;
using penstock::Distribution;
using penstock::MachineOptions;
using penstock::Prefetch;
namespace lu = penstock::apps::lu;
namespace trace = penstock::trace;
using Matrix = lu::MatrixOf<float>;

/// The matrix that is factored again and again, and what the serial way makes of it.
struct Problem {
    Problem(std::size_t order, std::size_t block) : original{order, block}, factors{order, block}, work{order, block} {
        lu::generate(original, 1);
        factors.copy_from(original);
        lu::serial(factors);
    }

    template <class Factor>
    double nanoseconds(const Factor& factor) {
        work.copy_from(original);
        const auto start = bench::Clock::now();
        factor(work);
        const double taken = bench::nanoseconds_since(start);
        const std::span<const float> made = std::as_const(work).elements(), wanted = factors.elements();
        if (std::memcmp(made.data(), wanted.data(), made.size_bytes()) != 0)
            throw std::runtime_error("lu-calls: factors that differ from those of the serial way");
        return taken;
    }

    Matrix original, factors, work;
};

struct Way {
    std::string name;
    std::unique_ptr<penstock::Machine> machine;

    double factor(Problem& problem) const {
        machine->call([] {}).wait();  // whoever sleeps wakes
        return problem.nanoseconds([this](Matrix& matrix) { lu::called(matrix, *machine); });
    }
};

Way way(std::string name, int targets, MachineOptions options) {
    options.targets = targets;
    return {std::move(name), bench::make_machine(options)};
}

Way in_turn(int targets, std::uint32_t depth, Prefetch prefetch) {
    return way(std::to_string(targets) + " targets, lanes of " + std::to_string(depth) +
                   (prefetch == Prefetch::never ? "" : ", prefetch"),
               targets,
               {.depth = depth,
                .distribution = Distribution::round_robin,
                .when_full = penstock::WhenFull::wait,
                .prefetch = prefetch});
}

std::vector<Way> ways(bool quick) {
    const int most = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1);
    std::vector<Way> all;
    for (int targets = 1; targets < most; targets *= 2) all.push_back(in_turn(targets, 4, Prefetch::always));
    for (const std::uint32_t depth : {1u, 2u, 4u, 16u, 64u}) {
        if (quick && depth == 2) continue;
        for (const auto prefetch : {Prefetch::never, Prefetch::always}) all.push_back(in_turn(most, depth, prefetch));
    }
    all.push_back(way(std::to_string(most) + " targets, balanced, the caller helps", most, {}));
    return all;
}

/// One more factorisation: its calls, which must be those of all blocks, and how much of the time the issuing thread
/// stalled and the targets were idle.
bench::Report::Figures look_at(const Way& way, Problem& problem) {
    trace::Snapshot begin = way.machine->snapshot(), end = begin;
    problem.nanoseconds([&](Matrix& matrix) {
        begin = way.machine->snapshot();
        lu::called(matrix, *way.machine);
        end = way.machine->snapshot();
    });
    const auto period = end - begin;
    std::uint64_t calls = 0;
    for (const auto& [track, entry] : period.tracks())
        if (const auto* initiator = std::get_if<trace::InitiatorTotals>(&entry.totals)) calls += initiator->calls;
    if (calls != lu::calls(problem.original))
        throw std::runtime_error("lu-calls: " + way.name + " issued " + std::to_string(calls) + " calls");
    bench::Report::Figures figures{{"calls", static_cast<double>(calls)}};
    const trace::Breakdown breakdown{period};
    for (const auto& share : breakdown.all(trace::Role::initiator).shares)
        if (share.part == trace::Part::queue_stall) figures.emplace_back("queue_stall_percent", share.percent);
    for (const auto& share : breakdown.all(trace::Role::target).shares)
        if (share.part == trace::Part::idle) figures.emplace_back("idle_percent", share.percent);
    return figures;
}

void compare(std::size_t order, std::size_t block, const bench::Options& options, bench::Report& report) {
    Problem problem{order, block};
    const auto all = ways(options.quick);
    std::vector<Contestant> contestants{
        {"one thread", [&] { return problem.nanoseconds([](Matrix& matrix) { lu::serial(matrix); }); }}};
    for (const Way& way : all) contestants.push_back({way.name, [&] { return way.factor(problem); }});
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    const std::string prefix = std::to_string(order) + " in blocks of " + std::to_string(block) + ": ";
    report.row(prefix + "one thread", {{"median_us", result.median("one thread") / 1000}});
    for (const Way& way : all) {
        const auto faster = result.ratio("one thread", way.name).usual;
        bench::Report::Figures figures{{"median_us", result.median(way.name) / 1000},
                                       {"speed_up", faster.value},
                                       {"low", faster.low},
                                       {"high", faster.high}};
        for (auto& figure : look_at(way, problem)) figures.push_back(std::move(figure));
        report.row(prefix + way.name, std::move(figures));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "lu-calls",
        "LU with every block a tagged call, as the paper ran it: lanes of 1 to 64, prefetch on and off",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 6;
    options.plan.attempts = 1;
    bench::Report report{about, options};
    for (const std::size_t block : {std::size_t{64}, std::size_t{16}})
        compare(options.quick ? 512 : 4096, block, options, report);
    report.note(
        "in float; every way's factors are compared with the serial ones bit for bit, and its calls are counted");
    report.note("the thread that issues has a processor of its own: so many targets are one processor more");
    return report.finish();
}
