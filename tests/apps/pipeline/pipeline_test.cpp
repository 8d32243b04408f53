#include "apps/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "apps/gallery.hpp"
#include "apps/pipeline/chains.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::view;
using penstock::apps::Random;
using penstock::apps::Team;
using penstock::apps::Tiling;
namespace pipeline = penstock::apps::pipeline;
using Pixels = std::vector<float>;

Pixels random_pixels(std::size_t count, std::uint32_t seed) {
    Random random{seed};
    Pixels pixels(count);
    fill(pixels, nullptr, random, 0.0f, 1.0f);
    return pixels;
}

// Two images, and memory of their size.
struct Frame {
    Frame(std::size_t r, std::size_t c, std::uint32_t seed)
        : rows{r}, columns{c}, first{random_pixels(r * c, seed)}, second{random_pixels(r * c, seed + 1)} {}

    view<float, 2> shaped(Pixels& pixels) const {
        pixels.resize(rows * columns);
        return {pixels.data(), {rows, columns}};
    }
    pipeline::Images into(Pixels& result) { return {shaped(first), shaped(second), shaped(result)}; }
    Pixels serially(const pipeline::Work& work) {
        Pixels result;
        pipeline::serial(work, into(result), {shaped(greater), shaped(filtered)});
        return result;
    }

    std::size_t rows, columns;
    Pixels first, second, greater, filtered;
};

// A filter that sharpens unevenly, and a map that turns, shears, and leaves the image on one side.
pipeline::Work uneven() {
    return {{{0.1f, -0.7f, 0.2f, -1.1f, 5.3f, -0.9f, 0.3f, -0.8f, -0.4f}}, {{0.83, 0.41, -7.3, -0.52, 1.17, 5.9}}};
}

// rows and columns of the image
using Shape = std::tuple<std::size_t, std::size_t>;
class PipelineShapes : public testing::TestWithParam<Shape> {};

TEST_P(PipelineShapes, every_way_gives_the_same_bits_close_to_float64) {
    const auto [rows, columns] = GetParam();
    Frame frame{rows, columns, 1};
    Machine machine{{.targets = 1}};
    Team team{2};
    for (const pipeline::Work& work : {uneven(), pipeline::smooth_and_turn(rows, columns)}) {
        Pixels by_one = frame.serially(work);
        EXPECT_LE(pipeline::relative_error(work, frame.into(by_one), 1), 5e-6);
        for (const Tiling tiling :
             {Tiling{rows, columns, 16, 48}, Tiling{rows, columns, 64, 64}, Tiling{rows, columns, 5, 7}}) {
            Pixels by_hand, by_tasks, by_chains;
            pipeline::hand(work, frame.into(by_hand), tiling, team);
            EXPECT_EQ(by_hand, by_one) << "hand, " << tiling.tile_rows << " x " << tiling.tile_columns;
            Pixels greater, filtered;
            pipeline::tagged(work, frame.into(by_tasks), {frame.shaped(greater), frame.shaped(filtered)}, tiling,
                             machine);
            EXPECT_EQ(by_tasks, by_one) << "tagged, " << tiling.tile_rows << " x " << tiling.tile_columns;
            const pipeline::TileChains chains{work, tiling};
            chains.issue(frame.into(by_chains), machine);
            machine.barrier();
            EXPECT_EQ(by_chains, by_one) << "chains, " << tiling.tile_rows << " x " << tiling.tile_columns;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(shapes, PipelineShapes,
                         testing::Values(Shape{1, 1}, Shape{1, 40}, Shape{40, 1}, Shape{2, 2}, Shape{16, 48},
                                         Shape{70, 90}, Shape{129, 66}));

TEST(Pipeline, that_neither_filters_nor_moves_gives_the_greater_of_both_images) {
    Frame frame{30, 50, 3};
    Pixels result = frame.serially({{{0, 0, 0, 0, 1, 0, 0, 0, 0}}, {}});
    for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_EQ(result[i], std::max(frame.first[i], frame.second[i])) << i;
}

TEST(Pipeline, that_turns_upside_down_and_sums_up_gives_sums_from_below) {
    Frame frame{4, 5, 0};
    frame.first = Pixels(20, 0.0f);
    frame.second = Pixels(20, -1.0f);
    frame.first[1 * 5 + 2] = 1;
    const Pixels result = frame.serially({{{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{-1, 0, 3, 0, 1, 0}}});
    const Pixels expected{0, 0,  0,  0, 0,   //
                          0, 3,  2,  1, 0,   //
                          0, 6,  5,  4, 0,   //
                          0, 12, 10, 8, 0};  // row 1 lies above the first one, too, reflected
    EXPECT_EQ(result, expected);
}

TEST(TileChains, serve_for_any_number_of_images) {
    const pipeline::Work work = uneven();
    const pipeline::TileChains chains{work, Tiling{70, 90, 16, 16}};
    Machine machine{{.targets = 2}};
    std::vector<Frame> film;
    for (std::uint32_t seed = 0; seed < 5; ++seed) film.emplace_back(70, 90, 10 * seed);
    std::vector<Pixels> results(film.size());
    for (std::size_t i = 0; i < film.size(); ++i) chains.issue(film[i].into(results[i]), machine);
    machine.barrier();
    for (std::size_t i = 0; i < film.size(); ++i) EXPECT_EQ(results[i], film[i].serially(work)) << "image " << i;
}

TEST(TileChains, are_shared_by_tiles_that_need_parts_of_one_size) {
    const pipeline::Work still{{{0, 0, 0, 0, 1, 0, 0, 0, 0}}, {}};
    const pipeline::TileChains chains{still, Tiling{160, 160, 16, 16}};
    EXPECT_LE(chains.size(), 25u);  // first, second, inner, last but one, last: by rows and by columns
    EXPECT_LE(chains.local_bytes(), 24u * 24u * 4u * 2u);
    EXPECT_GE(chains.local_bytes(), 17u * 17u * 4u * 2u);
}

TEST(Pipeline, a_wrong_pixel_is_noticed_by_the_check) {
    Frame frame{30, 50, 3};
    Pixels result = frame.serially(uneven());
    result[100] += 1e-3f;
    EXPECT_GT(pipeline::relative_error(uneven(), frame.into(result), 1), 5e-6);
}

TEST(PipelineApp, refuses_tiles_whose_parts_no_local_store_holds) {
    Machine machine{{.targets = 1, .local_store = 64 * 1024}};
    penstock::apps::Settings settings{
        .rows = 300, .columns = 300, .block_rows = 100, .block_columns = 100, .repetitions = 1, .inputs = {}};
    try {
        run(penstock::apps::find_app("pipeline"), machine, settings);
        FAIL() << "tiles of 100 x 100 fit 64 KiB";
    } catch (const penstock::apps::SettingError& error) {
        EXPECT_EQ(error.setting(), "block_rows");
    }
    settings.block_rows = settings.block_columns = 50;
    EXPECT_TRUE(run(penstock::apps::find_app("pipeline"), machine, settings).ok());
}

}  // namespace
