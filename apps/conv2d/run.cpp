// The application for the gallery: an image of one plane or of several, each filtered like the others.
#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/conv2d/conv2d.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::conv2d {
namespace {

constexpr std::size_t default_side = 4096;
constexpr std::size_t default_tile = 64;
constexpr std::size_t checked_pixels = std::size_t{1} << 20;  // about this many are computed again in float64
constexpr double tolerance = 1e-6;

const Array* find(const Settings& settings, const std::string& name) {
    for (const Array& input : settings.inputs) {
        if (input.name == name) return &input;
    }
    return nullptr;
}

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_side;
    if (settings.columns == 0) settings.columns = default_side;
    if (settings.block_rows == 0) settings.block_rows = default_tile;
    if (settings.block_columns == 0) settings.block_columns = default_tile;
    if (const Array* image = find(settings, "image"); image != nullptr && image->shape.size() >= 2) {
        settings.rows = image->shape[image->shape.size() - 2];
        settings.columns = image->shape.back();
    }
    return settings;
}

Filter filter_of(const Settings& settings) {
    const auto* weights = given_input<float>("conv2d", settings, "filter", {0, 0});
    if (weights == nullptr) return binomial();
    const std::vector<std::size_t>& shape = find(settings, "filter")->shape;
    if (shape[0] % 2 == 0 || shape[1] % 2 == 0) {
        throw SettingError("conv2d", "input filter",
                           "it has " + std::to_string(shape[0]) + " x " + std::to_string(shape[1]) +
                               " weights; both sides must be odd, so that there is a middle");
    }
    return {*weights, shape[0], shape[1]};
}

// One plane or several, as given; or one generated.
struct Image {
    std::vector<float> pixels;
    std::vector<std::size_t> shape;
    std::size_t rows, columns;

    std::size_t plane_size() const noexcept { return rows * columns; }
    std::size_t planes() const noexcept { return pixels.size() / plane_size(); }
    std::span<const float> plane(std::size_t p) const noexcept {
        return std::span{pixels}.subspan(p * plane_size(), plane_size());
    }
};

Image image_of(const Settings& settings) {
    Image image{{}, {settings.rows, settings.columns}, settings.rows, settings.columns};
    const Array* given = find(settings, "image");
    const bool has_planes = given != nullptr && given->shape.size() == 3;
    if (has_planes) image.shape = given->shape;
    Random random{settings.seed};
    const auto* pixels = given_input<float>("conv2d", settings, "image", image.shape);
    image.pixels.resize(pixels != nullptr ? pixels->size() : image.plane_size());
    fill(image.pixels, pixels, random, 0.0f, 1.0f);
    return image;
}

// All planes of a result, one after the other.
struct Result {
    Result(const Image& image) : rows{image.rows}, columns{image.columns}, pixels{image.pixels.size()} {}
    view<float, 2> plane(std::size_t p) const noexcept { return {pixels.data() + p * rows * columns, {rows, columns}}; }
    std::function<void()> reset() const {
        return [to = pixels.span()] { std::fill(to.begin(), to.end(), 0.0f); };
    }
    std::size_t rows, columns;
    Buffer<float> pixels;
};

double relative_error(const Image& image, const Filter& filter, const Result& result) {
    const std::size_t step = std::max<std::size_t>(1, image.pixels.size() / checked_pixels);
    double worst = 0;
    for (std::size_t p = 0; p < image.planes(); ++p) {
        const std::span<const float> pixels = result.pixels.span().subspan(p * image.plane_size(), image.plane_size());
        worst = worse(relative_error(image.plane(p), image.rows, image.columns, filter, pixels, step), worst);
    }
    return worst;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("conv2d", settings, {"image", "filter"});
    const Filter filter = filter_of(settings);
    const Image image = image_of(settings);
    const Tiling tiling{image.rows, image.columns, settings.block_rows, settings.block_columns};

    std::vector<PaddedPlane> planes;
    for (std::size_t p = 0; p < image.planes(); ++p)
        planes.emplace_back(image.plane(p), image.rows, image.columns, filter);
    const Result by_one{image}, by_hand{image}, by_tasks{image}, by_parts{image};
    Team team{processors_of(machine)};
    const auto run_serial = [&] {
        for (std::size_t p = 0; p < planes.size(); ++p) serial(planes[p].window(), filter, by_one.plane(p), tiling);
    };
    const auto run_hand = [&] {
        double seconds = 0;
        for (std::size_t p = 0; p < planes.size(); ++p) {
            seconds += hand(planes[p].window(), filter, by_hand.plane(p), tiling, team);
        }
        return seconds;
    };
    const auto run_tagged = [&] {
        for (std::size_t p = 0; p < planes.size(); ++p)
            tagged(planes[p].window(), filter, by_tasks.plane(p), tiling, machine);
        machine.barrier();
    };
    const auto run_split = [&] {
        for (std::size_t p = 0; p < planes.size(); ++p) split(planes[p].window(), filter, by_parts.plane(p), machine);
    };
    const Way ways[] = {{"serial", by_one.reset(), [&] { return seconds_of(run_serial); }},
                        {"hand", by_hand.reset(), run_hand},
                        {"split",
                         [&] {
                             by_parts.reset()();
                             wake(machine);
                         },
                         [&] { return seconds_of(run_split); }},
                        {"tagged",
                         [&] {
                             by_tasks.reset()();
                             wake(machine);
                         },
                         [&] { return seconds_of(run_tagged); }}};

    RunResult result;
    result.app = "conv2d";
    result.workers = team.size();
    result.tasks = tiling.count() * planes.size();
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {
        {"relative error", 0, relative_error(image, filter, by_tasks), tolerance, "float64"},
        same_bits<float>("pixels of hand that differ", by_hand.pixels.span(), by_one.pixels.span(), "serial"),
        same_bits<float>("pixels of tagged that differ", by_tasks.pixels.span(), by_one.pixels.span(), "serial"),
        same_bits<float>("pixels of split that differ", by_parts.pixels.span(), by_one.pixels.span(), "serial")};
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("filter", {filter.rows, filter.columns}, filter.weights),
                         keep<float>("image", image.shape, image.pixels),
                         keep<float>("result", image.shape, by_tasks.pixels.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::conv2d
