// The application for the gallery.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/pipeline/chains.hpp"
#include "apps/placement.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::pipeline {
namespace {

constexpr std::size_t default_side = 2048;
constexpr std::size_t default_tile = 64;
constexpr std::size_t checked_pixels = std::size_t{1} << 18;  // about this many are computed again in float64
// The places have errors below 2^-20 of a pixel, in rows and in columns, while the map does not make images smaller
// than by half (kernels/affine.hpp). Between two pixels the filtered image changes by two units at most:
// together 3.9e-6. Sums of nine float add less.
constexpr double tolerance = 5e-6;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_side;
    if (settings.columns == 0) settings.columns = default_side;
    if (settings.block_rows == 0) settings.block_rows = default_tile;
    if (settings.block_columns == 0) settings.block_columns = default_tile;
    for (const Array& input : settings.inputs) {
        if ((input.name != "first" && input.name != "second") || input.shape.size() != 2)
            continue;  // refused by given_input()
        settings.rows = input.shape[0];
        settings.columns = input.shape[1];
    }
    return settings;
}

Work work_of(const Settings& settings) {
    Work work = smooth_and_turn(settings.rows, settings.columns);
    if (const auto* weights = given_input<float>("pipeline", settings, "filter", {3, 3})) {
        std::ranges::copy(*weights, work.filter.weights.begin());
    }
    if (const auto* map = given_input<double>("pipeline", settings, "map", {2, 3})) {
        constexpr double most = 1e9;  // so that the check can count pixels
        if (!std::ranges::all_of(*map, [](double number) { return std::abs(number) <= most; }))
            throw SettingError("pipeline", "input map", "its numbers must lie between -10^9 and 10^9");
        std::ranges::copy(*map, work.map.m.begin());
    }
    return work;
}

// How much the places' errors grow with a map that makes images smaller than by half.
double shrinking(const Work& work) {
    double most = 2;
    for (const std::size_t i : {0u, 1u, 3u, 4u}) most = std::max(most, std::abs(work.map.m[i]));
    return most / 2;
}

void check_room(const TileChains& chains, Machine& machine) {
    const std::size_t room = machine.initiator().local_store_bytes();
    if (chains.local_bytes() <= room) return;
    throw SettingError("pipeline", "block_rows",
                       "a tile's parts of the images between the stages need " + std::to_string(chains.local_bytes()) +
                           " bytes of local store, and a target has " + std::to_string(room) +
                           "; ask for smaller tiles");
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("pipeline", settings, {"first", "second", "filter", "map"});
    const std::size_t rows = settings.rows, columns = settings.columns, n = rows * columns;
    const auto* given_first = given_input<float>("pipeline", settings, "first", {rows, columns});
    const auto* given_second = given_input<float>("pipeline", settings, "second", {rows, columns});
    const Work work = work_of(settings);
    const Tiling tiling{rows, columns, settings.block_rows, settings.block_columns};
    const TileChains tile_chains{work, tiling};
    check_room(tile_chains, machine);

    Random random{settings.seed};
    Buffer<float> first{n}, second{n}, greater{n}, filtered{n}, by_one{n}, by_hand{n}, by_tasks{n}, by_chains{n};
    fill(first.span(), given_first, random, 0.0f, 1.0f);
    fill(second.span(), given_second, random, 0.0f, 1.0f);
    const auto shaped = [&](const Buffer<float>& pixels) { return view<float, 2>{pixels.data(), {rows, columns}}; };
    const auto into = [&](const Buffer<float>& result) {
        return Images{shaped(first), shaped(second), shaped(result)};
    };
    const Between between{shaped(greater), shaped(filtered)};
    Team team{processors_of(machine)};
    const auto way = [&](std::string name, const Buffer<float>& result, auto body) {
        const auto forget = [all = std::array{result.span(), greater.span(), filtered.span()}] {
            for (const std::span<float> pixels : all) std::ranges::fill(pixels, 0.0f);
        };
        return Way{std::move(name), forget, body};
    };
    const auto run_chains = [&] {
        tile_chains.issue(into(by_chains), machine);
        machine.barrier();
    };
    const Way ways[] = {
        way("serial", by_one, [&] { return seconds_of([&] { serial(work, into(by_one), between); }); }),
        way("hand", by_hand, [&] { return hand(work, into(by_hand), tiling, team); }),
        way("tagged", by_tasks,
            [&] { return seconds_of([&] { tagged(work, into(by_tasks), between, tiling, machine); }); }),
        way("chains", by_chains, [&] { return seconds_of(run_chains); })};

    RunResult result;
    result.app = "pipeline";
    result.workers = team.size();
    result.tasks = tiling.count();
    result.timings = measure(ways, settings.repetitions, progress);
    const std::size_t step = std::max<std::size_t>(1, n / checked_pixels);
    result.checks = {
        {"relative error", 0, relative_error(work, into(by_chains), step), tolerance * shrinking(work), "float64"},
        same_bits<float>("pixels of hand that differ", by_hand.span(), by_one.span(), "serial"),
        same_bits<float>("pixels of tagged that differ", by_tasks.span(), by_one.span(), "serial"),
        same_bits<float>("pixels of chains that differ", by_chains.span(), by_one.span(), "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("first", {rows, columns}, first.span()),
                         keep<float>("second", {rows, columns}, second.span()),
                         keep<float>("filter", {3, 3}, work.filter.weights), keep<double>("map", {2, 3}, work.map.m),
                         keep<float>("result", {rows, columns}, by_chains.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::pipeline
