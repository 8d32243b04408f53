#include "apps/addition/addition.hpp"

#include <algorithm>

#include "apps/addition/streams.hpp"
#include "apps/buffer.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "apps/random.hpp"
#include "kernels/add.hpp"
#include "penstock/machine.hpp"
#include "penstock/split.hpp"

namespace penstock::apps::addition {
namespace {

constexpr std::size_t large_bytes = 1 << 16;  // of a large buffer of the streams

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = 1024;
    if (settings.columns == 0) settings.columns = 512;
    if (settings.block_rows == 0) settings.block_rows = 32;
    if (settings.block_columns == 0) settings.block_columns = 64;
    for (const Array& input : settings.inputs) {
        if (input.name == "a" && input.shape.size() == 2) {
            settings.rows = input.shape[0];
            settings.columns = input.shape[1];
        }
    }
    return settings;
}

// The sum in double precision rounded once is the correctly rounded sum in single precision.
Check exactness(std::span<const float> a, std::span<const float> b, std::span<const float> sum) {
    std::vector<float> expected(sum.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = static_cast<float>(static_cast<double>(a[i]) + b[i]);
    return same_bits<float>("elements that differ", sum, expected, "float64, rounded");
}

}  // namespace

void serial(Source a, Source b, view<float, 2> sum) { kernels::add(a, b, sum); }

double hand(Source a, Source b, view<float, 2> sum, Team& team) {
    return team.run([&](int rank) {
        const Range rows = team.share(rank, sum.extent(0));
        const Tile band{rows.begin, 0, rows.end - rows.begin, sum.extent(1)};
        kernels::add(part(a, band), part(b, band), part(sum, band));
    });
}

void tagged(Source a, Source b, view<float, 2> sum, const Tiling& tiling, Machine& machine) {
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const Tile tile = tiling[t];
        machine.call<kernels::add>(in(part(a, tile)), in(part(b, tile)), out(part(sum, tile)));
    }
    machine.barrier();
}

void split(Source a, Source b, view<float, 2> sum, Machine& machine) {
    penstock::split<kernels::add>(machine, in(a), in(b), out(sum));
}

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("addition", settings, {"a", "b"});
    const std::size_t rows = settings.rows;
    const std::size_t columns = settings.columns;
    const std::size_t n = rows * columns;

    Random random{settings.seed};
    Buffer<float> a{n}, b{n}, by_one{n}, by_hand{n}, by_rows{n}, by_large{n}, by_tasks{n}, by_parts{n};
    fill(a.span(), given_input<float>("addition", settings, "a", {rows, columns}), random, -1.0f, 1.0f);
    fill(b.span(), given_input<float>("addition", settings, "b", {rows, columns}), random, -1.0f, 1.0f);
    Team team{processors_of(machine)};
    const Tiling tiling{rows, columns, settings.block_rows, settings.block_columns};
    const auto matrix = [&](const Buffer<float>& buffer) { return view<float, 2>{buffer.data(), {rows, columns}}; };
    const auto reset = [](const Buffer<float>& result) {
        return [to = result.span()] { std::fill(to.begin(), to.end(), 0.0f); };
    };
    const auto in_streams = [&](const Buffer<float>& sum, std::size_t rows_a_buffer) {
        return seconds_of(
            [&] { streamed(matrix(a), matrix(b), matrix(sum), rows_a_buffer, machine.targets() + 1, machine); });
    };
    const Way ways[] = {
        {"serial", reset(by_one), [&] { return seconds_of([&] { serial(matrix(a), matrix(b), matrix(by_one)); }); }},
        {"hand", reset(by_hand), [&] { return hand(matrix(a), matrix(b), matrix(by_hand), team); }},
        {"rows", reset(by_rows), [&] { return in_streams(by_rows, 1); }},
        {"large", reset(by_large),
         [&] { return in_streams(by_large, std::max<std::size_t>(1, large_bytes / (columns * sizeof(float)))); }},
        {"split", reset(by_parts),
         [&] { return seconds_of([&] { split(matrix(a), matrix(b), matrix(by_parts), machine); }); }},
        {"tagged", reset(by_tasks),
         [&] { return seconds_of([&] { tagged(matrix(a), matrix(b), matrix(by_tasks), tiling, machine); }); }}};

    RunResult result;
    result.app = "addition";
    result.workers = team.size();
    result.tasks = tiling.count();
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {exactness(a.span(), b.span(), by_tasks.span()),
                     same_bits<float>("elements of hand that differ", by_hand.span(), by_one.span(), "serial"),
                     same_bits<float>("elements of rows that differ", by_rows.span(), by_one.span(), "serial"),
                     same_bits<float>("elements of large that differ", by_large.span(), by_one.span(), "serial"),
                     same_bits<float>("elements of tagged that differ", by_tasks.span(), by_one.span(), "serial"),
                     same_bits<float>("elements of split that differ", by_parts.span(), by_one.span(), "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("a", {rows, columns}, a.span()), keep<float>("b", {rows, columns}, b.span()),
                         keep<float>("sum", {rows, columns}, by_tasks.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::addition
