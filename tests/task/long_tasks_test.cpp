// Graphs of long tasks: the task with the longest way to the end behind it goes first.
#include <array>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "penstock/dependences.hpp"
#include "penstock/error.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace penstock;
using task_tests::eventually;
using task_tests::Gate;
using task_tests::scaled;
using task_tests::with_targets;

/// So long that the order of what is ready is worth a thought.
void take_long() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
}

/// The numbers of tasks in the order in which they began.
struct Begun {
    std::array<std::atomic<int>, 1000> numbers{};
    std::atomic<std::size_t> count{0};
    void note(int number) { numbers[count.fetch_add(1)] = number; }
    std::size_t place_of(int number) const {
        std::size_t place = 0;
        while (place < count && numbers[place] != number) ++place;
        return place;
    }
};
void note_long(std::span<const int>, std::span<int>, Begun* begun, int number) {
    begun->note(number);
    take_long();
}
void hold(std::atomic<bool>* begun, const Gate* gate) {
    *begun = true;
    gate->wait();
}

TEST(LongTasks, go_along_the_critical_path_first) {
    Machine machine(with_targets(1));
    Gate gate;
    std::atomic<bool> held{false};
    machine.on(0).call<hold>(&held, &gate);  // so that this thread runs all others, one after the other
    ASSERT_TRUE(eventually([&] { return held.load(); }));
    Dependences order(machine);
    Begun begun;
    constexpr int steps = 12, on_each_side = 5;
    std::vector<int> way(steps + 1), beside(steps * 2 * on_each_side);
    const auto one = [](std::vector<int>& blocks, int i) {
        return std::span(blocks).subspan(static_cast<std::size_t>(i), 1);
    };
    int last_beside = 0;
    const auto issue_beside = [&](int step) {
        for (int i = 0; i < on_each_side; ++i, ++last_beside)
            order.call<note_long>(in(one(way, step)), out(one(beside, last_beside)), &begun, 1000 + last_beside);
    };
    order.call<note_long>(in(std::span<int>{}), out(one(way, 0)), &begun, 0);
    for (int step = 0; step < steps; ++step) {
        issue_beside(step);
        order.call<note_long>(in(one(way, step)), out(one(way, step + 1)), &begun, step + 1);
        issue_beside(step);
    }
    order.wait();
    gate.open();
    machine.barrier();
    // A few run before it is known that they are long; from then on nothing comes between two steps of the longest way.
    const auto first = begun.place_of(1);
    EXPECT_LT(first, 10u);
    // (The last step is as near to the end as all those beside the way.)
    for (int step = 2; step < steps; ++step)
        EXPECT_EQ(begun.place_of(step), first + static_cast<std::size_t>(step) - 1) << "step " << step;
    EXPECT_EQ(begun.count.load(), static_cast<std::size_t>(1 + steps + last_beside));
}

struct Foreign {
    std::atomic<bool> asked{false}, issued{false};
    std::atomic<int> done{0}, done_before{-1};
};
void note_done(std::span<int>, Foreign* foreign) {
    take_long();
    if (foreign->done.fetch_add(1) < 20) return;
    foreign->asked = true;
    eventually([&] { return foreign->issued.load(); }, std::chrono::seconds(60));
}
void note_foreign(std::span<int>, Foreign* foreign) { foreign->done_before = foreign->done.load(); }

TEST(LongTasks, do_not_keep_those_of_another_thread_out) {
    Machine machine(with_targets(1));
    Foreign foreign;
    constexpr int tasks = 300;
    std::thread other([&] {
        Dependences order(machine);
        int block = 0;
        eventually([&] { return foreign.asked.load(); }, std::chrono::seconds(60));
        order.call<note_foreign>(inout(block), &foreign);
        foreign.issued = true;
        // It does not help: only the target can run the task.
        EXPECT_TRUE(eventually([&] { return foreign.done_before >= 0; }, std::chrono::seconds(60)));
        order.wait();
    });
    Dependences order(machine);
    std::vector<int> blocks(tasks);
    for (int& block : blocks) order.call<note_done>(inout(block), &foreign);
    order.wait();
    other.join();
    EXPECT_EQ(foreign.done.load(), tasks);
    EXPECT_LT(foreign.done_before.load(), tasks - 100);
}

void mix(std::span<const std::uint64_t> a, std::span<std::uint64_t> b, std::uint64_t salt) {
    b[0] = (b[0] ^ a[0] * 0x9e3779b97f4a7c15u) + salt;
}
void mix_long(std::span<const std::uint64_t> a, std::span<std::uint64_t> b, std::uint64_t salt) {
    take_long();
    mix(a, b, salt);
}
/// The same by tasks of its own, for which it waits.
void mix_by_tasks(std::span<const std::uint64_t> a, std::span<std::uint64_t> b, std::uint64_t salt, Machine* machine) {
    Dependences inner(*machine);
    std::uint64_t between = a[0];
    inner.call<take_long>();
    inner.call<mix>(in(between), inout(b), salt);
    inner.call<mix>(in(b), inout(between), salt);
    inner.wait();
}

TEST(LongTasks, give_what_a_serial_run_gives) {
    for (unsigned seed = 1; seed <= static_cast<unsigned>(scaled(12, 4)); ++seed) {
        const int targets = static_cast<int>(seed % 4);
        Machine machine(with_targets(targets));
        Dependences order(machine);
        constexpr std::size_t blocks = 24;
        std::vector<std::uint64_t> expected(blocks), got(blocks);
        std::iota(expected.begin(), expected.end(), 1u);
        got = expected;
        std::mt19937 random{seed};
        for (int t = 0; t < scaled(300, 100); ++t) {
            const std::size_t from = random() % blocks, to = random() % blocks;
            if (from == to) continue;
            const std::uint64_t salt = random();
            mix(std::span(expected).subspan(from, 1), std::span(expected).subspan(to, 1), salt);
            const auto a = in(std::span<const std::uint64_t>(got).subspan(from, 1));
            const auto b = inout(std::span(got).subspan(to, 1));
            const auto kind = random() % 8;
            if (kind == 0) order.call<mix_by_tasks>(a, b, salt, &machine);
            else if (kind == 1 && targets != 0)
                order.call_on<mix_long>(static_cast<int>(random()) & 1 ? targets - 1 : 0, a, b, salt);
            else order.call<mix_long>(a, b, salt);
        }
        order.wait();
        ASSERT_EQ(got, expected) << "seed " << seed;
    }
}

void fail_long(std::span<int>) {
    take_long();
    throw std::runtime_error("the oven is cold");
}
void add_long(std::span<const int> from, std::span<int> to) {
    take_long();
    to[0] = from[0] + 1;
}

TEST(LongTasks, after_a_failed_one_do_not_run_and_all_others_do) {
    for (const int targets : {1, 3}) {
        Machine machine(with_targets(targets));
        Dependences order(machine);
        constexpr std::size_t ways = 8, steps = 12;
        std::vector<int> all(ways * steps);
        const auto block = [&](std::size_t way, std::size_t step) {
            return std::span(all).subspan(way * steps + step, 1);
        };
        for (std::size_t step = 1; step < steps; ++step) {
            for (std::size_t way = 0; way < ways; ++way) {
                if (way == 3 && step == 7) order.call<fail_long>(inout(block(way, step)));
                else order.call<add_long>(in(block(way, step - 1)), out(block(way, step)));
            }
        }
        EXPECT_THROW(order.wait(), TaskFailed);
        for (std::size_t way = 0; way < ways; ++way)
            for (std::size_t step = 0; step < steps; ++step)
                EXPECT_EQ(block(way, step)[0], way == 3 && step >= 7 ? 0 : static_cast<int>(step)) << way;
    }
}

}  // namespace
