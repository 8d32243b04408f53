// An initiator's deque alone: which ring a claimant is shown.
#include "penstock/detail/task/deque.hpp"

#include <memory>
#include <vector>

#include "tests/task/support.hpp"

using namespace penstock;

namespace {

using Look = Deque::Look;

/// A deque that no machine looks at; its rings name another initiator as their owner, which is never asked.
class DequeAlone : public testing::Test {
  protected:
    Machine machine{task_tests::with_targets(0)};
    MachineBoard board;
    Doorbell bell;
    std::unique_ptr<Deque> deque = std::make_unique<Deque>(machine.initiator(), bell, board, 3, nullptr);

    Ring& open(int only_target = Deque::any_target, bool urgent = false) {
        return *deque->open(4, only_target, urgent);
    }
    static void append(Ring& ring) {
        ASSERT_NE(ring.pending().reserve(), nullptr);
        ring.pending().append();
    }
};

TEST_F(DequeAlone, shows_the_first_open_ring_that_has_a_task) {
    Ring& first = open();
    Ring& second = open();
    EXPECT_EQ(deque->inviting(0, Look::everything), nullptr);
    append(second);
    EXPECT_EQ(deque->inviting(0, Look::everything), &second);
    append(first);
    EXPECT_EQ(deque->inviting(0, Look::everything), &first);
    std::uint32_t place = 0;
    EXPECT_EQ(deque->inviting(0, Look::everything, first.place + 1, &place), &second);
    EXPECT_EQ(place, second.place);
}

TEST_F(DequeAlone, shows_what_is_for_one_target_to_that_one_only) {
    append(open(1));
    EXPECT_EQ(deque->inviting(0, Look::everything), nullptr);
    EXPECT_EQ(deque->inviting(Deque::any_target, Look::everything), nullptr);
    EXPECT_NE(deque->inviting(1, Look::everything), nullptr);
}

TEST_F(DequeAlone, keeps_the_order_of_named_tasks_wherever_a_look_begins) {
    Ring& older = open(1);
    append(older);
    Ring& younger = open(1);
    append(younger);
    EXPECT_EQ(deque->inviting(1, Look::everything, younger.place), &older);
}

TEST_F(DequeAlone, tells_urgent_tasks_from_normal_ones_and_counts_their_rings) {
    Ring& normal = open();
    append(normal);
    Ring& urgent = open(Deque::any_target, true);
    append(urgent);
    EXPECT_EQ(board.urgent.load(), 1u);
    EXPECT_EQ(deque->inviting(0, Look::urgent), &urgent);
    EXPECT_EQ(deque->inviting(0, Look::normal), &normal);
    deque->close(urgent);
    EXPECT_EQ(board.urgent.load(), 0u);
    EXPECT_EQ(deque->inviting(0, Look::urgent), nullptr);
}

TEST_F(DequeAlone, opens_a_closed_ring_again_where_it_fits) {
    Ring& ring = open();
    deque->close(ring);
    EXPECT_NE(&open(2), &ring);
    EXPECT_EQ(&open(), &ring);
    EXPECT_NE(&open(), &ring);
    std::size_t rings = 0;
    deque->each([&](Ring&) { ++rings; });
    EXPECT_EQ(rings, 3u);
}

TEST_F(DequeAlone, has_so_many_rings_and_no_more) {
    for (std::uint32_t i = 0; i < Deque::max_rings; ++i) {
        Ring* const ring = deque->open(1, Deque::any_target, false);
        ASSERT_NE(ring, nullptr);
        if (i + 1 == Deque::max_rings) append(*ring);
    }
    EXPECT_EQ(deque->open(1, Deque::any_target, false), nullptr);
    EXPECT_EQ(deque->add(Ring::Kind::dependent, 1), nullptr);
    EXPECT_NE(deque->inviting(0, Look::everything), nullptr) << "also the last one is looked at";
}

}  // namespace
