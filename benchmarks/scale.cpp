// Scale without processors: the real runtime with up to 64 targets, whose tasks sleep for the recorded time of LU, the
// tissue analysis and JPiP, stretched, and for uneven times: how near the time comes to the bound that no schedule can
// beat, and what a task costs its issuer.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "harness/floors.hpp"
#include "harness/report.hpp"
#include "penstock/dependences.hpp"
#include "penstock/machine.hpp"
#include "scale/rehearsal.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using bench::Rehearsal;
using penstock::Machine;

constexpr double ms = 1e6;
constexpr int most_judged = 32;

std::size_t times(std::size_t each, int workers) { return each * static_cast<std::size_t>(workers); }

struct Recorded {
    bench::LuTimes lu = bench::record_lu();
    bench::TissueTimes tissue = bench::record_tissue();
    bench::JpipTimes jpip = bench::record_jpip();
};

/// LU in blocks of 16 x 16 is that of 512 x 512 for many workers, and smaller for fewer, who would sleep for half a
/// minute: the work is at least three times the critical path for each.
std::size_t blocks_of_lu(int workers) { return workers <= 4 ? 12 : workers <= 8 ? 16 : workers <= 16 ? 24 : 32; }

/// All applications for this many workers, with whom the streams and the jobs grow.
std::vector<Rehearsal> rehearsals(const Recorded& recorded, int workers) {
    return {bench::rehearse_uneven(times(40, workers), workers, 5 * ms),
            bench::rehearse_lu(recorded.lu, blocks_of_lu(workers), workers, 5 * ms),
            bench::rehearse_tissue(recorded.tissue, times(32, workers), workers, 40 * ms),
            bench::rehearse_jpip(recorded.jpip, times(2, workers), workers, 20 * ms)};
}

/// `of_bound` of each, and the goal: the worst up to 32 workers.
void compare(const bench::Options& options, bench::Report& report) {
    const Recorded recorded;
    report.row("recorded, us: LU", {{"factor", recorded.lu.factor / 1e3},
                                    {"bdiv", recorded.lu.bdiv / 1e3},
                                    {"bmodd", recorded.lu.bmodd / 1e3},
                                    {"bmod", recorded.lu.bmod / 1e3}});
    report.row("recorded, us: tissue", {{"read", recorded.tissue.read / 1e3},
                                        {"decode", recorded.tissue.decode / 1e3},
                                        {"colour", recorded.tissue.colour / 1e3},
                                        {"pattern", recorded.tissue.pattern / 1e3},
                                        {"shrink", recorded.tissue.shrink / 1e3},
                                        {"classify", recorded.tissue.classify / 1e3},
                                        {"overview", recorded.tissue.overview / 1e3}});
    report.row("recorded, us: JPiP", {{"file", recorded.jpip.file / 1e3}, {"store", recorded.jpip.store / 1e3}});

    struct Case {
        Rehearsal rehearsal;
        int workers;
    };
    std::vector<Case> cases;
    const std::vector<int> all = options.quick ? std::vector{2, 16} : std::vector{2, 4, 8, 16, 32, 64};
    for (const int workers : all)
        for (auto& rehearsal : rehearsals(recorded, workers)) cases.push_back({std::move(rehearsal), workers});
    std::vector<Contestant> contestants;
    for (const auto& one : cases) {
        contestants.push_back({one.rehearsal.name, [&one] {
                                   Machine machine{{.targets = one.workers - 1, .pin = false}};
                                   return one.rehearsal.run(machine);
                               }});
        contestants.back().look = [] { return 1.0; };  // where the processors stand is nothing to who sleeps
    }
    const auto result = bench::measure(contestants, options.plan);

    bench::Interval worst{2, 2, 2};
    for (const auto& one : cases) {
        std::vector<double> of_bound;
        for (const double seen : result.of(one.rehearsal.name)) of_bound.push_back(one.rehearsal.bound / seen);
        const auto found = bench::median_interval(of_bound);
        report.row(one.rehearsal.name, {{"bodies", static_cast<double>(one.rehearsal.bodies)},
                                        {"bound_ms", one.rehearsal.bound / ms},
                                        {"of_bound", found.value},
                                        {"low", found.low},
                                        {"high", found.high}});
        if (one.workers <= most_judged && found.value < worst.value) worst = found;
    }
    report.conditions(result);
    report.goal("scale/of-bound", worst, Direction::at_least, 0.95);
}

// ---- what a task costs its issuer ----

void nothing() {}
void touch(std::span<const std::uint64_t>, std::span<const std::uint64_t>, std::span<std::uint64_t>) {}

/// Tasks that sleep until they are let go, one on each target.
class Occupation {
  public:
    /// Comes back when all have begun.
    explicit Occupation(Machine& machine) {
        for (int target = 0; target < machine.targets(); ++target) machine.on(target).call<sleep>(this);
        for (int begun = 0; (begun = begun_.load()) != machine.targets();) begun_.wait(begun);
    }
    void end() {
        over_ = true;
        over_.notify_all();
    }

  private:
    static void sleep(Occupation* occupation) {
        occupation->begun_.fetch_add(1);
        occupation->begun_.notify_one();
        occupation->over_.wait(false);
    }
    std::atomic<int> begun_{0};
    std::atomic<bool> over_{false};
};

/// While all targets are busy: they sleep.
struct Issuer {
    explicit Issuer(int targets) : machine{{.targets = targets, .pin = false}}, order{machine}, cells(calls + 2) {}

    static constexpr std::size_t calls = 500;
    static constexpr int passes = 9;
    /// ns of a call, the median of the passes: each of them takes a few microseconds, which an interrupt doubles.
    template <class Issue>
    double nanoseconds(Issue issue) {
        std::vector<double> times;
        for (int pass = 0; pass < passes; ++pass) {
            Occupation occupation{machine};
            const auto start = bench::Clock::now();
            for (std::size_t i = 0; i < calls; ++i) issue(i);
            times.push_back(bench::nanoseconds_since(start) / calls);
            occupation.end();
            machine.barrier();
        }
        return bench::median(std::move(times));
    }
    double plain() {
        return nanoseconds([this](std::size_t) { machine.call<nothing>(); });
    }
    double by_tags() {
        return nanoseconds([this](std::size_t i) {
            const std::span<std::uint64_t> all{cells};
            order.call<touch>(penstock::in(all.subspan(i, 1)), penstock::in(all.subspan(i + 1, 1)),
                              penstock::inout(all.subspan(i + 2, 1)));
        });
    }

    Machine machine;
    penstock::Dependences order;
    std::vector<std::uint64_t> cells;
};

/// The floor is what the rows are divided by: the same calls with one target.
void issuing(const std::string& kind, double (Issuer::*issue)(), const bench::Options& options, bench::Report& report) {
    std::vector<std::unique_ptr<Issuer>> issuers;
    std::vector<Contestant> contestants;
    for (const int targets : {1, 16, 64}) {
        const auto issuer = issuers.emplace_back(std::make_unique<Issuer>(targets)).get();
        contestants.push_back({std::to_string(targets) + (targets == 1 ? " target, " : " targets, ") + kind,
                               [issuer, issue] { return (issuer->*issue)(); }});
    }
    const auto result = bench::measure(contestants, options.plan);
    for (const auto& name : result.names()) {
        const auto over = result.ratio(name, result.names().front()).usual;
        report.row("a task to its issuer: " + name, {{"median_ns", result.median(name)},
                                                     {"over_one_target", over.value},
                                                     {"low", over.low},
                                                     {"high", over.high}});
    }
    report.conditions(result);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"scale",
                             "applications whose bodies sleep for their recorded time, on 2 to 64 workers: the bound "
                             "over the time seen, and what a task costs its issuer",
                             {"scale/of-bound"}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 1 : 6;
    options.plan.attempts = 1;
    bench::Report report{about, options};
    compare(options, report);
    options.plan.rounds = options.quick ? 7 : 101;
    options.plan.attempts = 3;
    issuing("plain", &Issuer::plain, options, report);
    issuing("by tags", &Issuer::by_tags, options, report);
    report.note(
        "workers: the targets and the caller; of_bound: max(work / workers, critical path, service / copies) over the "
        "time seen, by what the bodies should sleep; says nothing about memory");
    report.note(
        "stretched: a job of the uneven ones to 5 to 40 ms, LU's shortest task to 5, a tile to 40 through all its "
        "filters, a file of JPiP to 20");
    report.note(
        "a task to its issuer: nine times 500 calls while all targets sleep in a task; by tags: three blocks of 8 "
        "bytes");
    return report.finish();
}
