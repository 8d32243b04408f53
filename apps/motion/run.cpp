// The application for the gallery.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/motion/motion.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::motion {
namespace {

constexpr std::size_t checked_blocks = 100;  // about this many are searched again, from the definition

std::size_t whole_blocks(std::size_t side, std::size_t block) { return parts(side, block) * block; }

/// The sizes, and the settings with what was filled in.
Shape shape_of(Settings& settings) {
    Shape shape;
    if (settings.block_rows != 0) shape.block = settings.block_rows;
    if (settings.rows != 0) shape.rows = whole_blocks(settings.rows, shape.block);
    if (settings.columns != 0) shape.columns = whole_blocks(settings.columns, shape.block);
    for (const Array& input : settings.inputs) {
        if (input.name != "frames" || input.shape.size() != 3) continue;
        shape.frames = input.shape[0];
        shape.rows = input.shape[1];
        shape.columns = input.shape[2];
    }
    settings.rows = shape.rows;
    settings.columns = shape.columns;
    settings.block_rows = settings.block_columns = shape.block;
    return shape;
}

std::uint32_t smallest_by_definition(const Problem& problem, std::size_t frame, std::size_t row, std::size_t column) {
    const Shape& shape = problem.shape;
    const auto pixel = [&](std::size_t f, std::ptrdiff_t y, std::ptrdiff_t x) {
        return static_cast<int>(problem.frames[f * shape.pixels() + static_cast<std::size_t>(y) * shape.columns +
                                               static_cast<std::size_t>(x)]);
    };
    const auto side = static_cast<std::ptrdiff_t>(shape.block), range = static_cast<std::ptrdiff_t>(shape.range);
    const auto y = static_cast<std::ptrdiff_t>(row), x = static_cast<std::ptrdiff_t>(column);
    std::uint32_t smallest = std::numeric_limits<std::uint32_t>::max();
    for (std::ptrdiff_t down = -range; down <= range; ++down) {
        for (std::ptrdiff_t right = -range; right <= range; ++right) {
            if (y + down < 0 || x + right < 0 || y + down + side > static_cast<std::ptrdiff_t>(shape.rows) ||
                x + right + side > static_cast<std::ptrdiff_t>(shape.columns))
                continue;
            std::uint32_t sum = 0;
            for (std::ptrdiff_t i = 0; i < side; ++i)
                for (std::ptrdiff_t j = 0; j < side; ++j)
                    sum += static_cast<std::uint32_t>(
                        std::abs(pixel(frame, y + i, x + j) - pixel(frame - 1, y + down + i, x + right + j)));
            smallest = std::min(smallest, sum);
        }
    }
    return smallest;
}

double wrong_blocks(const Problem& problem, std::span<const Match> matches) {
    const Shape& shape = problem.shape;
    double wrong = 0;
    for (std::size_t b = 0; b < matches.size(); b += std::max<std::size_t>(1, matches.size() / checked_blocks)) {
        const std::size_t frame = 1 + b / shape.blocks(), block = b % shape.blocks();
        const std::size_t row = block / shape.across() * shape.block, column = block % shape.across() * shape.block;
        if (smallest_by_definition(problem, frame, row, column) != matches[b].sad) ++wrong;
    }
    return wrong;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    check_settings("motion", given, {"frames"});
    Settings settings = given;
    const Shape shape = shape_of(settings);
    const auto* frames = given_input<Pixel>("motion", settings, "frames", {shape.frames, shape.rows, shape.columns});
    if (frames != nullptr && (shape.frames < 2 || shape.rows % shape.block != 0 || shape.columns % shape.block != 0))
        throw SettingError(
            "motion", "input frames",
            "give at least 2, whose sides are whole blocks of " + std::to_string(shape.block) + " pixels");

    Problem problem{shape};
    generate(problem, settings.seed);
    if (frames != nullptr) std::ranges::copy(*frames, problem.frames.data());
    const RankOptions options{.ranks = machine.targets() + 1};
    std::vector<Match> by_one(problem.matches.size());
    std::vector<std::vector<Match>> by_ranks(std::size(variants), by_one);
    std::vector<Way> ways{{"serial", [] {}, [&] { return seconds_of([&] { serial(problem, by_one); }); }}};
    for (const Variant variant : variants)
        ways.push_back({std::string(name(variant)), [&] { std::ranges::fill(problem.matches.span(), Match{}); },
                        [&, variant] {
                            const double seconds = parallel(problem, variant, options);
                            std::ranges::copy(problem.matches.span(),
                                              by_ranks[static_cast<std::size_t>(variant)].begin());
                            return seconds;
                        }});

    RunResult result;
    result.app = "motion";
    result.workers = options.ranks;
    result.tasks = (shape.frames - 1) * static_cast<std::size_t>(options.ranks);
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {{"blocks with another smallest sum", 0, wrong_blocks(problem, by_one), 0, "definition"}};
    for (const Variant variant : variants)
        result.checks.push_back(same_bits<Match>("matches of " + std::string(name(variant)) + " that differ",
                                                 by_ranks[static_cast<std::size_t>(variant)], by_one, "serial"));
    if (settings.keep_arrays) {
        std::vector<std::uint32_t> sums;
        for (const Match& match : by_ranks.back()) sums.push_back(match.sad);
        result.arrays = {keep<Pixel>("frames", {shape.frames, shape.rows, shape.columns}, problem.frames.span()),
                         {"result", {shape.frames - 1, shape.down(), shape.across()}, std::move(sums)}};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::motion
