// The application for the gallery.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/compare.hpp"
#include "apps/edge/streams.hpp"
#include "apps/measure.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::edge {
namespace {

constexpr std::size_t default_side = 256, default_angles = 36, default_pictures = 2;
constexpr std::size_t checked_pixels = 64;  // about this many are computed again in float64
constexpr double tolerance = 1e-5;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_side;
    if (settings.columns == 0) settings.columns = default_side;
    if (settings.block_rows == 0) settings.block_rows = default_angles;
    if (settings.block_columns == 0) settings.block_columns = default_pictures;
    for (const Array& input : settings.inputs) {
        if (input.name != "pictures" || input.shape.size() != 3) continue;  // refused by given_input()
        settings.block_columns = input.shape[0];
        settings.rows = input.shape[1];
        settings.columns = input.shape[2];
    }
    return settings;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("edge", settings, {"pictures"});
    const std::size_t count = settings.block_columns, rows = settings.rows, columns = settings.columns,
                      angles = settings.block_rows;
    if (rows * columns > largest_side || count > largest_side / (rows * columns))
        throw SettingError("edge", "rows",
                           "ask for pictures of together at most " + std::to_string(largest_side) + " pixels");
    const auto* given_pictures = given_input<float>("edge", settings, "pictures", {count, rows, columns});

    Random random{settings.seed};
    Buffer<float> pixels{count * rows * columns};
    fill(pixels.span(), given_pictures, random, 0.0f, 1.0f);
    const view<const float, 3> pictures{pixels.data(), {count, rows, columns}};
    std::array<Buffer<float>, 4> results{Buffer<float>{pixels.size()}, Buffer<float>{pixels.size()},
                                         Buffer<float>{pixels.size()}, Buffer<float>{pixels.size()}};
    const auto& [by_one, dense_by_one, dense_by_streams, by_streams] = results;
    const auto shaped = [&](const Buffer<float>& result) { return view<float, 3>{result.data(), pictures.extents()}; };
    const Placement placement{machine.targets() + 1};
    const auto way = [&](std::string name, const Buffer<float>& result, auto body) {
        return Way{std::move(name), [span = result.span()] { std::ranges::fill(span, -1.0f); },
                   [body, into = shaped(result)] { return seconds_of([&] { body(into); }); }};
    };
    const auto one_thread = [&](Algorithm algorithm) {
        return [&, algorithm](view<float, 3> into) { serial(algorithm, pictures, into, angles); };
    };
    const auto graph = [&](Algorithm algorithm) {
        return [&, algorithm](view<float, 3> into) { streams(algorithm, pictures, into, angles, machine, placement); };
    };
    const Way ways[] = {way("serial", by_one, one_thread(Algorithm::turned)),
                        way("serial 2d", dense_by_one, one_thread(Algorithm::dense)),
                        way("streams 2d", dense_by_streams, graph(Algorithm::dense)),
                        way("streams", by_streams, graph(Algorithm::turned))};

    RunResult result;
    result.app = "edge";
    result.workers = machine.targets() + 1;
    result.tasks = count * angles;
    result.timings = measure(ways, settings.repetitions, progress);
    // odd, so that all columns are met
    const std::size_t step = std::max<std::size_t>(1, rows * columns / checked_pixels) | 1;
    result.checks = {
        {"relative error of 2d", 0, relative_error(pictures, shaped(dense_by_streams), angles, step), tolerance,
         "float64"},
        same_bits<float>("pixels of streams 2d that differ", dense_by_streams.span(), dense_by_one.span(), "serial 2d"),
        same_bits<float>("pixels of streams that differ", by_streams.span(), by_one.span(), "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("pictures", {count, rows, columns}, pixels.span()),
                         keep<float>("dense", {count, rows, columns}, dense_by_streams.span()),
                         keep<float>("result", {count, rows, columns}, by_streams.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::edge
