// LU without pivoting in contiguous blocks, n = 512 and blocks of 16 x 16 (11,440 procedures of about half a
// microsecond): serial, threaded by hand, OpenMP, SciPy, tagged calls (for runs of blocks, and for each block), calls
// ordered by their tags and these replayed, all with the same kernels, and where the time of the tagged way went.
#include "apps/lu/lu.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "kernels/lu.hpp"
#include "peers/openmp.hpp"
#include "peers/ours.hpp"
#include "peers/scipy.hpp"
#include "penstock/dependences.hpp"
#include "penstock/trace.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::apps::Team;
using penstock::apps::lu::MatrixOf;
namespace lu = penstock::apps::lu;
namespace kernels = penstock::kernels::lu;
namespace trace = penstock::trace;

/// The matrix that is factored again and again, and what the serial way makes of it.
template <class Real>
struct Problem {
    Problem(std::size_t order, std::size_t block) : original{order, block}, factors{order, block} {
        lu::generate(original, 1);
        factors.copy_from(original);
        lu::serial(factors);
    }
    MatrixOf<Real> original;
    MatrixOf<Real> factors;
};

/// A way to factor: puts the input back (not timed), factors twice (the first to wake the threads), compares every bit.
template <class Real, class Factor>
Contestant contestant(std::string name, const Problem<Real>& problem, Factor factor) {
    const auto work = std::make_shared<MatrixOf<Real>>(problem.original.order(), problem.original.block());
    return {std::move(name), [&problem, work, factor] {
                double seconds = 0;
                for (int pass = 0; pass < 2; ++pass) {
                    work->copy_from(problem.original);
                    seconds = factor(*work);
                }
                const std::span<const Real> made = work->elements(), wanted = problem.factors.elements();
                if (std::memcmp(made.data(), wanted.data(), wanted.size_bytes()) != 0)
                    throw std::runtime_error("lu: factors that differ from those of the serial way");
                return seconds * 1e9;
            }};
}

template <class Body>
double seconds_of(Body body) {
    const auto start = bench::Clock::now();
    body();
    return bench::nanoseconds_since(start) * 1e-9;
}

/// The same with all targets awake at the start, as the threads by hand are.
template <class Body>
double seconds_of(penstock::Machine& machine, Body body) {
    penstock::apps::wake(machine);
    return seconds_of(body);
}

/// The dependent calls, recorded at the first use and replayed since: the recording and the first replays, which
/// measure the tasks and try how they are best dealt out, are not timed.
template <class Real>
class Replayed {
  public:
    explicit Replayed(penstock::Machine& machine) : machine_{machine}, calls_{machine} {}
    double operator()(MatrixOf<Real>& matrix) {
        if (!recording_) {
            MatrixOf<Real> input{matrix.order(), matrix.block()};
            input.copy_from(matrix);
            recording_.emplace(calls_.record([&] { lu::dependent(matrix, calls_); }));
            matrix.copy_from(input);
            for (int i = 0; i < bench::replays_until_settled; ++i) {
                recording_->replay();
                matrix.copy_from(input);
            }
        }
        return seconds_of(machine_, [&] { recording_->replay(); });
    }

  private:
    penstock::Machine& machine_;
    penstock::Dependences calls_;
    std::optional<penstock::Recording> recording_;
};

#if defined(_OPENMP)
/// As OpenMP is taught: one parallel region, a work-sharing loop for each phase, static shares as in the version by
/// hand.
template <class Real>
void by_openmp(MatrixOf<Real>& matrix, int threads) {
    const auto blocks = static_cast<std::int64_t>(matrix.blocks());
    const auto tile = [&matrix](std::int64_t i, std::int64_t j) {
        return matrix.tile(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    };
#pragma omp parallel num_threads(threads)
    for (std::int64_t k = 0; k < blocks; ++k) {
        const auto order = static_cast<std::int32_t>(matrix.extent(static_cast<std::size_t>(k)));
#pragma omp single
        kernels::factor<Real>(tile(k, k), order);
#pragma omp for schedule(static) nowait
        for (std::int64_t i = k + 1; i < blocks; ++i) kernels::bdiv<Real>(tile(k, k), tile(i, k), order);
#pragma omp for schedule(static)
        for (std::int64_t j = k + 1; j < blocks; ++j) kernels::bmodd<Real>(tile(k, k), tile(k, j), order);
#pragma omp for schedule(static) collapse(2)
        for (std::int64_t j = k + 1; j < blocks; ++j)
            for (std::int64_t i = k + 1; i < blocks; ++i)
                kernels::bmod<Real>(tile(i, k), tile(k, j), tile(i, j), order);
    }
}
#endif

/// The breakdown of factorisations by tagged calls, in percent of the time of each role.
template <class Real>
void report_breakdown(const Problem<Real>& problem, penstock::Machine& machine, const std::string& prefix,
                      bench::Report& report) {
    MatrixOf<Real> work{problem.original.order(), problem.original.block()};
    const trace::Snapshot before = machine.snapshot();
    for (int i = 0; i < 20; ++i) {
        work.copy_from(problem.original);
        lu::tagged(work, machine);
    }
    const trace::Breakdown breakdown{machine.snapshot() - before};
    for (const auto role : {trace::Role::initiator, trace::Role::target}) {
        bench::Report::Figures figures;
        for (const auto& share : breakdown.all(role).shares)
            figures.emplace_back(std::string(trace::word(share.part)) + "_percent", share.percent);
        if (figures.empty()) continue;  // one worker: no targets
        report.row(prefix + (role == trace::Role::initiator ? "initiator" : "targets"), figures);
    }
}

/// All ways with this many workers, the version by hand being the floor.
template <class Real>
bench::Result compare(const Problem<Real>& problem, int workers, const bench::Options& options, bench::Report& report) {
    using Matrix = MatrixOf<Real>;
    constexpr bool in_double = std::is_same_v<Real, double>;
    bench::Scipy scipy{workers};
    const auto machine = bench::make_machine({.targets = workers - 1});
    Team team{penstock::apps::processors_of(*machine)};
    penstock::Dependences calls{*machine}, of_runs{*machine};
    Replayed<Real> replayed{*machine};
    std::vector<Contestant> contestants{
        contestant("hand", problem, [&](Matrix& m) { return lu::hand(m, team); }),
        contestant("serial", problem, [](Matrix& m) { return seconds_of([&] { lu::serial(m); }); }),
        contestant("tagged", problem,
                   [&](Matrix& m) { return seconds_of(*machine, [&] { lu::tagged(m, *machine); }); }),
        contestant("called", problem,
                   [&](Matrix& m) { return seconds_of(*machine, [&] { lu::called(m, *machine); }); }),
        contestant("dependent", problem,
                   [&](Matrix& m) { return seconds_of(*machine, [&] { lu::dependent(m, calls); }); }),
        contestant("dependent, runs", problem,
                   [&](Matrix& m) { return seconds_of(*machine, [&] { lu::dependent_runs(m, of_runs); }); }),
        contestant("replayed", problem, [&](Matrix& m) { return replayed(m); })};
#if defined(_OPENMP)
    bench::bind_openmp_team();
    contestants.push_back(
        contestant("openmp", problem, [=](Matrix& m) { return seconds_of([&] { by_openmp(m, workers); }); }));
#endif
    if (in_double && scipy.available()) contestants.push_back(scipy.contestant("lu", problem.original.order()));
    const auto result = bench::measure(contestants, options.plan);
    const std::string prefix = std::to_string(workers) + (in_double ? " workers, " : " workers, float, ");
    for (const auto& name : result.names()) {
        const auto over = result.ratio(name, "hand").usual;
        report.row(prefix + name, {{"median_us", result.median(name) / 1000},
                                   {"over_hand", over.value},
                                   {"over_tagged", result.ratio(name, "tagged").usual.value},
                                   {"low", over.low},
                                   {"high", over.high},
                                   {"speed_up", result.ratio("serial", name).usual.value}});
    }
    report.conditions(result);
    report_breakdown(problem, *machine, prefix, report);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "lu",
        "LU of 512 x 512 in blocks of 16 x 16: serial, by hand, OpenMP, SciPy and tagged calls, for 1..N processors",
        {"lu/over-hand", "lu/over-openmp", "lu/replayed-over-hand", "lu/dependent-over-hand"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 61;
    bench::Report report{about, options};
    const Problem<double> problem{512, 16};
    const Problem<float> in_float{512, 16};

    const int most = std::max(2, static_cast<int>(bench::allowed_processors().size()));
    for (int workers = 1; workers < most; workers *= 2) compare(problem, workers, options, report);
    const auto all = compare(problem, most, options, report);
    compare(in_float, most, options, report);
    using bench::Judged;
    report.goal("lu/over-hand", all.ratio("tagged", "hand"), Direction::at_most, 1.05, Judged::by_interval);
    report.goal("lu/replayed-over-hand", all.ratio("replayed", "hand"), Direction::at_most, 1.05, Judged::by_interval);
    report.goal("lu/dependent-over-hand", all.ratio("dependent, runs", "hand"), Direction::at_most, 1.10,
                Judged::by_interval);
#if defined(_OPENMP)
    report.goal("lu/over-openmp", all.ratio("openmp", "tagged"), Direction::at_least, 1, Judged::by_interval);
#else
    report.missing("lu/over-openmp", Direction::at_least, 1, "OpenMP was not found when this was built");
#endif
    report.note("goals: in double, on all processors; lu/over-openmp: OpenMP's time over that of the tagged calls");
    report.note("tagged: a call for each run of blocks of one column; called: one for each block, as the paper has it");
    report.note("lu/dependent-over-hand: by runs of up to eight blocks; dependent: a task for each block");
    report.note("replayed: the dependent calls, recorded once; what is timed is the replay of the recording");
    report.note("scipy: LAPACK with pivoting, in blocks of its own choice");
    report.note("every way's factors are compared with the serial ones bit for bit, in every batch");
    return report.finish();
}
