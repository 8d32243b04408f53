// What a target has claimed and not begun is no prisoner of the task that runs: tasks that wait for one behind them,
// tasks of high priority, lone calls.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "penstock/penstock.hpp"
#include "tests/fetched_ahead.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace penstock;
using task_tests::eventually;
using task_tests::Gate;
using task_tests::scaled;
using task_tests::with_targets;

enum class Initiators { help, wait, poll };

/// Handles that tasks wait for. Those that run before all are issued wait until they are.
struct Siblings {
    explicit Siblings(std::size_t n) : handles(n), ended(n) {}
    std::vector<Handle> handles;
    std::vector<std::atomic<int>> ended;
    std::atomic<int> refused{0};
    Gate issued;
    std::vector<int> words = std::vector<int>(256);  ///< that each task reads: something to be fetched ahead

    void run(std::size_t i, const Handle* awaited) {
        issued.wait();
        try {
            if (awaited != nullptr) awaited->wait();
        } catch (const WouldDeadlock&) {
            refused.fetch_add(1);
        }
        ended[i].fetch_add(1);
    }
    /// Issues task i, which waits for `awaited`, a handle that is set before `issued` opens.
    void issue(Machine& machine, std::size_t i, const Handle* awaited, Priority priority = Priority::normal) {
        handles[i] = machine.with({.priority = priority})
                         .call(boxed([this, i, awaited](std::span<const int>) { run(i, awaited); }), in(words));
    }
    void expect_all_ended_once() const {
        for (const auto& count : ended) EXPECT_EQ(count.load(), 1);
    }
    /// All are issued: they end, each once.
    void end_well(Machine& machine, Initiators how) {
        issued.open();
        if (how == Initiators::help) machine.barrier();
        if (how == Initiators::wait) handles.back().wait();
        for (const auto& handle : handles) EXPECT_TRUE(eventually([&] { return handle.ready(); }));
        expect_all_ended_once();
    }
};

MachineOptions with_targets_that_fetch(int targets, Prefetch prefetch) {
    auto options = with_targets(targets);
    options.prefetch = prefetch;
    return options;
}

/// Runs `body(machine, how)` for 1 to 4 targets, which claim on during the last task of a claim or not, and each way in
/// which the initiator waits.
template <class Body>
void for_each_machine(Body&& body) {
    for (const auto prefetch : {Prefetch::never, Prefetch::always})
        for (int targets = 1; targets <= 4; ++targets)
            for (const auto how : {Initiators::help, Initiators::wait, Initiators::poll}) {
                Machine machine(with_targets_that_fetch(targets, prefetch));
                body(machine, how);
                machine.finish();
            }
}

TEST(Claims, a_task_may_wait_for_a_sibling_behind_it) {
    for (const std::size_t behind : {1, 5, 40, 300})
        for_each_machine([behind](Machine& machine, Initiators how) {
            Siblings all(behind + 20);
            for (std::size_t i = 0; i < all.handles.size(); ++i)
                all.issue(machine, i, i == 0 ? &all.handles[behind] : nullptr);
            all.end_well(machine, how);
            EXPECT_EQ(all.refused.load(), 0);
        });
}

TEST(Claims, tasks_may_wait_for_one_another_in_a_chain) {
    for_each_machine([](Machine& machine, Initiators how) {
        Siblings all(100);
        for (std::size_t i = 0; i < all.handles.size(); ++i)
            all.issue(machine, i, i + 1 < all.handles.size() ? &all.handles[i + 1] : nullptr);
        all.end_well(machine, how);
        EXPECT_EQ(all.refused.load(), 0);
    });
}

TEST(Claims, a_task_may_wait_for_a_dependent_task_that_comes_after_siblings_behind_it) {
    for_each_machine([](Machine& machine, Initiators how) {
        Siblings all(43);
        all.issue(machine, 0, &all.handles[42]);
        for (std::size_t i = 1; i < 40; ++i) all.issue(machine, i, nullptr);
        const auto after = [&](std::size_t i, auto... predecessors) {
            all.handles[i] = machine.after(predecessors...).call(boxed([&all, i] { all.run(i, nullptr); }));
        };
        after(40, all.handles[7]);
        after(41, all.handles[40], all.handles[20]);
        after(42, all.handles[41]);
        all.end_well(machine, how);
        EXPECT_EQ(all.refused.load(), 0);
    });
}

TEST(Claims, a_task_may_wait_for_any_of_several_behind_it) {
    for_each_machine([](Machine& machine, Initiators how) {
        Siblings all(30);
        all.handles[0] = machine.call(boxed([&] {
            all.issued.wait();
            wait_any({all.handles[9], all.handles[25]});
            wait_all({all.handles[9], all.handles[25]});
            all.run(0, nullptr);
        }));
        for (std::size_t i = 1; i < all.handles.size(); ++i) all.issue(machine, i, nullptr);
        all.end_well(machine, how);
    });
}

TEST(Claims, a_barrier_in_a_task_does_not_keep_its_siblings) {
    for_each_machine([](Machine& machine, Initiators how) {
        // The child waits for a task that lies behind its parent.
        Siblings all(30);
        all.handles[0] = machine.call(boxed([&] {
            all.issued.wait();
            machine.call(boxed([&] { all.handles[20].wait(); }));
            machine.barrier();
            all.run(0, nullptr);
        }));
        for (std::size_t i = 1; i < all.handles.size(); ++i) all.issue(machine, i, nullptr);
        all.end_well(machine, how);
    });
}

TEST(Claims, a_circle_of_waits_is_refused) {
    for (const std::size_t length : {1, 2, 3, 20})
        for_each_machine([length](Machine& machine, Initiators how) {
            Siblings all(30);
            for (std::size_t i = 0; i < all.handles.size(); ++i)
                all.issue(machine, i, i < length ? &all.handles[(i + 1) % length] : nullptr);
            all.end_well(machine, how);
            EXPECT_GE(all.refused.load(), 1);
        });
}

TEST(Claims, a_circle_through_a_dependent_task_is_refused) {
    for_each_machine([](Machine& machine, Initiators how) {
        // 0 waits for 2, which comes after 1, which waits for 0.
        Siblings all(3);
        all.issue(machine, 0, &all.handles[2]);
        all.issue(machine, 1, &all.handles[0]);
        all.handles[2] = machine.after(all.handles[1]).call(boxed([&all] { all.run(2, nullptr); }));
        all.end_well(machine, how);
        EXPECT_GE(all.refused.load(), 1);
    });
}

TEST(Claims, what_lies_behind_a_task_that_is_held_up_is_run_by_others) {
    for (const int targets : {1, 2, 3}) {
        Machine machine(with_targets(targets));
        Gate issued;
        Gate last;
        std::atomic<int> held{0};
        std::atomic<int> ran{0};
        for (int t = 0; t < targets; ++t) machine.on(t).call(boxed([&] { issued.wait(); }));
        for (int i = 0; i < 64; ++i)
            machine.call(boxed([&, i] {
                if (i == 0) held.fetch_add(last.wait() ? 1 : 100);  // without the machine's knowledge
                if (i == 7) last.open();
                ran.fetch_add(1);
            }));
        issued.open();
        if (targets == 1) {  // where nobody else is free
            ASSERT_TRUE(eventually([&] { return machine.pending().tasks < 64; }));
            machine.barrier();
        }
        EXPECT_TRUE(eventually([&] { return ran.load() == 64; }));
        EXPECT_EQ(held.load(), 1);
        machine.finish();
    }
}

TEST(Claims, tasks_that_wait_at_random_for_later_ones_all_end) {
    std::mt19937 random(15);
    for (int round = 0; round < scaled(40, 6); ++round) {
        Machine machine(with_targets_that_fetch(1 + round % 4, round % 8 < 4 ? Prefetch::always : Prefetch::measured));
        constexpr std::size_t size = 120;
        const auto issue = [&](Siblings& all, std::uint32_t seed) {
            std::mt19937 own(seed);
            for (std::size_t i = 0; i < size; ++i) {
                const auto later = i + 1 + own() % 40;
                const Handle* const awaited = own() % 3 == 0 && later < size ? &all.handles[later] : nullptr;
                all.issue(machine, i, awaited, own() % 8 == 0 ? Priority::high : Priority::normal);
            }
            all.issued.open();
            if (own() % 2 == 0) machine.barrier();
            for (const auto& handle : all.handles) EXPECT_TRUE(eventually([&] { return handle.ready(); }));
            all.expect_all_ended_once();
            EXPECT_EQ(all.refused.load(), 0);
        };
        Siblings mine(size), others(size);
        const auto seed = static_cast<std::uint32_t>(random());
        std::thread second([&] { issue(others, seed + 1); });
        issue(mine, seed);
        second.join();
        machine.finish();
    }
}

TEST(Claims, a_task_of_high_priority_runs_next) {
    Machine machine(with_targets(1));
    for (int round = 0; round < 20; ++round) {
        Gate begin;
        std::atomic<int> normal{0};
        std::atomic<int> before{-1};
        constexpr int at = 3;
        Gate go_on;
        for (int i = 0; i < 64; ++i)
            machine.call(boxed([&] {
                begin.wait();
                if (normal.fetch_add(1) + 1 == at) go_on.wait();
            }));
        begin.open();
        ASSERT_TRUE(eventually([&] { return normal.load() == at; }));
        machine.with({.priority = Priority::high}).call(boxed([&] { before.store(normal.load()); }));
        go_on.open();
        EXPECT_TRUE(eventually([&] { return before.load() >= 0; }));
        EXPECT_EQ(before.load(), at);
        machine.finish();
        EXPECT_EQ(normal.load(), 64);
    }
}

// ---- lone calls ----

/// Opens the gate, and says so, where that has not happened after five seconds.
class Rescue {
  public:
    explicit Rescue(Gate& gate)
        : thread_([this, &gate] {
              std::unique_lock lock(mutex_);
              needed_ = !ended_.wait_for(lock, std::chrono::seconds(5), [this] { return done_; });
              gate.open();
          }) {}
    bool needed() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        ended_.notify_one();
        if (thread_.joinable()) thread_.join();
        return needed_;
    }
    ~Rescue() { needed(); }

  private:
    std::mutex mutex_;
    std::condition_variable ended_;
    bool done_ = false;
    bool needed_ = false;
    std::thread thread_;
};

TEST(LoneCall, does_not_lie_behind_a_child_that_its_parent_left_behind) {
    for (int targets = 1; targets <= 4; ++targets) {
        Machine machine(with_targets(targets));
        for (int round = 0; round < 5; ++round) {
            Gate gate;
            std::atomic<bool> inside{false};
            machine
                .call(boxed([&] {
                    machine.call(boxed([&] {
                        inside.store(true);
                        gate.wait();
                    }));
                }))
                .wait();
            ASSERT_TRUE(eventually([&] { return inside.load(); }));
            Rescue rescue(gate);
            for (int i = 0; i < 8; ++i) {
                const auto lone = machine.call([] {});
                if (targets == 1) lone.wait(help);
                else lone.wait();
            }
            EXPECT_FALSE(rescue.needed());
            machine.finish();
        }
    }
}

TEST(LoneCall, does_not_lie_behind_what_other_threads_and_dependences_keep_running) {
    for (int targets = 2; targets <= 4; ++targets) {
        Machine machine(with_targets(targets));
        for (int round = 0; round < 5; ++round) {
            Gate gate;
            std::atomic<int> inside{0};
            const auto hold = boxed([&] {
                inside.fetch_add(1);
                gate.wait();
            });
            const auto first = machine.call([] {});
            first.wait();
            if (round % 2 == 0) machine.after(first).call(hold);
            else std::thread([&] { machine.call(hold); }).join();
            ASSERT_TRUE(eventually([&] { return inside.load() == 1; }));
            Rescue rescue(gate);
            for (int i = 0; i < 8; ++i) machine.call([] {}).wait();
            std::thread([&] {
                for (int i = 0; i < 8; ++i) machine.call([] {}).wait();
            }).join();
            EXPECT_FALSE(rescue.needed());
            machine.finish();
        }
    }
}

TEST(LoneCall, of_a_task_runs_elsewhere_while_the_task_goes_on) {
    for (int targets = 2; targets <= 4; ++targets) {
        Machine machine(with_targets(targets));
        for (int round = 0; round < 5; ++round) {
            Gate gate;
            Rescue rescue(gate);
            machine.call(boxed([&] {
                machine.call(boxed([&] { gate.open(); }));
                gate.wait();
            }));
            machine.barrier();
            EXPECT_FALSE(rescue.needed());
        }
    }
}

TEST(LoneCall, of_two_threads_at_once_lets_either_set_free_what_the_other_holds) {
    for (int targets = 2; targets <= 4; ++targets) {
        Machine machine(with_targets(targets));
        machine.call([] {}).wait();
        for (int round = 0; round < scaled(40, 20); ++round) {
            Gate gate;
            Rescue rescue(gate);
            std::atomic<int> begun{0};
            const auto together = [&] {
                begun.fetch_add(1);
                while (begun.load() != 2) std::this_thread::yield();
            };
            std::thread other([&] {
                machine.call([] {}).wait();
                together();
                machine.call(boxed([&] { gate.wait(); })).wait();
            });
            together();
            machine.call(boxed([&] { gate.open(); })).wait();
            other.join();
            EXPECT_FALSE(rescue.needed());
        }
    }
}

TEST(LoneCall, of_several_threads_does_not_lie_in_a_worker_process_that_is_held) {
    SKIP_WITHOUT_PROCESSES();
    enum { released, held, given_up };
    for (int targets = 2; targets <= 3; ++targets) {
        Machine machine(task_tests::isolated(targets));
        auto flags = machine.array<int>(3);
        const auto flag = [&](int which) { return std::atomic_ref<int>(flags[static_cast<std::size_t>(which)]); };
        machine.call([](std::span<int>) {}, inout(flags)).wait();
        for (int round = 0; round < 20; ++round) {
            for (const int which : {released, held, given_up}) flag(which).store(0);
            std::thread other([&] {
                machine
                    .call(
                        [](std::span<int> all) {
                            std::atomic_ref<int>(all[held]).store(1);
                            if (!eventually([&] { return std::atomic_ref<int>(all[released]).load() != 0; },
                                            std::chrono::seconds(5)))
                                std::atomic_ref<int>(all[given_up]).store(1);
                        },
                        inout(flags))
                    .wait();
            });
            EXPECT_TRUE(eventually([&] { return flag(held).load() != 0; }));
            for (int i = 0; i < 4; ++i)
                machine.call([](std::span<int> all) { std::atomic_ref<int>(all[released]).store(1); }, inout(flags))
                    .wait();
            other.join();
            EXPECT_EQ(flag(given_up).load(), 0);
        }
    }
}

/// Arguments that are fetched ahead belong to a task that somebody else may run and whose caller then lets them go.
void count_all(pieces<const int> all) { static_cast<void>(all); }
TEST(Claims, arguments_that_are_fetched_ahead_are_not_let_go_meanwhile) {
    using Piece = std::span<const int>;
    constexpr std::size_t pieces_of_one = 50'000;
    constexpr int tasks = 32;
    constexpr auto bytes = pieces_of_one * sizeof(Piece);
    const int value = 7;
    const int file = memfd_create("pieces", 0);
    ASSERT_EQ(ftruncate(file, bytes), 0);
    auto* const first = static_cast<Piece*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ASSERT_NE(first, MAP_FAILED);
    for (std::size_t i = 0; i < pieces_of_one; ++i) new (first + i) Piece(&value, 1);
    auto options = with_targets(1);
    options.prefetch = Prefetch::always;
    Machine machine(options);
    for (int round = 0; round < scaled(8, 2); ++round) {
        std::vector<void*> lists(tasks);
        std::vector<Handle> handles(tasks);
        Gate gate;
        machine.call(boxed([&] { gate.wait(); }));
        for (int i = 0; i < tasks; ++i) {
            lists[i] = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
            ASSERT_NE(lists[i], MAP_FAILED);
            handles[i] = machine.call<count_all>(
                in(pieces<const int>(std::span<const Piece>(static_cast<const Piece*>(lists[i]), pieces_of_one))));
        }
        gate.open();
        for (int left = tasks; left != 0;) {
            std::vector<Handle> open;
            for (int i = 0; i < tasks; ++i) {
                if (lists[i] == nullptr) continue;
                if (!handles[i].ready()) {
                    open.push_back(handles[i]);
                    continue;
                }
                munmap(lists[i], bytes);
                lists[i] = nullptr;
                --left;
            }
            if (!open.empty()) wait_any(open);
        }
        machine.barrier();
    }
    munmap(first, bytes);
    close(file);
}

/// Of 64 tasks, in claims of 16, 16, 16 and 8, then of 4 and 2, then of one.
TEST(Claims, fetch_the_first_task_of_the_next_one_ahead_too) {
    Machine machine(with_targets_that_fetch(1, Prefetch::always));
    const std::vector<int> words(256);
    Gate gate, begun;
    const auto fetched = tests::fetched_ahead(machine, [&] {
        machine.call(boxed([&] {
            begun.open();
            gate.wait();
        }));
        begun.wait();
        std::vector<Handle> handles;
        for (int i = 0; i < 64; ++i) handles.push_back(machine.call([](std::span<const int>) {}, in(words)));
        gate.open();
        for (const auto& handle : handles) handle.wait();
    });
    EXPECT_EQ(fetched, 60u);
}

TEST(Claims, circle_over_a_dependent_task_for_a_target_that_waits_is_told) {
    for (const bool ready_first : {false, true}) {
        Machine machine(with_targets(2));
        Handle a, x;
        std::atomic<int> refused{0};
        Gate issued;
        std::atomic<int> begun{0};
        const auto wait_for = [&](const Handle& one) {
            begun.fetch_add(1);
            issued.wait();
            try {
                one.wait();
            } catch (const WouldDeadlock&) {
                refused.fetch_add(1);
            }
        };
        a = machine.on(0).call(boxed([&] { wait_for(x); }));
        const auto b = machine.on(1).call(boxed([&] { wait_for(a); }));
        ASSERT_TRUE(eventually([&] { return begun.load() == 2; }));
        const auto before = machine.call([] {});
        if (ready_first) before.wait(Help{});
        x = machine.after(before).on(1).call([] {});
        issued.open();
        EXPECT_TRUE(eventually([&] { return a.ready() && b.ready() && x.ready(); }));
        EXPECT_EQ(refused.load(), 1);
    }
}

TEST(Claims, are_looked_at_by_a_thread_that_waits_for_mail) {
    for (const auto notification : {Notification::mailbox, Notification::interrupt}) {
        auto options = with_targets(1);
        options.notification = notification;
        Machine machine(options);
        Gate issued, last;
        Rescue rescue(last);
        std::atomic<int> ran{0};
        for (int i = 0; i < 40; ++i)
            machine.call(boxed([&, i] {
                if (i == 0) issued.wait(), last.wait();
                if (i == 3) last.open();
                ran.fetch_add(1);
            }));
        issued.open();
        machine.barrier();
        EXPECT_EQ(ran.load(), 40);
        EXPECT_FALSE(rescue.needed());
    }
}

TEST(Claims, that_are_given_back_are_counted_as_waiting_once) {
    Machine machine(with_targets(3));
    constexpr std::size_t tasks = 200;
    for (int round = 0; round < scaled(200, 10); ++round) {
        std::vector<Handle> handles(tasks);
        Gate issued;
        for (std::size_t i = 0; i < tasks; ++i)
            handles[i] = machine.call(boxed([&, i] {
                issued.wait();
                if (i + 1 < tasks && i % 2 == 0) handles[i + 1].wait();
            }));
        issued.open();
        while (!handles.back().ready()) ASSERT_LE(machine.pending().tasks, tasks);
        machine.barrier();
    }
}

/// Calls itself again until it is told to end. Each call lies in a part of the deque that belongs to the call before.
struct Circling {
    Machine& machine;
    std::atomic<bool>& over;
    std::atomic<int>& rounds;
    std::atomic<int>& ended;
    void operator()() const {
        rounds.fetch_add(1);
        if (over.load()) return void(ended.fetch_add(1));
        machine.call(boxed(Circling{*this}));
    }
};

TEST(Fairness, lets_tasks_that_issue_themselves_again_and_again_all_go_on) {
    constexpr int circling = 3;
    for (int targets = 1; targets <= 2; ++targets) {
        Machine machine(with_targets(targets));
        std::atomic<bool> over{false};
        std::atomic<int> ended{0};
        std::vector<std::atomic<int>> rounds(circling);
        for (auto& of_one : rounds) machine.call(boxed(Circling{machine, over, of_one, ended}));
        for (int look = 0; look < 5; ++look)
            for (auto& of_one : rounds) {
                const int before = of_one.load();
                EXPECT_TRUE(
                    eventually([&] { return of_one.load() > before + scaled(2000, 200); }, std::chrono::seconds(5)))
                    << "after " << before << " rounds";
            }
        over.store(true);
        EXPECT_TRUE(eventually([&] { return ended.load() == circling; }));
        machine.barrier();
    }
}

}  // namespace
