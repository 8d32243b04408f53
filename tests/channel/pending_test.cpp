// The pending ring on one thread: how many tasks a claim takes.
#include "penstock/detail/channel/pending.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

class PendingAlone : public testing::Test {
  protected:
    using Ring = penstock::PendingRing<int>;
    static constexpr std::uint32_t capacity = 64;

    Ring::RecordType slots[capacity];
    Ring::DoneType done[capacity];
    Ring::CompletedType completed[1];
    Ring::ReturnedType returned[Ring::words_for(capacity)]{};
    Ring ring{slots, done, capacity, completed, 1, returned};

    void append(int tasks) {
        for (int i = 0; i < tasks; ++i) {
            ASSERT_NE(ring.reserve(), nullptr);
            ring.append();
        }
    }
    /// Claims until nothing is left, and completes what it claims.
    std::vector<std::uint32_t> sizes(std::uint32_t most, std::uint32_t share, std::uint32_t least = 1) {
        std::vector<std::uint32_t> all;
        std::uint64_t next = 1;
        while (ring.inviting()) {
            const auto claim = ring.claim(most, share, least);
            EXPECT_EQ(claim.first, next);
            next += claim.count;
            for (auto number = claim.first; number != next; ++number) ring.complete(number);
            ring.complete_claim(claim, 0);
            all.push_back(claim.count);
        }
        return all;
    }
};

using Sizes = std::vector<std::uint32_t>;

TEST_F(PendingAlone, a_claim_takes_the_share_of_what_waits_rounded_up) {
    append(7);
    EXPECT_EQ(sizes(16, 2), (Sizes{4, 2, 1}));
    EXPECT_TRUE(ring.drained());
}
TEST_F(PendingAlone, a_claim_takes_no_more_than_was_asked_for) {
    append(40);
    EXPECT_EQ(sizes(16, 1), (Sizes{16, 16, 8}));
}
TEST_F(PendingAlone, no_claimant_takes_two_while_another_could_begin_one) {
    append(4);
    EXPECT_EQ(sizes(16, 4), (Sizes{1, 1, 1, 1}));
}
TEST_F(PendingAlone, tasks_so_short_that_one_is_not_worth_a_claim_are_claimed_together) {
    append(7);
    EXPECT_EQ(sizes(16, 4, 5), (Sizes{5, 2}));
}
TEST_F(PendingAlone, a_claim_finds_nothing_where_nothing_was_appended) {
    EXPECT_FALSE(ring.inviting());
    EXPECT_EQ(ring.claim(16, 1, 16).count, 0u);
    EXPECT_EQ(ring.claim_exactly(1).count, 0u);
}

}  // namespace
