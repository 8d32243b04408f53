// Analysis of a stained tissue from JPEG tiles, as filters in copies: 1..N processors against one thread, oneTBB's
// parallel_pipeline and OpenMP.
#include "apps/tissue/tissue.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/tissue/stages.hpp"
#include "components/files/picture_file.hpp"
#include "harness/processors.hpp"
#include "peers/ours.hpp"
#include "peers/photograph.hpp"
#include "peers/pipeline.hpp"
#include "peers/speed_up.hpp"

namespace {

namespace tissue = penstock::apps::tissue;
using penstock::apps::Picture;
using penstock::apps::Tiling;

Picture input(std::size_t rows, std::size_t columns, bench::Report& report) {
    if (const auto ihc = bench::photograph("ihc.png"))
        return penstock::apps::mirrored({ihc->rgb.data(), {ihc->rows, 3 * ihc->columns}}, rows, columns);
    report.note("the picture of a tissue was not found (scikit-image is not installed): a made one instead");
    return penstock::apps::spots(rows, columns, 1);
}

struct Bench {
    Bench(const Picture& picture, const Tiling& tiling) : slide{picture, tiling}, wanted{tiling}, found{tiling} {
        tissue::serial(slide, wanted);
    }
    /// As the paper has it.
    Bench(const Picture& picture, const Tiling& tiling, tissue::Stored stored)
        : slide{picture, tiling, 90, stored}, wanted{tiling}, found{tiling} {
        tissue::published_serial(slide, wanted);
    }

    /// Nanoseconds of body(), which fills `found`; then compares all that came out.
    template <class Body>
    double timed(Body body) {
        std::ranges::fill(found.features, tissue::Features{});
        std::ranges::fill(found.overview.rgb.span(), std::uint8_t{0});
        const auto start = bench::Clock::now();
        body();
        const double nanoseconds = bench::nanoseconds_since(start);
        if (found.features != wanted.features || found.classes != wanted.classes ||
            !std::ranges::equal(found.overview.rgb.span(), wanted.overview.rgb.span()))
            throw std::runtime_error("tissue: another result than that of the serial way");
        return nanoseconds;
    }

    tissue::Slide slide;
    tissue::Analysis wanted, found;
};

struct Item {
    std::size_t number = 0;
    penstock::apps::Tile tile{};
    tissue::TileScratch scratch;
    penstock::view<const std::uint8_t, 2> rgb;
    tissue::Features features{};
    std::uint32_t of_class = 0;

    penstock::view<std::uint8_t, 2> small() {
        return scratch.small.shaped(tissue::shrunk(tile.rows), 3 * tissue::shrunk(tile.columns));
    }
};

void by(bench::Rival rival, Bench& bench, std::size_t passes, std::vector<Item>& items) {
    std::size_t next = 0;
    const tissue::Slide& slide = bench.slide;
    const bench::Pipeline<Item> pipeline{
        [&](Item& item) {
            const std::size_t count = slide.tiling().count();
            if (next == passes * count) return false;
            item.number = next++ % count;
            item.tile = slide.tiling()[item.number];
            return true;
        },
        {[&](Item& item) { item.rgb = tissue::decoded_tile(slide, item.number, item.scratch); },
         [](Item& item) {
             tissue::colour_features_of(item.rgb, item.scratch.lab,
                                        std::span(item.features).first(tissue::colour_features));
         },
         [](Item& item) {
             tissue::pattern_features_of(item.rgb, item.scratch.pattern,
                                         std::span(item.features).last(tissue::pattern_features));
         },
         [](Item& item) { tissue::shrink(item.rgb, item.small()); },
         [](Item& item) { item.of_class = tissue::trained_classifier().classify(item.features); }},
        [&](Item& item) {
            bench.found.features[item.number] = item.features;
            bench.found.classes[item.number] = item.of_class;
            tissue::draw_tile(item.tile, item.small(), bench.found.overview);
            tissue::draw_class(item.tile, item.of_class, bench.found.overview);
        }};
    bench::run_by(rival, pipeline, items);
}

bench::Filters filters(Bench& bench, std::size_t passes) {
    bench::Filters made;
    made.unit = "tiles";
    made.units = static_cast<double>(passes * bench.slide.tiling().count());
    made.serial = [&bench, passes] {
        return bench.timed([&] {
            for (std::size_t pass = 0; pass < passes; ++pass) tissue::serial(bench.slide, bench.found);
        });
    };
    made.streamed = [&bench, passes](penstock::Machine& machine, int processors) {
        return bench.timed([&] { tissue::streamed(bench.slide, bench.found, machine, processors, passes); });
    };
    const auto items = std::make_shared<std::vector<Item>>(8);
    made.rival = [&bench, passes, items](bench::Rival rival) {
        return bench.timed([&] { by(rival, bench, passes, *items); });
    };
    return made;
}

/// From JPEG tiles, and from decoded ones. Gives the speed-up of the former.
bench::SpeedUp compare(Bench& bench, const std::string& size, const bench::Options& options, bench::Report& report) {
    const std::string tiles = std::to_string(bench.slide.tiling().count()) + size + " tiles";
    const auto faster = bench::measure_speed_up(filters(bench, 1), tiles + ": ", options, report);
    bench.slide.decode();
    bench::measure_speed_up(filters(bench, 1), tiles + ", decoded: ", options, report);
    return faster;
}

// ---- as the paper has it: the caller decodes and issues, so many targets analyse ----

void compare_published(Bench& bench, const std::string& tiles, const bench::Options& options, bench::Report& report) {
    const auto count = bench.slide.tiling().count();
    const int most = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1);
    const auto on_first = [&bench](auto body) {
        return [&bench, body] {
            const bench::Pinned pinned{bench::allowed_processors().front()};
            return bench.timed(body);
        };
    };
    const auto measure_on = [&](int targets) {
        const auto machine = bench::make_machine({.targets = targets});
        tissue::HandedOn all;
        const std::vector<bench::Contestant> contestants{
            {"one thread", on_first([&] { tissue::published_serial(bench.slide, bench.found); })},
            {"published", on_first([&] {
                 const auto handed_on = tissue::published(bench.slide, bench.found, *machine, targets + 1);
                 if (handed_on.tiles != count || handed_on.posted != 0)
                     throw std::runtime_error("tissue: a tile in CIELAB was not read on the thread that had made it");
                 all.right_behind += handed_on.right_behind;
                 all.tiles += handed_on.tiles;
             })},
            {"decoupled", on_first([&] { tissue::decoupled(bench.slide, bench.found, *machine); })}};
        const auto result = bench::measure(contestants, options.plan);
        report.conditions(result);
        for (const auto& name : result.names()) {
            if (name == "one thread" && targets != most) continue;
            const auto faster = result.ratio("one thread", name).usual, than = result.ratio("decoupled", name).usual;
            const double right_behind =
                name != "published" ? std::numeric_limits<double>::quiet_NaN()
                                    : 100.0 * static_cast<double>(all.right_behind) / static_cast<double>(all.tiles);
            report.row(tiles + (name == "one thread" ? "" : std::to_string(targets) + " targets, ") + name,
                       {{"tiles_a_second", static_cast<double>(count) / result.median(name) * 1e9},
                        {"speed_up", faster.value},
                        {"low", faster.low},
                        {"high", faster.high},
                        {"times_decoupled", than.value},
                        {"least", than.low},
                        {"most", than.high},
                        {"right_behind_percent", right_behind}});
        }
    };
    for (int targets = 1; targets < most; targets *= 2) measure_on(targets);
    measure_on(most);
}

/// From TIFF tiles, and from decoded ones.
void compare_published(const Picture& picture, const Tiling& tiling, const bench::Options& options,
                       bench::Report& report) {
    try {
        Bench bench{picture, tiling, tissue::Stored::tiff};
        const std::string tiles = std::to_string(tiling.count()) + " tiles";
        compare_published(bench, tiles + ", TIFF: ", options, report);
        bench.slide.decode();
        compare_published(bench, tiles + ", TIFF, decoded: ", options, report);
    } catch (const penstock::components::PictureError& error) {
        report.note(std::string("without the way of the paper: ") + error.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "tissue",
        "tissue analysis from JPEG tiles, as filters: tiles a second on 1..N processors against one thread, oneTBB and "
        "OpenMP",
        {"tissue/speedup-2", "tissue/over-best", "tissue/over-best-small", "tissue/automatic"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 21;
    bench::Report report{about, options};
    const Picture picture = input(512, 1024, report);
    Bench few{picture, {512, 1024, 128, 128}};
    compare(few, "", options, report);
    Bench small{picture, {512, 1024, 32, 32}};
    const auto of_small = compare(small, " small", options, report);
    compare_published(picture, {512, 1024, 128, 128}, options, report);
    const std::size_t side = options.quick ? 1024 : 4096;
    const Picture large = input(side, side, report);
    Bench many{large, {side, side, 128, 128}};
    if (!options.quick) options.plan.rounds = 11;
    compare_published(large, {side, side, 128, 128}, options, report);
    bench::judge_automatic("tissue", filters(many, 1), options, report);
    const auto faster = compare(many, "", options, report);
    bench::judge_speed_up("tissue", faster, 1.8, report);
    bench::judge_over_best("tissue/over-best-small", of_small, 1.15, report);
    report.note(
        "tiles of 128 x 128 pixels, each a JPEG picture, of a tissue mirrored to the size; decoding, making and ending "
        "the graph included; small: tiles of 32 x 32; decoded: without decoding; the goals judge tiles in JPEG");
    report.note(
        "published, decoupled: CIELAB and the pattern of its luminance on the targets, one behind the other or "
        "scheduled apart; the caller does the rest; over one thread that does the same. right_behind: tiles whose "
        "pattern was found right behind CIELAB, by the thread that had made it");
    report.note(
        "every way's features, classes and overview are compared with the serial ones bit for bit, in every batch");
    return report.finish();
}
