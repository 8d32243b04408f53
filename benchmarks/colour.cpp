// RGB to CIELAB over the tiles of a photograph, as filters in copies: 1..N processors against one thread, oneTBB's
// parallel_pipeline and OpenMP.
#include "apps/colour/colour.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "peers/photograph.hpp"
#include "peers/pipeline.hpp"
#include "peers/speed_up.hpp"

namespace {

namespace colour = penstock::apps::colour;
using penstock::apps::Picture;
using penstock::apps::Tile;

// Tiles stay in a core's own cache while they are converted.
constexpr std::size_t rows = 512, columns = 1024;

Picture input(bench::Report& report) {
    if (const auto coffee = bench::photograph("coffee.png"))
        return penstock::apps::mirrored({coffee->rgb.data(), {coffee->rows, 3 * coffee->columns}}, rows, columns);
    report.note("the photograph was not found (scikit-image is not installed): a made picture instead");
    return penstock::apps::spots(rows, columns, 1);
}

struct Bench {
    Bench(const Picture& picture, std::size_t tile)
        : lab(picture.rgb.size()), wanted(lab.size()), work{picture, {rows, columns, tile, tile}, all(lab)} {
        const colour::Work first{picture, work.tiling, all(wanted)};
        statistics = colour::serial(first);
    }
    static penstock::view<float, 2> all(std::vector<float>& values) { return {values.data(), {rows, 3 * columns}}; }

    /// Nanoseconds of body(), which gives the statistics; then compares all that came out.
    template <class Body>
    double timed(Body body) {
        std::ranges::fill(lab, 0.0f);
        const auto start = bench::Clock::now();
        const auto found = body();
        const double nanoseconds = bench::nanoseconds_since(start);
        if (lab != wanted || found.mean != statistics.mean || found.squares != statistics.squares)
            throw std::runtime_error("colour: another result than that of the serial way");
        return nanoseconds;
    }

    std::vector<float> lab, wanted;
    colour::Work work;
    colour::ChannelStatistics statistics;
};

struct Item {
    explicit Item(const Tile& tile) : shape{tile.rows, 3 * tile.columns}, rgb(shape[0] * shape[1]), lab(rgb.size()) {}

    std::size_t number = 0;
    std::array<std::size_t, 2> shape;
    std::vector<std::uint8_t> rgb;
    std::vector<float> lab;
    penstock::view<std::uint8_t, 2> pixels() { return {rgb.data(), shape}; }
    penstock::view<float, 2> converted() { return {lab.data(), shape}; }
};

colour::ChannelStatistics by(bench::Rival rival, const colour::Work& work, std::size_t passes, bool in_place,
                             std::vector<Item>& items) {
    std::size_t next = 0;
    std::vector<colour::ChannelStatistics> tiles(work.tiling.count());
    const auto number = [&](Item& item) {
        if (next == passes * tiles.size()) return false;
        item.number = next++ % tiles.size();
        return true;
    };
    const bench::Pipeline<Item> direct{
        number, {[&](Item& item) { colour::convert_tile(work, item.number, tiles[item.number]); }}, [](Item&) {}};
    const bench::Pipeline<Item> through_buffers{
        [&](Item& item) {
            if (!number(item)) return false;
            colour::read_tile(work, item.number, item.pixels());
            return true;
        },
        {[&](Item& item) {
            penstock::kernels::rgb_to_lab_with_statistics(item.pixels(), item.converted(), {&tiles[item.number], 1});
        }},
        [&](Item& item) { colour::place_tile(work, item.number, item.converted()); }};
    bench::run_by(rival, in_place ? direct : through_buffers, items);
    return colour::merged(tiles);
}

/// `in_place`: from the photograph into the result; else a tile is copied into a buffer, and the result out of another,
/// by all ways.
bench::Filters filters(Bench& bench, std::size_t passes, bool in_place) {
    bench::Filters made;
    made.unit = "tiles";
    made.units = static_cast<double>(passes * bench.work.tiling.count());
    made.serial = [&bench, passes, once = in_place ? colour::direct : colour::serial] {
        return bench.timed([&] {
            for (std::size_t pass = 1; pass < passes; ++pass) once(bench.work);
            return once(bench.work);
        });
    };
    made.streamed = [&bench, passes, run = in_place ? colour::streamed_in_place : colour::streamed](
                        penstock::Machine& machine, int processors) {
        return bench.timed([&] { return run(bench.work, machine, processors, passes); });
    };
    made.rival = [&bench, passes, in_place,
                  items = std::vector<Item>(8, Item{bench.work.tiling[0]})](bench::Rival rival) mutable {
        return bench.timed([&] { return by(rival, bench.work, passes, in_place, items); });
    };
    return made;
}

/// Many photographs in a row: from the photograph into the result, and through buffers. Both are judged.
bench::SpeedUp in_a_row(Bench& bench, const std::string& size, const bench::Options& options, bench::Report& report) {
    auto both = bench::measure_speed_up(filters(bench, 32, true), "32 in a row" + size + ": ", options, report);
    both.add(bench::measure_speed_up(filters(bench, 32, false), "32 in a row" + size + ", copied: ", options, report));
    return both;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"colour",
                             "RGB to CIELAB over the tiles of a photograph, as filters: tiles a second on 1..N "
                             "processors against one thread, oneTBB and OpenMP",
                             {"colour/speedup-2", "colour/over-best", "colour/over-best-small"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    bench::Report report{about, options};
    const Picture picture = input(report);
    Bench large{picture, 128}, small{picture, 32};
    bench::measure_speed_up(filters(large, 1, true), "one photograph: ", options, report);
    bench::judge_speed_up("colour", in_a_row(large, "", options, report), 1.9, report);
    bench::judge_over_best("colour/over-best-small", in_a_row(small, ", small", options, report), 1.15, report);
    report.note(
        "32 tiles of 128 x 128, or 512 small ones of 32 x 32, by each way from the photograph into the result; copied: "
        "by each way into a buffer and out of another; the goals judge both; every result is compared with the bits of "
        "the serial way");
    report.note("one photograph: the graph is made, started and ended for each; 32 in a row: once for all of them");
    return report.finish();
}
