// RGB to CIELAB over the tiles of a photograph, as filters in copies: 1..N processors against one thread and oneTBB's
// parallel_pipeline.
#include "apps/colour/colour.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "peers/onetbb_pipeline.hpp"
#include "peers/photograph.hpp"
#include "peers/speed_up.hpp"

namespace {

namespace colour = penstock::apps::colour;
using penstock::apps::Picture;
using penstock::apps::Tiling;

// 32 tiles, which stay in a core's own cache while they are converted
constexpr std::size_t rows = 512, columns = 1024, tile = 128;

Picture input(bench::Report& report) {
    if (const auto coffee = bench::photograph("coffee.png"))
        return penstock::apps::mirrored({coffee->rgb.data(), {coffee->rows, 3 * coffee->columns}}, rows, columns);
    report.note("the photograph was not found (scikit-image is not installed): a made picture instead");
    return penstock::apps::spots(rows, columns, 1);
}

struct Bench {
    explicit Bench(const Picture& picture)
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

#if defined(PENSTOCK_BENCH_TBB)
struct Item {
    std::size_t number = 0;
    std::vector<std::uint8_t> rgb = std::vector<std::uint8_t>(tile * tile * 3);
    std::vector<float> lab = std::vector<float>(tile * tile * 3);
    penstock::view<std::uint8_t, 2> pixels() { return {rgb.data(), {tile, 3 * tile}}; }
    penstock::view<float, 2> converted() { return {lab.data(), {tile, 3 * tile}}; }
};

colour::ChannelStatistics by_onetbb(const colour::Work& work, std::size_t passes, bool in_place,
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
    bench::run_onetbb_pipeline(in_place ? direct : through_buffers, items);
    return colour::merged(tiles);
}
#endif

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
#if defined(PENSTOCK_BENCH_TBB)
    made.onetbb = [&bench, passes, in_place, items = std::vector<Item>(8)]() mutable {
        return bench.timed([&] { return by_onetbb(bench.work, passes, in_place, items); });
    };
#endif
    return made;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"colour",
                             "RGB to CIELAB over 32 tiles of a photograph, as filters: tiles a second on 1..N "
                             "processors against one thread and oneTBB",
                             {"colour/speedup-2", "colour/over-onetbb"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    bench::Report report{about, options};
    const Picture picture = input(report);
    Bench bench{picture};
    bench::measure_speed_up(filters(bench, 1, true), "one photograph: ", options, report);
    auto both = bench::measure_speed_up(filters(bench, 32, true), "32 in a row: ", options, report);
    const auto copied = bench::measure_speed_up(filters(bench, 32, false), "32 in a row, copied: ", options, report);
    both.on_two.add(copied.on_two);
    if (both.over_onetbb) both.over_onetbb->add(*copied.over_onetbb);
    bench::judge_speed_up("colour", both, 1.9, report);
    report.note(
        "32 tiles of 128 x 128, by each way from the photograph into the result; copied: by each way into a buffer and "
        "out of another; "
        "the goals judge both; every result is compared with the bits of the serial way");
    report.note("one photograph: the graph is made, started and ended for every 32 tiles; 32 in a row: for 1,024");
    return report.finish();
}
