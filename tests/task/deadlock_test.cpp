// Waits that can never end are found and said (contract 16), and waits that can are left alone.
#include <atomic>
#include <string>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

/// What a wait inside a task came to.
enum class Outcome { none, ended, refused, failed };

template <class Wait>
Outcome outcome_of(Wait&& wait) {
    try {
        wait();
        return Outcome::ended;
    } catch (const WouldDeadlock& error) {
        EXPECT_NE(std::string(error.what()).find("target"), std::string::npos);
        return Outcome::refused;
    } catch (...) {
        return Outcome::failed;
    }
}

/// `targets` tasks, one on each, that each wait for a task that only the next may run.
template <class Wait>
void expect_a_circle_to_be_found(int targets, Wait wait) {
    Machine machine(with_targets(targets));
    std::atomic<int> here{0};
    std::vector<Outcome> outcomes(static_cast<std::size_t>(targets), Outcome::none);
    for (int t = 0; t < targets; ++t)
        machine.on(t).call(boxed([&, t] {
            here.fetch_add(1);
            eventually([&] { return here.load() == targets; });
            const auto child = machine.on((t + 1) % targets).call([] {});
            outcomes[static_cast<std::size_t>(t)] = outcome_of([&] { wait(machine, child); });
        }));
    machine.finish();
    int refused = 0;
    for (auto outcome : outcomes) {
        EXPECT_TRUE(outcome == Outcome::ended || outcome == Outcome::refused);
        refused += outcome == Outcome::refused;
    }
    EXPECT_GE(refused, 1);
    int x = 0;
    machine.call([](int& v) { v = 1; }, out(x)).wait();
    EXPECT_EQ(x, 1);
}

TEST(Deadlock, of_two_tasks_that_wait_for_one_another_is_reported) {
    expect_a_circle_to_be_found(2, [](Machine&, Handle child) { child.wait(); });
}

TEST(Deadlock, of_two_tasks_that_wait_helping_is_reported) {
    expect_a_circle_to_be_found(2, [](Machine&, Handle child) { child.wait(help); });
}

TEST(Deadlock, of_two_tasks_at_barriers_is_reported) {
    expect_a_circle_to_be_found(2, [](Machine& machine, Handle) { machine.barrier(); });
}

TEST(Deadlock, of_two_tasks_that_wait_for_any_is_reported) {
    expect_a_circle_to_be_found(2, [](Machine&, Handle child) { wait_any({child}); });
}

TEST(Deadlock, of_a_circle_of_four_is_reported) {
    expect_a_circle_to_be_found(4, [](Machine&, Handle child) { child.wait(); });
}

TEST(Deadlock, is_not_reported_for_targets_that_wait_for_one_another_in_turn) {
    // Target 0 and target 1 often wait for one another, but never at once: each next wait begins when the one before
    // has ended, though perhaps before the other target has noticed that.
    Machine machine(with_targets(2));
    std::atomic<int> refused{0};
    auto* const count = &refused;
    auto* const m = &machine;
    const int rounds = scaled(3000, 300);
    for (int i = 0; i < rounds; ++i) {
        machine.on(1).call([m, count] {
            if (outcome_of([&] { m->on(0).call([] {}).wait(); }) != Outcome::ended) count->fetch_add(1);
        });
        machine.on(0).call([] {}).wait();  // whatever target 1 waits for stands in a lane of its own
        machine.barrier();
        machine.on(0).call([m, count] {
            if (outcome_of([&] { m->on(1).call([] {}).wait(); }) != Outcome::ended) count->fetch_add(1);
        });
        machine.barrier();
    }
    EXPECT_EQ(refused.load(), 0);
}

TEST(Deadlock, is_not_reported_when_the_next_wait_begins_before_the_other_target_has_noticed) {
    Machine machine(with_targets(2));
    std::atomic<int> refused{0};
    auto* const count = &refused;
    auto* const m = &machine;
    for (int i = 0; i < scaled(3000, 300); ++i) {
        // On target 0: X (awaited from target 1) and, straight behind it in another lane, Y, which waits for target 1.
        std::atomic<int> waiting{0};
        auto* const about_to = &waiting;
        machine.on(1).call([m, count, about_to] {
            const auto x = m->on(0).call([] {});
            about_to->store(1);
            if (outcome_of([&] { x.wait(); }) != Outcome::ended) count->fetch_add(1);
        });
        machine.on(0).call([m, count, about_to] {
            // without a limit: were Y first, the circle would be real
            while (about_to->load() != 1) std::this_thread::yield();
            m->on(0).call([m, count] {
                if (outcome_of([&] { m->on(1).call([] {}).wait(); }) != Outcome::ended) count->fetch_add(1);
            });
        });
        machine.finish();
    }
    EXPECT_EQ(refused.load(), 0);
}

TEST(Deadlock, by_finish_inside_a_task_is_refused) {  // contract 12
    for (int targets : {0, 1, 2}) {
        Machine machine(with_targets(targets));
        Outcome outcome = Outcome::none;
        machine
            .call([&] {
                try {
                    machine.finish();
                } catch (const WouldDeadlock&) {
                    outcome = Outcome::refused;
                }
            })
            .wait();
        EXPECT_EQ(outcome, Outcome::refused);
        machine.finish();
    }
}

TEST(Deadlock, report_says_who_waits_for_whom) {
    Machine machine(with_targets(1));
    Gate gate;
    std::atomic<bool> inside{false};
    machine.call(boxed([&] {
        inside.store(true);
        gate.wait();
    }));
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    const auto report = machine.waiting_report();
    EXPECT_NE(report.find("target 0"), std::string::npos) << report;
    EXPECT_NE(report.find("thread 0"), std::string::npos) << report;
    gate.open();
    machine.finish();
}

}  // namespace
