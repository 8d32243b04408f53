#include "apps/addition/addition.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "apps/addition/streams.hpp"
#include "apps/random.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::view;
using penstock::apps::Random;
using penstock::apps::Team;
using penstock::apps::Tiling;
namespace addition = penstock::apps::addition;

// rows, columns
class AdditionShapes : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(AdditionShapes, every_way_gives_the_exact_sums) {
    const auto [rows, columns] = GetParam();
    const std::size_t n = rows * columns;
    Random random{1};
    std::vector<float> a(n), b(n), expected(n);
    fill(a, nullptr, random, -1.0f, 1.0f);
    fill(b, nullptr, random, -1.0f, 1.0f);
    for (std::size_t i = 0; i < n; ++i) expected[i] = a[i] + b[i];
    const view<const float, 2> left{a.data(), {rows, columns}};
    const view<const float, 2> right{b.data(), {rows, columns}};
    const auto matrix = [&](std::vector<float>& values) { return view<float, 2>{values.data(), {rows, columns}}; };

    std::vector<float> by_one(n);
    addition::serial(left, right, matrix(by_one));
    EXPECT_EQ(by_one, expected);
    for (const int threads : {1, 2, 3}) {
        Team team{threads};
        std::vector<float> by_hand(n);
        addition::hand(left, right, matrix(by_hand), team);
        EXPECT_EQ(by_hand, expected) << threads << " threads";
    }
    Machine machine{{.targets = 1}};
    for (const Tiling tiling : {Tiling{rows, columns, 32, 64}, Tiling{rows, columns, 3, 5}}) {
        std::vector<float> by_tasks(n);
        addition::tagged(left, right, matrix(by_tasks), tiling, machine);
        EXPECT_EQ(by_tasks, expected) << tiling.tile_rows << " x " << tiling.tile_columns;
    }
    std::vector<float> by_parts(n);
    addition::split(left, right, matrix(by_parts), machine);
    EXPECT_EQ(by_parts, expected);
    for (const std::size_t rows_a_buffer : {std::size_t{0}, std::size_t{1}, std::size_t{7}, rows + 5}) {
        for (const int copies : {1, 3}) {
            std::vector<float> by_streams(n);
            addition::streamed(left, right, matrix(by_streams), rows_a_buffer, copies, machine, 1 + rows % 3);
            EXPECT_EQ(by_streams, expected) << rows_a_buffer << " rows a buffer, " << copies << " copies";
        }
        if (rows_a_buffer == 0) continue;  // of streams: the runtime's choice
        for (const int copies : {1, 3}) {
            std::vector<float> by_copies(n), in_place(n);
            addition::streamed_by_copies(left, right, matrix(by_copies), rows_a_buffer, copies, machine, 1 + rows % 3);
            EXPECT_EQ(by_copies, expected) << rows_a_buffer << " rows a buffer, " << copies << " copies";
            addition::streamed_in_place(left, right, matrix(in_place), rows_a_buffer, copies, machine, 1 + rows % 3);
            EXPECT_EQ(in_place, expected) << rows_a_buffer << " rows a buffer, " << copies << " copies";
        }
        std::vector<float> by_buffers(n);
        addition::copied(left, right, matrix(by_buffers), rows_a_buffer);
        EXPECT_EQ(by_buffers, expected) << rows_a_buffer << " rows a buffer";
    }
}

TEST(Addition, refuses_buffers_of_no_rows_where_it_is_asked_for_a_number) {
    Machine machine{{.targets = 0}};
    std::vector<float> values(4);
    const view<float, 2> matrix{values.data(), {2, 2}};
    EXPECT_THROW(addition::streamed_by_copies(matrix, matrix, matrix, 0, 1, machine), penstock::UsageError);
    EXPECT_THROW(addition::streamed_in_place(matrix, matrix, matrix, 0, 1, machine), penstock::UsageError);
}

INSTANTIATE_TEST_SUITE_P(shapes, AdditionShapes,
                         testing::Combine(testing::Values(1, 32, 33, 100), testing::Values(1, 63, 64, 130)));

}  // namespace
