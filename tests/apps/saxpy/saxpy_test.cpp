#include "apps/saxpy/saxpy.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::apps::Random;
using penstock::apps::Team;
namespace saxpy = penstock::apps::saxpy;

std::vector<float> values(std::size_t count, std::uint32_t seed) {
    Random random{seed};
    std::vector<float> result(count);
    fill(result, nullptr, random, -1.0f, 1.0f);
    return result;
}

class SaxpySizes : public testing::TestWithParam<std::size_t> {};

TEST_P(SaxpySizes, every_way_gives_the_same_bits_within_one_ulp_of_long_double) {
    const auto x = values(GetParam(), 1);
    const auto y = values(GetParam(), 2);
    auto by_one = y;
    saxpy::serial(x, by_one, saxpy::factor);
    EXPECT_LE(saxpy::error_in_ulps(x, y, saxpy::factor, by_one), 1.0);
    for (const int threads : {1, 2, 3}) {
        Team team{threads};
        auto by_hand = y;
        saxpy::hand(x, by_hand, saxpy::factor, team);
        EXPECT_EQ(by_hand, by_one) << threads << " threads";
    }
    Machine machine{{.targets = 1}};
    for (const std::size_t part : {1u, 100u, 2048u}) {
        auto by_tasks = y;
        saxpy::tagged(x, by_tasks, saxpy::factor, part, machine);
        EXPECT_EQ(by_tasks, by_one) << "parts of " << part;
    }
    auto by_parts = y;
    saxpy::split(x, by_parts, saxpy::factor, machine);
    EXPECT_EQ(by_parts, by_one);
}

INSTANTIATE_TEST_SUITE_P(elements, SaxpySizes, testing::Values(0, 1, 2, 31, 33, 2047, 2048, 2049, 10'000));

TEST(Saxpy, the_check_notices_two_ulps_and_what_is_not_a_number) {
    const std::vector<float> x{1, 1};
    const std::vector<float> y{0, 0};
    EXPECT_GT(saxpy::error_in_ulps(x, y, 1.0f, std::vector<float>{1.0f + 3e-7f, 1}), 1.0);
    const float nothing = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(saxpy::error_in_ulps(x, y, 1.0f, std::vector<float>{nothing, 1}) <= 1.0);
}

}  // namespace
