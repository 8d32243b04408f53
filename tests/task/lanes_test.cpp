// An initiator's lanes alone, with the test as the targets at their other ends.
#include "penstock/detail/task/lanes.hpp"

#include <array>
#include <vector>

#include "penstock/detail/task/ring.hpp"
#include "tests/task/support.hpp"

using namespace penstock;

namespace {

constexpr std::uint32_t depth = 2;

class LanesAlone : public testing::Test {
  protected:
    static constexpr int targets = 3;
    Machine machine{task_tests::with_targets(0)};
    Doorbell bell;
    Lanes lanes{targets};
    std::array<Consumer<TaskPayload>, targets> ends;
    std::vector<int> made;

    ~LanesAlone() override {
        for (const LaneEnd& lane : lanes)
            if (lane.ring != nullptr) lane.ring->release();
    }
    void make(int target) {
        Ring& ring = Ring::acquire(Ring::Kind::lane, 4, 0, machine.initiator(), bell, target);
        lanes[target].producer = Producer<TaskPayload>(ring.parts(Initiation::push), depth, Completion::automatic);
        lanes[target].ring = &ring;
        ends[static_cast<std::size_t>(target)] = Consumer<TaskPayload>(ring.parts(Initiation::push));
        made.push_back(target);
    }
    LaneEnd* idle() {
        return lanes.idle([this](int target) { make(target); });
    }
    Ticket issue(LaneEnd& lane) {
        EXPECT_NE(lanes.reserve(lane), nullptr);
        return lanes.publish(lane);
    }
    void run_one(const LaneEnd& lane) {
        auto& end = ends[lanes.number_of(lane)];
        ASSERT_NE(end.front(), nullptr);
        end.complete();
    }
};

TEST_F(LanesAlone, are_made_in_turn_and_idle_until_they_hold_a_task) {
    for (int target = 0; target < targets; ++target) {
        LaneEnd* const lane = idle();
        ASSERT_NE(lane, nullptr);
        EXPECT_EQ(lanes.number_of(*lane), static_cast<std::size_t>(target));
        EXPECT_TRUE(lanes.some_idle());
        issue(*lane);
    }
    EXPECT_EQ(made, (std::vector<int>{0, 1, 2}));
    EXPECT_FALSE(lanes.some_idle());
    EXPECT_EQ(idle(), nullptr);
}

TEST_F(LanesAlone, are_idle_again_once_it_was_seen_that_all_is_complete) {
    LaneEnd& lane = *idle();
    const Ticket first = issue(lane);
    const Ticket second = issue(lane);
    EXPECT_EQ(lanes.reserve(lane), nullptr) << "it is full";
    run_one(lane);
    EXPECT_TRUE(lanes.complete(lane, first));
    EXPECT_FALSE(lanes.complete(lane, second));
    run_one(lane);
    EXPECT_TRUE(lanes.complete_through(lane, second.number));
    for (int target = 0; target < targets; ++target) issue(*idle());
    EXPECT_FALSE(lanes.some_idle()) << "each was counted once";
}

TEST_F(LanesAlone, tell_which_has_the_least_to_do) {
    for (int target = 0; target < targets; ++target) make(target);
    issue(lanes[0]);
    issue(lanes[2]);
    EXPECT_EQ(lanes.least_loaded(), 1);
    issue(lanes[1]);
    EXPECT_EQ(lanes.least_loaded(), 0) << "the first among equals";
    EXPECT_EQ(lanes.least_loaded_in_turn(), 0);
    EXPECT_EQ(lanes.least_loaded_in_turn(), 1) << "in turn among equals";
    EXPECT_EQ(lanes.in_turn(), 2);
    EXPECT_EQ(lanes.in_turn(), 0);
}

}  // namespace
