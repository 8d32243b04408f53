#include "apps/sgemv/sgemv.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::apps::Random;
using penstock::apps::Team;
namespace sgemv = penstock::apps::sgemv;

std::vector<float> values(std::size_t count, std::uint32_t seed) {
    Random random{seed};
    std::vector<float> result(count);
    fill(result, nullptr, random, -1.0f, 1.0f);
    return result;
}

// rows, columns
class SgemvShapes : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(SgemvShapes, every_way_gives_the_same_bits_close_to_float64) {
    const auto [rows, columns] = GetParam();
    const auto a = values(rows * columns, 1);
    const auto x = values(columns, 2);
    const auto y = values(rows, 3);
    auto by_one = y;
    sgemv::serial(a, x, by_one);
    EXPECT_LE(sgemv::relative_error(a, x, y, by_one), 1e-6);
    for (const int threads : {1, 2, 3}) {
        Team team{threads};
        auto by_hand = y;
        sgemv::hand(a, x, by_hand, team);
        EXPECT_EQ(by_hand, by_one) << threads << " threads";
    }
    Machine machine{{.targets = 1}};
    for (const std::size_t block : {1u, 16u, 1000u}) {
        auto by_tasks = y;
        sgemv::tagged(a, x, by_tasks, block, machine);
        EXPECT_EQ(by_tasks, by_one) << block << " rows a task";
    }
    auto by_parts = y;
    sgemv::split(a, x, by_parts, machine);
    EXPECT_EQ(by_parts, by_one);
}

INSTANTIATE_TEST_SUITE_P(shapes, SgemvShapes,
                         testing::Combine(testing::Values(1, 31, 32, 33, 200), testing::Values(1, 15, 16, 100)));

TEST(Sgemv, the_check_notices_a_wrong_row) {
    const auto a = values(40, 1);
    const auto x = values(10, 2);
    const auto y = values(4, 3);
    auto result = y;
    sgemv::serial(a, x, result);
    result[2] += 1e-3f;
    EXPECT_GT(sgemv::relative_error(a, x, y, result), 1e-5);
}

}  // namespace
