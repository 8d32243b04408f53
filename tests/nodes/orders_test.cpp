// The set of orders that have come, against a plain one.
#include "stream/far/orders.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace penstock::streaming {
namespace {

TEST(Orders, are_those_of_a_plain_set) {
    std::mt19937 random(4);
    for (int turn = 0; turn < 200; ++turn) {
        Orders orders;
        std::set<std::uint64_t> plain;
        for (int step = 0; step < 100; ++step) {
            const std::uint64_t from = random() % 60;
            if (random() % 3 != 0) {
                EXPECT_EQ(orders.add(from), plain.insert(from).second);
                continue;
            }
            Orders::Intervals more;
            for (int i = 0; i < 3; ++i) {
                const std::uint64_t begin = random() % 60, end = begin + random() % 8;
                more.emplace_back(begin, end);
                for (auto each = begin; each < end; ++each) plain.insert(each);
            }
            orders.add(more);
        }
        std::uint64_t before = 0;
        std::size_t count = 0;
        for (const auto& [begin, end] : orders.all()) {
            EXPECT_TRUE(count == 0 || begin > before) << "two intervals touch";
            EXPECT_LT(begin, end);
            before = end;
            count += end - begin;
        }
        EXPECT_EQ(count, plain.size());
        for (std::uint64_t n = 0; n < 70; ++n) EXPECT_EQ(orders.contains(n), plain.contains(n)) << n;
    }
}

TEST(Orders, a_long_interval_costs_no_more_than_a_short_one) {
    Orders orders;
    orders.add({{0, std::uint64_t{1} << 60}});
    EXPECT_TRUE(orders.contains((std::uint64_t{1} << 60) - 1));
    EXPECT_FALSE(orders.add(12));
}

}  // namespace
}  // namespace penstock::streaming
