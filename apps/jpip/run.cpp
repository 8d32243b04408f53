// The application for the gallery.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "apps/compare.hpp"
#include "apps/jpip/jpip.hpp"
#include "apps/measure.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::jpip {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t default_rows = 720, default_columns = 1280, default_frames = 8;
constexpr std::size_t most_pixels = std::size_t{1} << 24, most_frames = 4096;
// Means of full pixels against those that the decoder makes of frequencies: the same picture, each rounded in its own
// way.
constexpr double most_between_ways = 1;  // on the average

[[noreturn]] void refuse(const char* setting, const std::string& advice) {
    throw SettingError("jpip", setting, advice);
}

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_rows;
    if (settings.columns == 0) settings.columns = default_columns;
    if (settings.block_rows == 0) settings.block_rows = default_frames;
    if (settings.block_columns == 0) settings.block_columns = 1;
    for (const Array& input : settings.inputs)
        if (input.name == "ends" && input.shape.size() == 1) settings.block_rows = input.shape[0] / tiles;
    return settings;
}

void check(const Settings& settings) {
    check_settings("jpip", settings, {"jpeg", "ends", "photograph"});
    if (settings.rows > most_pixels / settings.columns)
        refuse("rows", "ask for frames of at most " + std::to_string(most_pixels) + " pixels");
    if (settings.block_rows == 0 || settings.block_rows > most_frames)
        refuse("block_rows", "ask for 1 to " + std::to_string(most_frames) + " frames");
    if (settings.block_columns != 1 && settings.block_columns != 2 && settings.block_columns != 4)
        refuse("block_columns", "frames are decoded at 1/1, 1/2 or 1/4 of their size: ask for 1, 2 or 4");
}

Films given_films(const Settings& settings, const Bytes& jpeg) {
    const auto* ends = given_input<std::uint32_t>("jpip", settings, "ends", {tiles * settings.block_rows});
    if (ends == nullptr) refuse("input ends", "say where each of the files in `jpeg` ends");
    Films films{tiles, settings.block_rows, jpeg, *ends};
    if (!std::ranges::is_sorted(films.ends) || films.ends.back() != jpeg.size())
        refuse("input ends", "each file ends behind the one before it, and the last one with `jpeg`");
    return films;
}

Films films_of(const Settings& settings) {
    if (const auto* jpeg = given_input<std::uint8_t>("jpip", settings, "jpeg", {0}))
        return given_films(settings, *jpeg);
    const Scene scene{settings.rows, settings.columns, settings.block_rows, settings.seed};
    if (const auto* photograph = given_input<std::uint8_t>("jpip", settings, "photograph", {0, 0, channels})) {
        const auto& input = *std::ranges::find(settings.inputs, "photograph", &Array::name);
        return make_films(tiles, scene, {photograph->data(), {input.shape[0], input.shape[1] * channels}});
    }
    const std::size_t rows = 2 * settings.rows, columns = 2 * settings.columns;
    const Bytes generated = generated_photograph(rows, columns, settings.seed);
    return make_films(tiles, scene, {generated.data(), {rows, columns * channels}});
}

// All files must be of one size, which is that of the first.
PictureSize size_of(const Films& films) {
    JpegDecoder decoder;
    const PictureSize size = decoder.size(films.file(0, 0));
    for (std::size_t film = 0; film < films.count; ++film)
        for (std::size_t frame = 0; frame < films.frames; ++frame)
            if (decoder.size(films.file(film, frame)) != size)
                refuse("input jpeg", "all pictures must have the size of the first");
    return size;
}

double mean_difference(const Bytes& a, const Bytes& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    return sum / static_cast<double>(a.size());
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check(settings);
    const Films films = films_of(settings);
    const PictureSize frame = size_of(films), mosaic = mosaic_of(frame);
    settings.rows = frame.rows;
    settings.columns = frame.columns;
    const int divisor = static_cast<int>(settings.block_columns), scaled = static_cast<int>(smaller),
              copies = machine.targets() + 1;
    const std::size_t bytes = films.frames * mosaic.rows * mosaic.columns * channels;
    Bytes by_one(bytes), scaled_by_one(bytes), scaled_by_streams(bytes), by_streams(bytes);
    const auto shaped = [&](Bytes& result) {
        return view<std::uint8_t, 3>{result.data(), {films.frames, mosaic.rows, mosaic.columns * channels}};
    };
    const auto way = [&](std::string name, Bytes& result, auto body) {
        return Way{std::move(name), [&result] { std::ranges::fill(result, std::uint8_t{0}); },
                   [body, into = shaped(result)] { return seconds_of([&] { body(into); }); }};
    };
    const auto one_thread = [&](int by) { return [&, by](view<std::uint8_t, 3> into) { serial(films, by, into); }; };
    const auto graph = [&](int by) {
        return [&, by](view<std::uint8_t, 3> into) { streams(films, by, into, machine, copies); };
    };
    const Way ways[] = {
        way("serial", by_one, one_thread(divisor)), way("serial scaled", scaled_by_one, one_thread(scaled)),
        way("streams scaled", scaled_by_streams, graph(scaled)), way("streams", by_streams, graph(divisor))};

    RunResult result;
    result.app = "jpip";
    result.workers = copies;
    result.tasks = films.count * films.frames;
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {same_bits<std::uint8_t>("bytes of streams that differ", by_streams, by_one, "serial"),
                     same_bits<std::uint8_t>("bytes of streams scaled that differ", scaled_by_streams, scaled_by_one,
                                             "serial scaled"),
                     {"mean difference of scaled decoding", 0, mean_difference(by_one, scaled_by_one),
                      most_between_ways, "libjpeg-turbo at 1/4"}};
    if (settings.keep_arrays) {
        result.arrays = {
            keep<std::uint8_t>("jpeg", {films.jpeg.size()}, films.jpeg),
            keep<std::uint32_t>("ends", {films.ends.size()}, films.ends),
            keep<std::uint8_t>("result", {films.frames, mosaic.rows, mosaic.columns, channels}, by_streams)};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::jpip
