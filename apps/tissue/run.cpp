#include <algorithm>
#include <cstring>

#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"
#include "apps/tissue/tissue.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::tissue {
namespace {

constexpr std::size_t checked_tiles = 8;  // against the definition

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = 512;
    if (settings.columns == 0) settings.columns = 1024;
    if (settings.block_rows == 0) settings.block_rows = 128;
    if (settings.block_columns == 0) settings.block_columns = 128;
    return settings;
}

void check_tiles(const Settings& settings) {
    for (const auto& [name, side] :
         {std::pair{"block_rows", settings.block_rows}, std::pair{"block_columns", settings.block_columns}})
        if (side % shrinking != 0)
            throw SettingError("tissue", name, "ask for a multiple of " + std::to_string(shrinking));
}

void forget(Analysis& analysis) {
    std::ranges::fill(analysis.features, Features{});
    std::ranges::fill(analysis.classes, ~std::uint32_t{0});
    std::ranges::fill(analysis.overview.rgb.span(), std::uint8_t{0});
}

std::span<const double> numbers(const std::vector<Features>& features) {
    return {features.front().data(), features.size() * tissue::features};
}

void compare(const Analysis& analysis, const Analysis& wanted, const std::string& way, std::vector<Check>& checks) {
    checks.push_back(same_bits("features of " + way + " that differ", numbers(analysis.features),
                               numbers(wanted.features), "serial"));
    checks.push_back(
        same_bits<std::uint32_t>("classes of " + way + " that differ", analysis.classes, wanted.classes, "serial"));
    checks.push_back(same_bits<std::uint8_t>("bytes of the overview of " + way + " that differ",
                                             analysis.overview.rgb.span(), wanted.overview.rgb.span(), "serial"));
}

void check_changes(const Changed& changed, const Analysis& wanted, std::vector<Check>& checks) {
    const std::string while_it_changed = " of " + std::to_string(changed.tiles) + " tiles, while filters came and went";
    checks.push_back({"verdicts lost or repeated" + while_it_changed, 0, static_cast<double>(changed.lost_or_repeated),
                      0, "numbers of the tiles"});
    checks.push_back(
        {"verdicts that differ" + while_it_changed, 0, static_cast<double>(changed.wrong_verdicts), 0, "serial"});
    checks.push_back(same_bits<std::uint8_t>("bytes that differ of the overview that was put in again",
                                             changed.again.overview.rgb.span(), wanted.overview.rgb.span(), "serial"));
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("tissue", settings, {"image"});
    check_tiles(settings);
    const Picture picture = picture_of("tissue", settings);
    const Tiling tiling{settings.rows, settings.columns, settings.block_rows, settings.block_columns};
    const Slide slide{picture, tiling};
    Analysis by_one{tiling}, by_hand{tiling}, by_filters{tiling}, as_written{tiling};
    Team team{processors_of(machine)};
    const auto forgetting = [](Analysis& analysis) { return [&analysis] { forget(analysis); }; };
    const Way ways[] = {{"serial", forgetting(by_one), [&] { return seconds_of([&] { serial(slide, by_one); }); }},
                        {"hand", forgetting(by_hand), [&] { return hand(slide, by_hand, team); }},
                        {"streamed", forgetting(by_filters),
                         [&] { return seconds_of([&] { streamed(slide, by_filters, machine, team.size()); }); }},
                        {"written", forgetting(as_written),
                         [&] { return seconds_of([&] { written(slide, as_written, machine, team.size()); }); }}};

    RunResult result;
    result.app = "tissue";
    result.workers = team.size();
    result.tasks = tiling.count();
    result.timings = measure(ways, settings.repetitions, progress);
    const Errors errors = errors_of(slide, as_written, checked_tiles);
    result.checks = {{"largest error of a colour feature", 0, errors.colour, 1e-4, "definition, float64"},
                     {"largest error of a share of patterns", 0, errors.pattern, 0, "definition, float64"}};
    compare(by_hand, by_one, "hand", result.checks);
    compare(by_filters, by_one, "streamed", result.checks);
    compare(as_written, by_one, "written", result.checks);
    check_changes(changing(slide, by_one, machine, team.size()), by_one, result.checks);
    if (settings.keep_arrays) {
        const Picture& overview = as_written.overview;
        result.arrays = {
            keep<std::uint8_t>("image", {picture.rows, picture.columns, 3}, picture.rgb.span()),
            keep<std::uint8_t>("tiles", {slide.bytes().size()}, slide.bytes()),
            keep<std::uint32_t>("starts", {slide.offsets().size()}, slide.offsets()),
            keep<double>("features", {tiling.count(), features}, numbers(as_written.features)),
            keep<std::uint8_t>("overview", {overview.rows, overview.columns, 3}, overview.rgb.span()),
            keep<std::uint32_t>("result", {tiling.count() / tiling.across(), tiling.across()}, as_written.classes)};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::tissue
