// Which tasks failed, when no more is kept of them than that: compared with a map.
#include "penstock/detail/task/forgotten_numbers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>

#include "gtest/gtest.h"

namespace {

using penstock::ForgottenNumbers;
using How = ForgottenNumbers::How;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

TEST(ForgottenNumbers, are_those_that_were_noted_and_no_others) {
    std::mt19937_64 random(7);
    for (const std::uint64_t range : {100u, 40'000u, 4'000'000u}) {
        ForgottenNumbers numbers;
        std::map<std::uint64_t, How> expected;
        const auto untold = [&] {
            return std::count_if(expected.begin(), expected.end(),
                                 [](const auto& each) { return each.second == How::untold; });
        };
        for (int i = 0; i < 30'000; ++i) {
            const auto number = 1 + random() % range;
            const auto how = static_cast<How>(1 + random() % 3);
            numbers.note(number, how);
            expected[number] = how;
            if (i % 5000 != 0) continue;
            const auto after = random() % range, until = i % 10'000 == 0 ? no_limit : after + random() % range;
            const auto gone = std::erase_if(expected, [&](const auto& each) {
                return each.second == How::untold && each.first > after && each.first <= until;
            });
            ASSERT_EQ(numbers.take(after, until), gone);
            ASSERT_EQ(numbers.newest(), expected.empty() ? 0 : expected.rbegin()->first);
            ASSERT_EQ(numbers.untold(), untold());
        }
        for (std::uint64_t number = 1; number <= range + 100; number += 1 + number / 50'000) {
            const auto found = numbers.look(number);
            const auto known = expected.find(number);
            ASSERT_EQ(found.how, known == expected.end() ? How::none : known->second) << number;
            ASSERT_TRUE(found.sure);
        }
        EXPECT_EQ(numbers.untold(), untold());
    }
}

/// The oldest are the first of which only a span is left. None of them ever counts as a success.
TEST(ForgottenNumbers, beyond_what_has_room_err_on_the_side_of_failed) {
    ForgottenNumbers numbers;
    constexpr std::uint64_t count = 200'000, apart = 100;
    for (std::uint64_t i = 1; i <= count; ++i) numbers.note(i * apart, How::untold);
    EXPECT_EQ(numbers.untold(), count);
    EXPECT_EQ(numbers.newest(), count * apart);
    std::uint64_t sure = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
        const auto found = numbers.look(i * apart);
        ASSERT_EQ(found.how, How::untold) << i;
        sure += found.sure ? 1 : 0;
    }
    EXPECT_GE(sure, 20'000u);
    EXPECT_EQ(numbers.look(apart - 1).how, How::none);
    EXPECT_EQ(numbers.look(count * apart - 1).how, How::none) << "a success among the newer ones";
    EXPECT_FALSE(numbers.look(apart + 1).sure);
    EXPECT_EQ(numbers.take(0, no_limit), count);
    EXPECT_EQ(numbers.newest(), 0u);
    EXPECT_EQ(numbers.look(apart).how, How::none);
}

TEST(ForgottenNumbers, side_by_side_have_room_for_a_million) {
    ForgottenNumbers numbers;
    constexpr std::uint64_t count = 1'000'000;
    for (std::uint64_t i = count; i >= 1; --i)
        if (i % 2 == 0) numbers.note(i, How::told);
    for (std::uint64_t i = 1; i <= count; ++i) ASSERT_EQ(numbers.look(i).how, i % 2 == 0 ? How::told : How::none) << i;
}

}  // namespace
