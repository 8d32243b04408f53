#include "scale/recorded.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "apps/jpip/jpip.hpp"
#include "apps/lu/lu.hpp"
#include "apps/tissue/stages.hpp"
#include "harness/measure.hpp"
#include "kernels/lu.hpp"

namespace bench {
namespace {

constexpr int passes = 7;

/// Gathers the times of several passes over several kinds of work.
class Gathered {
  public:
    /// Times body(), which does `count` pieces of this kind.
    template <class Body>
    void time(std::size_t kind, double count, Body body) {
        if (kind >= kinds_.size()) kinds_.resize(kind + 1);
        const auto start = Clock::now();
        body();
        kinds_[kind].now += nanoseconds_since(start);
        kinds_[kind].count += count;
    }
    void end_pass() {
        for (Kind& kind : kinds_) {
            kind.all.push_back(kind.now / kind.count);
            kind.now = kind.count = 0;
        }
    }
    double operator[](std::size_t kind) const { return median(kinds_[kind].all); }

  private:
    struct Kind {
        double now = 0, count = 0;
        std::vector<double> all;
    };
    std::vector<Kind> kinds_;
};

}  // namespace

LuTimes record_lu() {
    namespace lu = penstock::apps::lu;
    namespace kernels = penstock::kernels::lu;
    lu::Matrix input{512, 16}, matrix{512, 16};
    lu::generate(input, 1);
    Gathered times;
    for (int pass = 0; pass < passes; ++pass) {
        matrix.copy_from(input);
        for (std::size_t k = 0; k < matrix.blocks(); ++k) {
            const auto order = static_cast<std::int32_t>(matrix.extent(k));
            const std::size_t rest = matrix.blocks() - k - 1;
            const auto each = [&](auto body) {
                for (std::size_t n = k + 1; n < matrix.blocks(); ++n) body(n);
            };
            const auto diagonal = matrix.tile(k, k);
            const auto count = static_cast<double>(rest);
            times.time(0, 1, [&] { kernels::factor<double>(diagonal, order); });
            times.time(1, count, [&] {
                each([&](std::size_t i) { kernels::bdiv<double>(diagonal, matrix.tile(i, k), order); });
            });
            times.time(2, count, [&] {
                each([&](std::size_t j) { kernels::bmodd<double>(diagonal, matrix.tile(k, j), order); });
            });
            times.time(3, count * count, [&] {
                each([&](std::size_t j) {
                    each([&](std::size_t i) {
                        kernels::bmod<double>(matrix.tile(i, k), matrix.tile(k, j), matrix.tile(i, j), order);
                    });
                });
            });
        }
        times.end_pass();
    }
    return {times[0], times[1], times[2], times[3]};
}

TissueTimes record_tissue() {
    namespace tissue = penstock::apps::tissue;
    constexpr std::size_t side = 512;
    const penstock::apps::Tiling tiling{side, side, 128, 128};
    const tissue::Slide slide{penstock::apps::spots(side, side, 1), tiling};
    tissue::Analysis found{tiling};
    tissue::TileScratch scratch;
    std::vector<std::uint8_t> file;
    Gathered times;
    for (int pass = 0; pass < passes; ++pass) {
        for (std::size_t number = 0; number < tiling.count(); ++number) {
            penstock::view<const std::uint8_t, 2> rgb;
            tissue::Features features{};
            const auto small =
                scratch.small.shaped(tissue::shrunk(tiling[number].rows), 3 * tissue::shrunk(tiling[number].columns));
            times.time(0, 1, [&] { file.assign(slide.encoded(number).begin(), slide.encoded(number).end()); });
            times.time(1, 1, [&] { rgb = tissue::decoded_tile(slide, number, scratch); });
            times.time(2, 1, [&] {
                tissue::colour_features_of(rgb, scratch.lab, std::span(features).first(tissue::colour_features));
            });
            times.time(3, 1, [&] {
                tissue::pattern_features_of(rgb, scratch.pattern, std::span(features).last(tissue::pattern_features));
            });
            times.time(4, 1, [&] { tissue::shrink(rgb, small); });
            times.time(5, 1, [&] { found.classes[number] = tissue::trained_classifier().classify(features); });
            times.time(6, 1, [&] {
                tissue::draw_tile(tiling[number], small, found.overview);
                tissue::draw_class(tiling[number], found.classes[number], found.overview);
            });
        }
        times.end_pass();
    }
    return {times[0], times[1], times[2], times[3], times[4], times[5], times[6]};
}

JpipTimes record_jpip() {
    namespace jpip = penstock::apps::jpip;
    const jpip::Scene scene{.frames = 1};
    const std::size_t rows = 2 * scene.rows, columns = 2 * scene.columns;
    const auto photograph = jpip::generated_photograph(rows, columns, scene.seed);
    const auto films = jpip::make_films(jpip::tiles, scene, {photograph.data(), {rows, columns * jpip::channels}});
    const auto mosaic = jpip::mosaic_of({scene.rows, scene.columns});
    const std::size_t bytes = mosaic.columns * jpip::channels;
    std::vector<std::uint8_t> made(mosaic.rows * bytes), kept(made.size());
    Gathered times;
    for (int pass = 0; pass < passes; ++pass) {
        times.time(0, jpip::tiles, [&] { jpip::serial(films, 1, {made.data(), {1, mosaic.rows, bytes}}); });
        times.time(1, 1, [&] { jpip::copy({made.data(), {mosaic.rows, bytes}}, {kept.data(), {mosaic.rows, bytes}}); });
        times.end_pass();
    }
    return {times[0], times[1]};
}

}  // namespace bench
