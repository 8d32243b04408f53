// Sum of two matrices of 1024 x 512 through streams, in buffers of a row and in large ones, against direct calls of the kernel.
#include "apps/addition/streams.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/random.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "kernels/add.hpp"
#include "peers/ours.hpp"

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

/// Nanoseconds of one sum of `in_a_row`.
template <class Body>
bench::Contestant many(std::string name, Problem& problem, Body body) {
    auto all = contestant(std::move(name), problem, body);
    all.batch = [batch = std::move(all.batch)] { return batch() / in_a_row; };
    return all;
}

void compare(Problem& problem, int processors, const bench::Options& options, bench::Report& report) {
    const auto machine = bench::make_machine({.targets = processors - 1});
    for (const std::size_t at_once : {1, 8, 32, 128}) {
        const std::vector<bench::Contestant> contestants{
            contestant("direct", problem,
                       [&] {
                           for (std::size_t i = 0; i < rows; i += at_once) {
                               const auto part = [&](auto matrix) { return matrix.part({i, 0}, {at_once, columns}); };
                               penstock::kernels::add(part(problem.left()), part(problem.right()), part(problem.result()));
                           }
                       }),
            contestant("copied", problem, [&] { addition::copied(problem.left(), problem.right(), problem.result(), at_once); }),
            contestant("streamed", problem,
                       [&] { addition::streamed(problem.left(), problem.right(), problem.result(), at_once, processors, *machine); }),
            many("streamed in a row", problem, [&] {
                addition::streamed(problem.left(), problem.right(), problem.result(), at_once, processors, *machine, in_a_row);
            })};
        const auto result = bench::measure(contestants, options.plan);
        for (const auto& name : result.names()) {
            const auto over = result.ratio(name, "copied");
            report.row(std::to_string(processors) + " processors, " + std::to_string(at_once * columns * sizeof(float) / 1024) + " KiB, " + name,
                       {{"median_us", result.median(name) / 1000},
                        {"ns_a_buffer", result.median(name) / static_cast<double>(rows / at_once)},
                        {"over_direct", result.ratio(name, "direct").value},
                        {"over_copied", over.value},
                        {"low", over.low},
                        {"high", over.high}});
        }
        report.conditions(result);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"matrix-add",
                             "sum of two matrices of 1024 x 512 through streams of row-sized and large buffers, against direct calls",
                             {}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 61;
    bench::Report report{about, options};
    Problem problem;
    const int most = std::max(2, static_cast<int>(bench::allowed_processors().size()));
    for (int processors = 1; processors < most; processors *= 2) compare(problem, processors, options, report);
    compare(problem, most, options, report);
    report.note("direct: the kernel on the matrices where they lie; copied: reads both into buffers, adds, puts the sum into the result, on one "
                "thread; streamed: does the same by four filters, the graph made, started and ended for each sum; streamed in a row: for every 16");
    return report.finish();
}
