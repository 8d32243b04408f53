#include "apps/radix/radix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../ranks.hpp"

namespace {

using penstock::apps::radix::Key;
using penstock::apps::radix::Problem;
using penstock::apps::radix::Variant;
namespace kernel = penstock::kernels::radix;
namespace radix = penstock::apps::radix;

std::vector<Key> sorted(std::span<const Key> keys) {
    std::vector<Key> result(keys.begin(), keys.end());
    std::ranges::sort(result);
    return result;
}

/// Keys of every kind that a sort may stumble over.
struct Kind {
    const char* name;
    std::function<void(std::span<Key>)> make;
};
const Kind kinds[] = {
    {"random", [](std::span<Key> keys) { radix::generate(keys, 7); }},
    {"equal", [](std::span<Key> keys) { std::ranges::fill(keys, 0x12345678u); }},
    {"sorted",
     [](std::span<Key> keys) {
         for (Key i = 0; Key & key : keys) key = i++ * 77'777;
     }},
    {"descending",
     [](std::span<Key> keys) {
         for (Key i = 0xffffffff; Key & key : keys) key = i--;
     }},
    {"of two values",
     [](std::span<Key> keys) {
         for (Key i = 0; Key & key : keys) key = i++ % 3 == 0 ? 0 : 0xffffffff;
     }},
};

TEST(RadixKernels, count_every_digit_of_every_round) {
    const std::vector<Key> keys{0x01020304, 0x01020305, 0xff020304};
    EXPECT_EQ(kernel::count(keys, 0)[4], 2u);
    EXPECT_EQ(kernel::count(keys, 0)[5], 1u);
    EXPECT_EQ(kernel::count(keys, 1)[3], 3u);
    EXPECT_EQ(kernel::count(keys, 3)[1], 2u);
    EXPECT_EQ(kernel::count(keys, 3)[0xff], 1u);
}

TEST(RadixKernels, whole_lines_hold_the_same_keys_as_single_ones_and_never_reach_over_a_line) {
    std::vector<Key> keys(5'000), one_by_one(6'000), by_lines(6'000);
    radix::generate(keys, 3);
    kernel::Table next{};
    std::uint32_t place = 3;
    const kernel::Table counts = kernel::count(keys, 2);
    for (std::size_t d = 0; d < kernel::digits; ++d) next[d] = std::exchange(place, place + counts[d]);
    kernel::Table other = next;
    kernel::scatter(keys, 2, next, one_by_one.data());
    kernel::scatter_lines(keys, 2, other, [&](std::size_t first, std::span<const Key> gathered) {
        ASSERT_FALSE(gathered.empty());
        EXPECT_EQ(first / kernel::line, (first + gathered.size() - 1) / kernel::line);
        for (const Key key : gathered) {
            EXPECT_EQ(by_lines[first], 0u) << "stored twice";
            by_lines[first++] = key;
        }
    });
    EXPECT_EQ(by_lines, one_by_one);
    EXPECT_EQ(other, next);
}

TEST(Radix, one_thread_sorts_as_the_standard_library) {
    for (const auto& kind : kinds)
        for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 4'099u}) {
            std::vector<Key> keys(n), result(n);
            kind.make(keys);
            radix::serial(keys, result);
            EXPECT_EQ(result, sorted(keys)) << n << " keys, " << kind.name;
        }
}

class RadixRanks : public app_tests::RanksTest {
  protected:
    static void sort_and_compare(const Problem& problem, int ranks, Variant variant, const std::string& what) {
        std::ranges::fill(problem.sorted.span(), 0xdeadbeefu);
        EXPECT_GT(radix::parallel(problem, variant, on(ranks)), 0.0);
        const std::vector<Key> result(problem.sorted.span().begin(), problem.sorted.span().end());
        EXPECT_EQ(result, sorted(problem.keys.span())) << what << ", " << ranks << " ranks, " << radix::name(variant);
    }
};

TEST_P(RadixRanks, sort_as_the_standard_library) {
    for (const auto& kind : kinds)
        for (const std::size_t n : {1u, 17u, 33u, 4'099u}) {
            const Problem problem{n};
            kind.make(problem.keys.span());
            for (const int ranks : {1, 2, 3})
                for (const auto variant : radix::variants)
                    sort_and_compare(problem, ranks, variant, std::to_string(n) + " keys, " + kind.name);
        }
}

TEST_P(RadixRanks, sort_a_million_keys) {
    const Problem problem{std::size_t{1} << 20};
    radix::generate(problem.keys.span(), 1);
    for (const auto variant : radix::variants) sort_and_compare(problem, 2, variant, "2^20 keys");
}

// Every digit of these rounds has keys at one rank only, at the border between two, or at all of them.
TEST_P(RadixRanks, sort_digits_whose_places_lie_at_several_ranks) {
    for (const Key values : {1u, 2u, 3u, 5u}) {
        const Problem problem{1'000};
        for (Key i = 0; Key & key : problem.keys.span()) key = i++ % values * 0x01010101u;
        for (const int ranks : {2, 3, 4, 7})
            for (const auto variant : radix::variants)
                sort_and_compare(problem, ranks, variant, std::to_string(values) + " values");
    }
}

TEST_P(RadixRanks, have_nothing_to_do_where_there_are_more_of_them_than_lines) {
    const Problem problem{20};
    radix::generate(problem.keys.span(), 1);
    for (const auto variant : radix::variants) sort_and_compare(problem, 5, variant, "20 keys");
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(RadixRanks);

void sort_as_one_thread(penstock::Rank me) {
    for (const std::size_t n : {100, 50'000}) {
        Problem problem(n);
        radix::generate(problem.keys.span(), 5);
        const auto right = sorted(problem.keys.span());
        const auto lines = (n + kernel::line - 1) / kernel::line, ranks = static_cast<std::size_t>(me.size());
        const auto each = (lines + ranks - 1) / ranks * kernel::line, index = static_cast<std::size_t>(me.index());
        for (const auto variant : {Variant::push, Variant::push_lines}) {
            std::ranges::fill(problem.sorted.span(), Key{7});
            radix::of_rank(me, problem, variant);
            for (auto i = std::min(n, index * each); i < std::min(n, (index + 1) * each); ++i)
                app_tests::expect_in_rank(problem.sorted[i] == right[i], "key " + std::to_string(i));
        }
    }
    try {
        radix::of_rank(me, Problem(10), Variant::shared);
        app_tests::expect_in_rank(false, "it needs shared memory");
    } catch (const penstock::UsageError&) {
    }
}

TEST_OVER_NODES(RadixNodes, 4, &sort_as_one_thread)

}  // namespace
