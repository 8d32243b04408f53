// Ways that part and meet again, with copies that overtake one another on each.
#include <gtest/gtest.h>

#include <tuple>

#include "penstock/penstock.hpp"
#include "stream/parts.hpp"

using namespace penstock;

namespace {

using parts::Numbers;
using parts::PassOn;

/// Writes nothing for every fifth.
struct LeaveOut {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        if (buffer[0] % 5 != 4) out.write(std::move(buffer));
    }
};

/// Now and then slow, so that others overtake it.
struct Uneven {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        volatile int spent = 0;
        for (int i = 0; i < buffer[0] % 7 * 300; ++i) spent = spent + 1;
        out.write(std::move(buffer));
    }
};

/// Much more at both outputs in each firing than the streams take.
struct Both {
    Output<int> left{"left"}, right{"right"};
    int next = 0;
    bool operator()() {
        for (int i = 0; i < 40; ++i, ++next) {
            for (auto* const out : {&left, &right}) {
                auto buffer = out->make(1);
                buffer.edit()[0] = next;
                out->write(std::move(buffer));
            }
        }
        return next < 2'000;
    }
};

struct Meet {
    Input<int> left{"left"}, right{"right"};
    int met = 0, greatest = -1;
    bool alike = true, in_order = true;
    void operator()() {
        const auto first = left.read(), second = right.read();
        alike = alike && first[0] == second[0];
        in_order = in_order && first[0] > greatest;
        greatest = first[0];
        ++met;
    }
};

}  // namespace

// targets, copies
class Diamond : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Diamond, ordered_ways_of_small_capacity_meet_in_step_and_never_block_one_another) {
    const auto [targets, copies] = GetParam();
    Machine machine{{.targets = targets}};
    for (const std::size_t capacity : {1, 2, 8}) {
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {}, 2'000);
        auto& part = graph.add<PassOn>("part", {.copies = copies});
        auto& left = graph.add<PassOn>("left", {.copies = copies});
        auto& right = graph.add<Uneven>("right", {.copies = copies});
        auto& meet = graph.add<Meet>("meet");
        graph.connect(numbers.out, part.in, {.capacity = capacity});
        graph.connect(part.out, left.in, {.capacity = capacity});
        graph.connect(part.out, right.in, {.capacity = capacity});
        graph.connect(left.out, meet.left, {.capacity = capacity, .ordered = true});
        graph.connect(right.out, meet.right, {.capacity = capacity, .ordered = true});
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(meet.met, 2'000);
        EXPECT_TRUE(meet.alike && meet.in_order);
    }
}

TEST_P(Diamond, what_was_left_out_before_the_ways_part_is_waited_for_on_none) {
    const auto [targets, copies] = GetParam();
    Machine machine{{.targets = targets}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 2'000);
    auto& leave_out = graph.add<LeaveOut>("leave out", {.copies = copies});
    auto& left = graph.add<PassOn>("left", {.copies = copies});
    auto& right = graph.add<Uneven>("right", {.copies = copies});
    auto& meet = graph.add<Meet>("meet");
    graph.connect(numbers.out, leave_out.in);
    graph.connect(leave_out.out, left.in);
    graph.connect(leave_out.out, right.in);
    graph.connect(left.out, meet.left, {.ordered = true});
    graph.connect(right.out, meet.right, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(meet.met, 1'600);
    EXPECT_TRUE(meet.alike && meet.in_order);
}

TEST_P(Diamond, an_output_that_has_no_room_holds_the_other_one_back_at_no_reader_of_both) {
    const auto [targets, copies] = GetParam();
    Machine machine{{.targets = targets}};
    for (const std::size_t capacity : {1, 2, 8}) {
        Graph graph;
        auto& both = graph.add<Both>("both");
        auto& right = graph.add<Uneven>("right", {.copies = copies});
        auto& meet = graph.add<Meet>("meet");
        graph.connect(both.left, meet.left, {.capacity = capacity});
        graph.connect(both.right, right.in, {.capacity = capacity});
        graph.connect(right.out, meet.right, {.capacity = capacity, .ordered = true});
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(meet.met, 2'000);
        EXPECT_TRUE(meet.alike && meet.in_order);
    }
}

INSTANTIATE_TEST_SUITE_P(machines, Diamond, testing::Combine(testing::Values(1, 2), testing::Values(2, 5)));
