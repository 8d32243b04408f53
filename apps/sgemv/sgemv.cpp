#include "apps/sgemv/sgemv.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "apps/random.hpp"
#include "kernels/blas.hpp"
#include "penstock/machine.hpp"
#include "penstock/split.hpp"

namespace penstock::apps::sgemv {
namespace {

constexpr std::size_t default_side = 2048;
constexpr std::size_t default_block = 16;  // 128 KiB of A for a task

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_side;
    if (settings.columns == 0) settings.columns = default_side;
    if (settings.block_rows == 0) settings.block_rows = default_block;
    for (const Array& input : settings.inputs) {
        if (input.name == "A" && input.shape.size() == 2) {
            settings.rows = input.shape[0];
            settings.columns = input.shape[1];
        }
    }
    return settings;
}

}  // namespace

void serial(std::span<const float> a, std::span<const float> x, std::span<float> y) {
    kernels::sgemv(a, x, y, alpha, beta);
}

double hand(std::span<const float> a, std::span<const float> x, std::span<float> y, Team& team) {
    return team.run([&](int rank) {
        // Shares of y end at whole cache lines, so that no line has two writers.
        constexpr std::size_t line = 32;
        const Range lines = team.share(rank, parts(y.size(), line));
        const std::size_t begin = lines.begin * line;
        const std::size_t count = std::min(lines.end * line, y.size()) - begin;
        kernels::sgemv(a.subspan(begin * x.size(), count * x.size()), x, y.subspan(begin, count), alpha, beta);
    });
}

void tagged(std::span<const float> a, std::span<const float> x, std::span<float> y, std::size_t rows,
            Machine& machine) {
    for (std::size_t begin = 0; begin < y.size(); begin += rows) {
        const std::size_t count = std::min(rows, y.size() - begin);
        const auto panel = a.subspan(begin * x.size(), count * x.size());
        machine.call<kernels::sgemv>(in(panel), in(x), inout(y.subspan(begin, count)), alpha, beta);
    }
    machine.barrier();
}

void split(std::span<const float> a, std::span<const float> x, std::span<float> y, Machine& machine) {
    penstock::split<kernels::sgemv>(machine, in(a), whole(in(x)), inout(y), alpha, beta);
}

double relative_error(std::span<const float> a, std::span<const float> x, std::span<const float> y,
                      std::span<const float> result) {
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        double exact = static_cast<double>(beta) * y[i];
        double magnitude = std::abs(exact);
        for (std::size_t j = 0; j < x.size(); ++j) {
            const double term = static_cast<double>(alpha) * a[i * x.size() + j] * x[j];
            exact += term;
            magnitude += std::abs(term);
        }
        const double error = std::abs(result[i] - exact);
        worst = worse(error == 0 ? 0 : error / magnitude, worst);
    }
    return worst;
}

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    constexpr double tolerance = 1e-5;
    Settings settings = with_defaults(given);
    check_settings("sgemv", settings, {"A", "x", "y"});
    const std::size_t rows = settings.rows;
    const std::size_t columns = settings.columns;

    Random random{settings.seed};
    Buffer<float> a{rows * columns}, x{columns}, y{rows}, by_one{rows}, by_hand{rows}, by_tasks{rows}, by_parts{rows};
    fill(a.span(), given_input<float>("sgemv", settings, "A", {rows, columns}), random, -1.0f, 1.0f);
    fill(x.span(), given_input<float>("sgemv", settings, "x", {columns}), random, -1.0f, 1.0f);
    fill(y.span(), given_input<float>("sgemv", settings, "y", {rows}), random, -1.0f, 1.0f);
    Team team{processors_of(machine)};
    const auto reset = [&](const Buffer<float>& result) {
        return [&y, to = result.data()] { std::copy(y.span().begin(), y.span().end(), to); };
    };
    const Way ways[] = {
        {"serial", reset(by_one), [&] { return seconds_of([&] { serial(a.span(), x.span(), by_one.span()); }); }},
        {"hand", reset(by_hand), [&] { return hand(a.span(), x.span(), by_hand.span(), team); }},
        {"split",
         [&] {
             reset(by_parts)();
             wake(machine);
         },
         [&] { return seconds_of([&] { split(a.span(), x.span(), by_parts.span(), machine); }); }},
        {"tagged",
         [&] {
             reset(by_tasks)();
             wake(machine);
         },
         [&] {
             return seconds_of([&] { tagged(a.span(), x.span(), by_tasks.span(), settings.block_rows, machine); });
         }}};

    RunResult result;
    result.app = "sgemv";
    result.workers = team.size();
    result.tasks = parts(rows, settings.block_rows);
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {
        {"relative error", 0, relative_error(a.span(), x.span(), y.span(), by_tasks.span()), tolerance, "float64"},
        same_bits<float>("elements of hand that differ", by_hand.span(), by_one.span(), "serial"),
        same_bits<float>("elements of tagged that differ", by_tasks.span(), by_one.span(), "serial"),
        same_bits<float>("elements of split that differ", by_parts.span(), by_one.span(), "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("A", {rows, columns}, a.span()), keep<float>("x", {columns}, x.span()),
                         keep<float>("y", {rows}, y.span()), keep<float>("result", {rows}, by_tasks.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::sgemv
