// Sixteen films in motion JPEG decoded, made smaller and laid side by side, as filters: 1..N processors against one
// thread, oneTBB and OpenMP.
#include "apps/jpip/jpip.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/shrink.hpp"
#include "peers/photograph.hpp"
#include "peers/pipeline.hpp"
#include "peers/speed_up.hpp"

namespace {

namespace jpip = penstock::apps::jpip;
using penstock::view;
using penstock::apps::JpegDecoder;
using penstock::apps::PictureSize;
using Bytes = std::vector<std::uint8_t>;

constexpr int divisor = 1;  // frames are decoded in full size

/// The films as JPEG files in a folder of the build, where they are made at first use.
jpip::Films films(const jpip::Scene& scene, bench::Report& report) {
    const auto retina = bench::photograph("retina.jpg");
    if (!retina)
        report.note("the photograph was not found (scikit-image is not installed): the films show a made one instead");
    const auto folder =
        std::filesystem::path(PENSTOCK_BENCH_FILMS) / ((retina ? "retina-" : "made-") + std::to_string(scene.frames));
    try {
        return jpip::load(folder, jpip::tiles, scene.frames);
    } catch (const std::runtime_error&) {
        const Bytes made =
            retina ? retina->rgb : jpip::generated_photograph(2 * scene.rows, 2 * scene.columns, scene.seed);
        const std::size_t rows = retina ? retina->rows : 2 * scene.rows,
                          columns = retina ? retina->columns : 2 * scene.columns;
        jpip::save(jpip::make_films(jpip::tiles, scene, {made.data(), {rows, columns * jpip::channels}}), folder);
    }
    return jpip::load(folder, jpip::tiles, scene.frames);
}

struct Bench {
    explicit Bench(jpip::Films of) : films{std::move(of)} {
        const PictureSize mosaic = jpip::mosaic_of(JpegDecoder().size(films.file(0, 0)));
        extents = {films.frames, mosaic.rows, mosaic.columns * jpip::channels};
        wanted.resize(extents[0] * extents[1] * extents[2]);
        found.resize(wanted.size());
        jpip::serial(films, divisor, {wanted.data(), extents});
    }
    view<std::uint8_t, 3> result() { return {found.data(), extents}; }

    /// Nanoseconds of body(), which fills `found`; then compares all that came out.
    template <class Body>
    double timed(Body body) {
        std::ranges::fill(found, std::uint8_t{0});
        const auto start = bench::Clock::now();
        body();
        const double nanoseconds = bench::nanoseconds_since(start);
        if (found != wanted) throw std::runtime_error("jpip: other bytes than those of the serial way");
        return nanoseconds;
    }

    jpip::Films films;
    std::array<std::size_t, 3> extents{};
    Bytes wanted, found;
};

struct Item {
    std::size_t film = 0, frame = 0;
    JpegDecoder decoder;
    PictureSize size;
    Bytes memory;

    view<std::uint8_t, 2> rgb() { return {memory.data(), {size.rows, size.columns * jpip::channels}}; }
};

void by(bench::Rival rival, Bench& bench, std::vector<Item>& items) {
    const jpip::Films& films = bench.films;
    std::size_t next = 0;
    const bench::Pipeline<Item> pipeline{[&](Item& item) {
                                             item.film = next % films.count;
                                             item.frame = next++ / films.count;
                                             return item.frame < films.frames;
                                         },
                                         {[&](Item& item) {
                                              const auto file = films.file(item.film, item.frame);
                                              item.size = item.decoder.size(file, divisor);
                                              item.memory.resize(item.size.rows * item.size.columns * jpip::channels);
                                              item.decoder.decode(file, item.rgb(), divisor);
                                          },
                                          [&](Item& item) {
                                              // Tiles do not overlap: each goes straight to its place.
                                              const view<std::uint8_t, 2> mosaic{
                                                  bench.found.data() + item.frame * bench.extents[1] * bench.extents[2],
                                                  {bench.extents[1], bench.extents[2]}};
                                              penstock::kernels::shrink(item.rgb(), jpip::tile_in(mosaic, item.film),
                                                                        jpip::smaller / divisor, jpip::channels);
                                          }},
                                         [](Item&) {}};
    bench::run_by(rival, pipeline, items);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"jpip",
                             "sixteen films in motion JPEG side by side, as filters: frames a second on 1..N "
                             "processors against one thread, oneTBB and OpenMP",
                             {"jpip/speedup-2", "jpip/over-best", "jpip/automatic"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 15;
    bench::Report report{about, options};
    Bench bench{films({.frames = options.quick ? 1u : 8u}, report)};
    bench::Filters filters;
    filters.unit = "frames";
    filters.units = static_cast<double>(bench.films.count * bench.films.frames);
    filters.serial = [&] { return bench.timed([&] { jpip::serial(bench.films, divisor, bench.result()); }); };
    filters.streamed = [&](penstock::Machine& machine, int processors) {
        return bench.timed([&] { jpip::streams(bench.films, divisor, bench.result(), machine, processors); });
    };
    std::vector<Item> items(8);
    filters.rival = [&](bench::Rival rival) { return bench.timed([&] { by(rival, bench, items); }); };
    const auto faster = bench::measure_speed_up(filters, "", options, report);
    bench::judge_speed_up("jpip", faster, 1.8, report);
    bench::judge_automatic("jpip", filters, options, report);
    report.note(
        "films of 1280 x 720 from a window that moves over retina.jpg; 16 frames make one picture on the screen; "
        "decoding, "
        "making and "
        "ending the graph included");
    report.note("every way's mosaics are compared with the serial ones byte for byte, in every batch");
    return report.finish();
}
