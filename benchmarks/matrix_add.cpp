// Sum of two matrices of 1024 x 512 through streams, in buffers of a row and in large ones, against direct calls of the
// kernel, oneTBB's parallel_pipeline and OpenMP.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/addition/streams.hpp"
#include "apps/random.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "kernels/add.hpp"
#include "peers/ours.hpp"
#include "peers/speed_up.hpp"

namespace {

namespace addition = penstock::apps::addition;
using penstock::view;

constexpr std::size_t rows = 1024, columns = 512;

struct Problem {
    std::vector<float> a, b, sum, wanted;
    Problem() : a(rows * columns), b(a.size()), sum(a.size()), wanted(a.size()) {
        penstock::apps::Random random{1};
        penstock::apps::fill(a, nullptr, random, -1, 1);
        penstock::apps::fill(b, nullptr, random, -1, 1);
        for (std::size_t i = 0; i < a.size(); ++i) wanted[i] = a[i] + b[i];
    }
    addition::Source left() const { return {a.data(), {rows, columns}}; }
    addition::Source right() const { return {b.data(), {rows, columns}}; }
    view<float, 2> result() { return {sum.data(), {rows, columns}}; }
};

template <class Body>
bench::Contestant contestant(std::string name, Problem& problem, Body body) {
    return {std::move(name), [&problem, body] {
                const bench::Pinned pinned{bench::allowed_processors().front()};
                double nanoseconds = 0;
                for (int pass = 0; pass < 2; ++pass) {  // the first wakes the threads
                    std::ranges::fill(problem.sum, 0.0f);
                    const auto start = bench::Clock::now();
                    body();
                    nanoseconds = bench::nanoseconds_since(start);
                    if (problem.sum != problem.wanted) throw std::runtime_error("matrix-add: sums that are wrong");
                }
                return nanoseconds;
            }};
}

constexpr std::size_t in_a_row = 16;

/// Nanoseconds of one of the sums that the body makes.
template <class Body>
bench::Contestant many(std::string name, Problem& problem, Body body, std::size_t sums = in_a_row) {
    auto all = contestant(std::move(name), problem, body);
    all.batch = [batch = std::move(all.batch), sums] { return batch() / static_cast<double>(sums); };
    return all;
}

/// One kind of stream, with the next buffer fetched ahead as it is by default, always, and never.
struct Ahead {
    int processors;
    std::size_t at_once;
    bench::Ratio gain = {};
};

bench::Ratio compare_prefetch(Problem& problem, const Ahead& which, const bench::Options& options,
                              bench::Report& report) {
    const auto machine_of = [&](penstock::Prefetch prefetch) {
        return bench::make_machine({.targets = which.processors - 1, .prefetch = prefetch});
    };
    const auto never = machine_of(penstock::Prefetch::never), measured = machine_of(penstock::Prefetch::measured),
               always = machine_of(penstock::Prefetch::always);
    const auto streamed = [&](std::string name, penstock::Machine& machine) {
        return many(std::move(name), problem, [&problem, &machine, which] {
            addition::streamed(problem.left(), problem.right(), problem.result(), which.at_once, which.processors,
                               machine, in_a_row);
        });
    };
    const auto result = bench::measure(
        {streamed("without", *never), streamed("with", *measured), streamed("always", *always)}, options.plan);
    const auto ratio = result.ratio("without", "with");
    const auto gain = ratio.usual, at_all_times = result.ratio("without", "always").usual;
    report.row("prefetch, " + std::to_string(which.processors) + " processors, " +
                   std::to_string(which.at_once * columns * sizeof(float) / 1024) + " KiB",
               {{"without_us", result.median("without") / 1000},
                {"gain", gain.value},
                {"low", gain.low},
                {"high", gain.high},
                {"noise", result.noise().value},
                {"always", at_all_times.value}});
    report.conditions(result);
    return ratio;
}

/// It must never lose. The worst of so many cases looks bad by chance alone, so that it is measured once more, and
/// judged by that.
void judge_prefetch(Problem& problem, std::vector<Ahead>& cases, bench::Options options, bench::Report& report) {
    options.plan.rounds = std::min(options.plan.rounds, 31);
    for (auto& each : cases) each.gain = compare_prefetch(problem, each, options, report);
    const auto worst = std::ranges::min_element(cases, [](const Ahead& a, const Ahead& b) {
        return bench::worse(a.gain, b.gain, bench::Direction::at_least, bench::Judged::by_interval);
    });
    report.goal("matrix-add/prefetch", compare_prefetch(problem, *worst, options, report), bench::Direction::at_least,
                1, bench::Judged::by_interval);
}

void compare(Problem& problem, int processors, const bench::Options& options, bench::Report& report) {
    const auto machine = bench::make_machine({.targets = processors - 1});
    for (const std::size_t at_once : {1, 8, 32, 128}) {
        const std::vector<bench::Contestant> contestants{
            contestant("direct", problem,
                       [&] {
                           for (std::size_t i = 0; i < rows; i += at_once) {
                               const auto part = [&](auto matrix) { return matrix.part({i, 0}, {at_once, columns}); };
                               penstock::kernels::add(part(problem.left()), part(problem.right()),
                                                      part(problem.result()));
                           }
                       }),
            contestant("copied", problem,
                       [&] { addition::copied(problem.left(), problem.right(), problem.result(), at_once); }),
            contestant("streamed", problem,
                       [&] {
                           addition::streamed(problem.left(), problem.right(), problem.result(), at_once, processors,
                                              *machine);
                       }),
            many("streamed in a row", problem, [&] {
                addition::streamed(problem.left(), problem.right(), problem.result(), at_once, processors, *machine,
                                   in_a_row);
            })};
        const auto result = bench::measure(contestants, options.plan);
        for (const auto& name : result.names()) {
            const auto over = result.ratio(name, "copied").usual;
            report.row(std::to_string(processors) + " processors, " +
                           std::to_string(at_once * columns * sizeof(float) / 1024) + " KiB, " + name,
                       {{"median_us", result.median(name) / 1000},
                        {"ns_a_buffer", result.median(name) / static_cast<double>(rows / at_once)},
                        {"over_direct", result.ratio(name, "direct").usual.value},
                        {"over_copied", over.value},
                        {"low", over.low},
                        {"high", over.high}});
        }
        report.conditions(result);
    }
}

/// The size of buffers that the runtime chooses, beside each by hand.
bench::Ratio compare_sizes(Problem& problem, int processors, std::size_t passes, const bench::Options& options,
                           bench::Report& report) {
    const auto machine = bench::make_machine({.targets = processors - 1});
    const auto streamed = [&](std::string name, std::size_t at_once) {
        return many(
            std::move(name), problem,
            [&problem, &machine, processors, passes, at_once] {
                addition::streamed(problem.left(), problem.right(), problem.result(), at_once, processors, *machine,
                                   passes);
            },
            passes);
    };
    const std::string chosen = "automatic";
    std::vector<bench::Contestant> contestants{streamed(chosen, 0)};
    for (std::size_t at_once = 4; at_once <= rows / 2; at_once *= 2)
        contestants.push_back(streamed(std::to_string(at_once) + " rows", at_once));
    const auto result = bench::measure(contestants, options.plan);
    std::string best = contestants[1].name;
    for (const auto& each : result.names()) {
        if (each != chosen && result.median(each) < result.median(best)) best = each;
        const auto over = result.ratio(chosen, each).usual;
        report.row(
            "size, " + std::to_string(processors) + " processors, " + std::to_string(passes) + " in a row, " + each,
            {{"median_us", result.median(each) / 1000},
             {"automatic_over_it", over.value},
             {"low", over.low},
             {"high", over.high}});
    }
    report.conditions(result);
    return result.ratio(chosen, best);
}

void judge_automatic(Problem& problem, int most, bench::Options options, bench::Report& report) {
    options.plan.rounds = std::min(options.plan.rounds, 31);
    bench::Ratio all = compare_sizes(problem, 1, 1, options, report);
    all.add(compare_sizes(problem, 1, in_a_row, options, report));
    all.add(compare_sizes(problem, most, 1, options, report));
    all.add(compare_sizes(problem, most, in_a_row, options, report));
    report.goal("matrix-add/automatic", all, bench::Direction::at_most, 1.05);
}

// ---- against the rivals: many sums in a row, by copies of all filters ----

constexpr std::size_t sums_of_rivals = 64;

/// What a rival has under way: some rows of both matrices, and their sum.
struct Item {
    explicit Item(std::size_t at_once) : shape{at_once, columns}, a(at_once * columns), b(a.size()) {}
    view<float, 2> left() { return {a.data(), shape}; }
    view<float, 2> right() { return {b.data(), shape}; }

    std::size_t first = 0;
    std::array<std::size_t, 2> shape;
    std::vector<float> a, b;
};

void by(bench::Rival rival, Problem& problem, bool in_place, std::vector<Item>& items) {
    const auto shape = items[0].shape;
    std::size_t next = 0;
    const auto number = [&](Item& item) {
        item.first = next % rows;
        next += shape[0];
        return next <= sums_of_rivals * rows;
    };
    const bench::Pipeline<Item> direct{
        number,
        {[&](Item& item) {
            const auto part = [&](auto matrix) { return matrix.part({item.first, 0}, shape); };
            penstock::kernels::add(part(problem.left()), part(problem.right()), part(problem.result()));
        }},
        [](Item&) {}};
    const bench::Pipeline<Item> through_buffers{
        number,
        {[&](Item& item) {
             addition::read_rows(problem.left(), item.first, item.left());
             addition::read_rows(problem.right(), item.first, item.right());
         },
         [](Item& item) { penstock::kernels::add(item.left(), item.right(), item.left()); },
         [&](Item& item) { addition::place_rows(item.left(), item.first, problem.result()); }},
        [](Item&) {}};
    bench::run_by(rival, in_place ? direct : through_buffers, items);
}

/// In buffers of so many rows by every way; in place: without buffers.
bench::SpeedUp compare_with_rivals(Problem& problem, std::size_t at_once, bool in_place, const bench::Options& options,
                                   bench::Report& report) {
    const auto timed = [&problem](auto body) {
        std::ranges::fill(problem.sum, 0.0f);
        const auto start = bench::Clock::now();
        body();
        const double nanoseconds = bench::nanoseconds_since(start);
        if (problem.sum != problem.wanted) throw std::runtime_error("matrix-add: sums that are wrong");
        return nanoseconds;
    };
    bench::Filters filters;
    filters.unit = "pieces";
    filters.units = static_cast<double>(sums_of_rivals * rows / at_once);
    filters.serial = [&, timed] {
        return timed([&] {
            for (std::size_t pass = 0; pass < sums_of_rivals; ++pass)
                if (in_place) addition::serial(problem.left(), problem.right(), problem.result());
                else addition::copied(problem.left(), problem.right(), problem.result(), at_once);
        });
    };
    filters.streamed = [&, timed, run = in_place ? addition::streamed_in_place : addition::streamed_by_copies](
                           penstock::Machine& machine, int processors) {
        return timed([&] {
            run(problem.left(), problem.right(), problem.result(), at_once, processors, machine, sums_of_rivals);
        });
    };
    filters.rival = [&, timed, items = std::vector<Item>(8, Item{at_once})](bench::Rival rival) mutable {
        return timed([&] { by(rival, problem, in_place, items); });
    };
    const auto size = std::to_string(at_once * columns * sizeof(float) / 1024) + " KiB";
    return bench::measure_speed_up(filters, size + (in_place ? " in place: " : " through buffers: "), options, report);
}

void judge_over_best(Problem& problem, bench::Options options, bench::Report& report) {
    options.plan.rounds = std::min(options.plan.rounds, 31);
    const auto both = [&](std::size_t at_once) {
        auto measured = compare_with_rivals(problem, at_once, true, options, report);
        measured.add(compare_with_rivals(problem, at_once, false, options, report));
        return measured;
    };
    auto large = both(32);
    large.add(both(128));
    bench::judge_over_best("matrix-add/over-best", large, 1, report);
    bench::judge_over_best("matrix-add/over-best-small", both(2), 1.15, report);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "matrix-add",
        "sum of two matrices of 1024 x 512 through streams of row-sized and large buffers, against direct calls, "
        "oneTBB "
        "and OpenMP",
        {"matrix-add/prefetch", "matrix-add/automatic", "matrix-add/over-best", "matrix-add/over-best-small"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 61;
    bench::Report report{about, options};
    Problem problem;
    const int most = std::max(2, static_cast<int>(bench::allowed_processors().size()));
    for (int processors = 1; processors < most; processors *= 2) compare(problem, processors, options, report);
    compare(problem, most, options, report);
    std::vector<Ahead> cases;
    for (const int processors : {1, most})
        for (const std::size_t at_once : {1, 2, 8, 32, 128}) cases.push_back({processors, at_once});
    judge_prefetch(problem, cases, options, report);
    judge_automatic(problem, most, options, report);
    judge_over_best(problem, options, report);
    report.note(
        "in place, through buffers: 64 sums in a row by filters that all have copies, in pieces of so many bytes of "
        "each matrix, against the rivals; the goals judge both, 64 and 256 KiB, and as small ones 4 KiB, which hold as "
        "many "
        "words as a tile of 32 x 32");
    report.note(
        "prefetch: sums in a row on machines that fetch the next buffer ahead where it pays (with), always, and never "
        "(without); the last row "
        "is the worst case once more");
    report.note(
        "direct: the kernel on the matrices where they lie; copied: reads both into buffers, adds, puts the sum into "
        "the result, on one "
        "thread; streamed: does the same by four filters, the graph made, started and ended for each sum; streamed in "
        "a row: for every 16");
    return report.finish();
}
