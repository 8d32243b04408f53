// A graph of tasks that is recorded once: replays run the same tasks in the same order, whoever runs them.
#include "penstock/recording.hpp"

#include <array>
#include <thread>
#include <vector>

#include "penstock/dependences.hpp"
#include "penstock/error.hpp"
#include "task/dependent/replay.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace penstock;
using task_tests::message_of;
using task_tests::scaled;
using task_tests::with_targets;

void add(std::span<const std::uint64_t> left, std::span<const std::uint64_t> right, std::span<std::uint64_t> sum,
         std::uint64_t salt) {
    sum[0] = sum[0] * 3 + left[0] * 5 + right[0] * 7 + salt;
}
void append_digit(std::span<std::int64_t> number, std::int32_t digit) { number[0] = number[0] * 10 + digit; }
void may_fail(std::span<int> block, const std::atomic<bool>* fails) {
    if (fails->load()) throw std::runtime_error("no more flour");
    block[0] += 1;
}
void add_one(std::span<const int> from, std::span<int> to) { to[0] = from[0] + 1; }

/// Some steps of a ring of cells, each from its neighbours.
template <class Issue>
void stencil(std::span<std::uint64_t> cells, Issue&& issue) {
    const std::size_t half = cells.size() / 2;
    for (std::uint64_t step = 0; step < 6; ++step) {
        const auto from = cells.subspan(step % 2 * half, half), to = cells.subspan((step + 1) % 2 * half, half);
        for (std::size_t i = 0; i < half; ++i)
            issue(from.subspan(i, 1), from.subspan((i + 1) % half, 1), to.subspan(i, 1), step * 100 + i);
    }
}

TEST(Recording, replays_give_what_serial_runs_give) {
    for (const int targets : {0, 1, 3}) {
        Machine machine(with_targets(targets));
        Dependences order(machine);
        std::vector<std::uint64_t> expected(32, 1), got(32, 1);
        Recording recording = order.record([&] {
            stencil(got, [&](auto left, auto right, auto sum, std::uint64_t salt) {
                order.call<add>(in(std::span<const std::uint64_t>(left)), in(std::span<const std::uint64_t>(right)),
                                inout(sum), salt);
            });
        });
        EXPECT_EQ(recording.tasks(), 96u);
        const int replays = scaled(200, 30);
        for (int i = 0; i < replays; ++i) recording.replay();
        for (int i = 0; i < replays + 1; ++i) stencil(expected, add);
        ASSERT_EQ(got, expected) << targets << " targets";
    }
}

TEST(Recording, first_replays_try_how_tasks_are_dealt_out_and_later_ones_keep_one_way) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    std::vector<std::uint64_t> expected(32, 1), got(32, 1);
    Recording recording = order.record([&] {
        stencil(got, [&](auto left, auto right, auto sum, std::uint64_t salt) {
            order.call<add>(in(std::span<const std::uint64_t>(left)), in(std::span<const std::uint64_t>(right)),
                            inout(sum), salt);
        });
    });
    stencil(expected, add);
    std::vector<std::size_t> crossings;
    for (std::uint32_t i = 0; i < Replay::replays_until_settled; ++i) {
        recording.replay();
        stencil(expected, add);
        ASSERT_EQ(got, expected) << "replay " << i + 1;
        crossings.push_back(recording.crossings());
    }
    const auto by_end = crossings[2], by_four_strips = crossings[4], by_sixteen = crossings[6];
    EXPECT_EQ(crossings[1], by_end);
    EXPECT_EQ(crossings[3], by_four_strips);
    EXPECT_EQ(crossings[5], by_sixteen);
    // Of 16 cells in a row each belongs to the other worker than the next, or four belong to one.
    EXPECT_GT(by_four_strips, 0u);
    EXPECT_GT(by_sixteen, by_four_strips);
    recording.replay();
    const auto kept = recording.crossings();
    EXPECT_TRUE(kept == by_end || kept == by_four_strips || kept == by_sixteen) << kept;
    for (int i = 0; i < 20; ++i) {
        recording.replay();
        EXPECT_EQ(recording.crossings(), kept);
    }
}

TEST(Recording, tasks_without_a_common_block_are_dealt_out_and_do_not_wait_for_one_another) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    std::array<std::int64_t, 2> numbers{};
    Recording recording = order.record([&] {
        for (std::int32_t digit = 1; digit <= 8; ++digit)
            for (auto& number : numbers) order.call<append_digit>(inout(number), digit);
    });
    EXPECT_EQ(recording.crossings(), 0u);
    EXPECT_EQ(numbers[0], 12'345'678);
    numbers = {};
    recording.replay();
    EXPECT_EQ(numbers[0], 12'345'678);
    EXPECT_EQ(numbers[1], 12'345'678);
}

TEST(Recording, a_replay_works_on_other_memory_after_rebind) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    std::vector<std::int64_t> first(4), second(4);
    Recording recording = order.record([&] {
        for (std::int32_t digit = 1; digit <= 3; ++digit)
            for (std::size_t i = 0; i < 4; ++i) order.call<append_digit>(inout(std::span(first).subspan(i, 1)), digit);
    });
    EXPECT_EQ(recording.rebind(std::span(first), std::span(second)), 12u);
    recording.replay();
    EXPECT_EQ(first, std::vector<std::int64_t>(4, 123));
    EXPECT_EQ(second, std::vector<std::int64_t>(4, 123));
    EXPECT_THROW(recording.rebind(std::span(second), std::span(first).first(2)), UsageError);
}

TEST(Recording, what_comes_after_a_failed_task_does_not_run_and_the_next_replay_runs_all) {
    for (const int targets : {0, 2}) {
        Machine machine(with_targets(targets));
        Dependences order(machine);
        std::atomic<bool> fails{false};
        int first = 0, second = 0, third = 0, other = 0;
        Recording recording = order.record([&] {
            order.call<may_fail>(inout(first), &fails);
            order.call<add_one>(in(first), out(second));
            order.call<add_one>(in(second), out(third));
            order.call([](std::span<int> block) { block[0] += 1; }, inout(other));
        });
        EXPECT_EQ(third, 3);
        fails = true;
        second = third = 0;
        const auto text = message_of<TaskFailed>([&] { recording.replay(); });
        EXPECT_NE(text.find("may_fail"), std::string::npos) << text;
        EXPECT_NE(text.find("no more flour"), std::string::npos) << text;
        EXPECT_EQ(second, 0);
        EXPECT_EQ(third, 0);
        EXPECT_EQ(other, 2);
        fails = false;
        recording.replay();
        EXPECT_EQ(first, 2);
        EXPECT_EQ(third, 4);
        EXPECT_EQ(other, 3);
    }
}

TEST(Recording, what_cannot_be_replayed_is_refused_and_the_order_goes_on) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    int block = 0;
    const auto text = message_of<UsageError>([&] {
        order.record([&] {
            order.call([](std::vector<int> given, std::span<int> to) { to[0] = given[0]; }, own(std::vector{5}),
                       out(block));
        });
    });
    EXPECT_NE(text.find("cannot be recorded"), std::string::npos) << text;
    try {
        order.wait();
    } catch (const Error&) {
    }
    int next = 0;
    order.call([](std::span<int> to) { to[0] = 3; }, out(next));
    order.wait();
    EXPECT_EQ(next, 3);
}

TEST(Recording, a_replay_inside_a_task_is_refused) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    std::int64_t number = 0;
    Recording recording = order.record([&] { order.call<append_digit>(inout(number), 1); });
    machine.call([](Recording* r) { EXPECT_THROW(r->replay(), UsageError); }, &recording);
    machine.barrier();
}

TEST(Recording, threads_may_replay_different_recordings_of_one_machine_at_once) {
    Machine machine(with_targets(2));
    std::array<std::int64_t, 3> counts{};
    std::vector<std::thread> threads;
    for (auto& count : counts) {
        threads.emplace_back([&machine, &count] {
            Dependences order(machine);
            Recording recording = order.record([&] {
                for (int i = 0; i < 10; ++i) order.call([](std::span<std::int64_t> c) { ++c[0]; }, inout(count));
            });
            for (int i = 0; i < 20; ++i) recording.replay();
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto count : counts) EXPECT_EQ(count, 210);
}

TEST(Recording, a_worker_waits_for_this_replay_however_many_there_were_before) {
    Replay replay;
    replay.tasks.resize(2);
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1} << 32, (std::uint64_t{1} << 62) - 1}) {
        replay.number = number;
        const auto first = replay.word_of(1), last = replay.word_of(2);
        EXPECT_LT(first, last);
        replay.number = number + 1;
        EXPECT_LT(last, replay.word_of(1)) << "after " << number << " replays";
    }
}

}  // namespace
