#include "apps/saxpy/saxpy.hpp"

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

namespace penstock::apps::saxpy {
namespace {

Settings with_defaults(Settings settings) {
    if (settings.columns == 0) settings.columns = std::size_t{1} << 20;
    if (settings.block_columns == 0) settings.block_columns = 32 * 64;
    return settings;
}

}  // namespace

void serial(std::span<const float> x, std::span<float> y, float a) { kernels::saxpy(x, y, a); }

double hand(std::span<const float> x, std::span<float> y, float a, Team& team) {
    return team.run([&](int rank) {
        // Shares end at whole cache lines, so that no line has two writers.
        constexpr std::size_t line = 32;
        const Range lines = team.share(rank, parts(y.size(), line));
        const std::size_t begin = lines.begin * line;
        const std::size_t count = std::min(lines.end * line, y.size()) - begin;
        kernels::saxpy(x.subspan(begin, count), y.subspan(begin, count), a);
    });
}

void tagged(std::span<const float> x, std::span<float> y, float a, std::size_t part, Machine& machine) {
    for (std::size_t begin = 0; begin < y.size(); begin += part) {
        const std::size_t count = std::min(part, y.size() - begin);
        machine.call<kernels::saxpy>(in(x.subspan(begin, count)), inout(y.subspan(begin, count)), a);
    }
    machine.barrier();
}

void split(std::span<const float> x, std::span<float> y, float a, Machine& machine) {
    penstock::split<kernels::saxpy>(machine, in(x), inout(y), a);
}

double error_in_ulps(std::span<const float> x, std::span<const float> y, float a, std::span<const float> result) {
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double product = static_cast<long double>(a) * x[i];
        const long double exact = product + y[i];
        const float largest = std::max({std::abs(static_cast<float>(product)), std::abs(y[i]), std::abs(result[i])});
        const long double ulp = std::nextafter(largest, HUGE_VALF) - static_cast<long double>(largest);
        const auto error = static_cast<double>(std::abs(result[i] - exact) / ulp);
        worst = worse(error, worst);
    }
    return worst;
}

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("saxpy", settings, {"x", "y"});
    const auto* given_x = given_input<float>("saxpy", settings, "x", {0});
    if (given_x != nullptr) settings.columns = given_x->size();
    const auto* given_y = given_input<float>("saxpy", settings, "y", {settings.columns});
    const std::size_t n = settings.columns;

    Random random{settings.seed};
    Buffer<float> x{n}, y{n}, by_one{n}, by_hand{n}, by_tasks{n}, by_parts{n};
    fill(x.span(), given_x, random, -1.0f, 1.0f);
    fill(y.span(), given_y, random, -1.0f, 1.0f);
    Team team{processors_of(machine)};
    const auto reset = [&](const Buffer<float>& result) {
        return [&y, to = result.data()] { std::copy(y.span().begin(), y.span().end(), to); };
    };
    const Way ways[] = {
        {"serial", reset(by_one), [&] { return seconds_of([&] { serial(x.span(), by_one.span(), factor); }); }},
        {"hand", reset(by_hand), [&] { return hand(x.span(), by_hand.span(), factor, team); }},
        {"split",
         [&] {
             reset(by_parts)();
             wake(machine);
         },
         [&] { return seconds_of([&] { split(x.span(), by_parts.span(), factor, machine); }); }},
        {"tagged",
         [&] {
             reset(by_tasks)();
             wake(machine);
         },
         [&] {
             return seconds_of([&] { tagged(x.span(), by_tasks.span(), factor, settings.block_columns, machine); });
         }}};

    RunResult result;
    result.app = "saxpy";
    result.workers = team.size();
    result.tasks = parts(n, settings.block_columns);
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {{"error in ulps", 0, error_in_ulps(x.span(), y.span(), factor, by_tasks.span()), 1, "long double"},
                     same_bits<float>("elements of hand that differ", by_hand.span(), by_one.span(), "serial"),
                     same_bits<float>("elements of tagged that differ", by_tasks.span(), by_one.span(), "serial"),
                     same_bits<float>("elements of split that differ", by_parts.span(), by_one.span(), "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("x", {n}, x.span()), keep<float>("y", {n}, y.span()),
                         keep<float>("result", {n}, by_tasks.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::saxpy
