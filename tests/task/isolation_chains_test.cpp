// Targets in worker processes: chains, resident data and accumulators, and what the trace says of workers.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "penstock/chain.hpp"
#include "penstock/error.hpp"
#include "penstock/resident.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using penstock::CannotCarryOver;
using penstock::Chain;
using penstock::in;
using penstock::inout;
using penstock::Machine;
using penstock::out;

void square(std::span<const int> from, std::span<int> to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * from[i];
}
void add(std::span<const int> from, std::span<int> to, int more) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + more;
}
void fail_from(std::span<const int> values, int limit) {
    if (values[0] >= limit) throw std::runtime_error("too much");
}
void die_from(std::span<const int> values, int limit) {
    if (values[0] >= limit) std::raise(SIGKILL);
}
void weigh(std::span<const int> table, std::span<const int> from, std::span<int> to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * table[i % table.size()];
}
void count(std::span<const int> values, std::span<long> counts) {
    for (const int value : values) ++counts[static_cast<std::size_t>(value)];
}

// ---- chains ----

TEST(IsolationChains, a_chain_runs_in_a_worker_with_its_blocks_in_the_local_store) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    Chain<std::span<const int>, std::span<int>, int> chain("polynomial");
    auto [from, to, more] = chain.parameters();
    auto between = chain.local<int>(100);
    chain.add<square>(in(from.first(100)), out(between));
    chain.add<add>(in(between), out(to), more);
    auto here = machine.array<int>(100);
    std::vector<int> there(100), copied(100);
    for (int i = 0; i < 100; ++i) here[static_cast<std::size_t>(i)] = there[static_cast<std::size_t>(i)] = i;
    auto results = machine.array<int>(100);
    for (int round = 0; round < 50; ++round) {
        machine.call(chain, in(here), out(results), round);
        machine.on(1).call(chain, in(there), out(copied), 2 * round).wait();  // memory of the program's own is copied
        machine.barrier();
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(results[static_cast<std::size_t>(i)], i * i + round);
            ASSERT_EQ(copied[static_cast<std::size_t>(i)], i * i + 2 * round);
        }
    }
}

TEST(IsolationChains, a_chain_may_change_and_end_while_its_tasks_are_outstanding) {
    SKIP_WITHOUT_PROCESSES();
    std::vector<int> results(40);
    const std::vector<int> one{1};
    {
        Machine machine(isolated(1));
        for (std::size_t round = 0; round < 20; ++round) {
            Chain<std::span<const int>, std::span<int>> chain;
            auto [from, to] = chain.parameters();
            chain.add<add>(in(from), out(to), static_cast<int>(round));
            machine.call(chain, in(one), out(std::span(results).subspan(2 * round, 1)));
            chain.add<add>(in(from), out(to), 1000);
            machine.call(chain, in(one), out(std::span(results).subspan(2 * round + 1, 1)));
        }
    }
    for (std::size_t round = 0; round < 20; ++round) {
        EXPECT_EQ(results[2 * round], 1 + static_cast<int>(round));
        EXPECT_EQ(results[2 * round + 1], 1001);
    }
}

TEST(IsolationChains, a_step_that_throws_or_ends_its_worker_is_named) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    Chain<std::span<int>> chain("risky");
    auto [values] = chain.parameters();
    chain.add<fail_from>(in(values), 10);
    chain.add<die_from>(in(values), 5);
    chain.add<add>(in(values.first(1)), out(values.subspan(1, 1)), 1);
    const auto issue = [&](int first) {
        std::vector<int> data{first, 0};
        machine.call(chain, inout(data)).wait();
        return data[1];
    };
    EXPECT_EQ(issue(1), 2);
    try {
        issue(10);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const penstock::TaskFailed& failed) {
        EXPECT_NE(failed.task().find("fail_from (step 1 of 3 of chain risky)"), std::string::npos) << failed.task();
        EXPECT_NE(std::string(failed.what()).find("too much"), std::string::npos) << failed.what();
    }
    EXPECT_EQ(issue(2), 3);
    const auto died = death_of([&] { issue(5); });
    EXPECT_NE(died.task().find("die_from (step 2 of 3 of chain risky)"), std::string::npos) << died.task();
    EXPECT_EQ(died.signal(), SIGKILL);
    EXPECT_EQ(issue(3), 4);
    // A task that is no chain's is named as ever behind it.
    EXPECT_EQ(death_of([&] { machine.call([] { std::raise(SIGKILL); }).wait(); }).task().find("(step "),
              std::string::npos);
}

TEST(IsolationChains, what_a_step_could_not_use_in_a_worker_is_refused_by_name) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    std::vector<int> mine{3}, results(1);
    Chain<std::span<int>> chain;
    auto [to] = chain.parameters();
    chain.add<add>(in(mine), out(to), 1);
    try {
        machine.call(chain, out(results));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const CannotCarryOver& refused) {
        EXPECT_NE(refused.task().find("add"), std::string::npos) << refused.what();
        EXPECT_EQ(refused.argument(), 1);
    }
    auto shared = machine.array<int>(1);
    shared[0] = 4;
    Chain<std::span<int>> better;
    auto [result] = better.parameters();
    better.add<add>(in(shared), out(result), 1);
    machine.call(better, out(results)).wait();
    EXPECT_EQ(results[0], 5);
    Machine threads(with_targets(1));  // one description serves both kinds of machine
    threads.call(chain, out(results)).wait();
    EXPECT_EQ(results[0], 4);
    threads.call(better, out(results)).wait();
    EXPECT_EQ(results[0], 5);
}

// ---- resident data ----

TEST(IsolationResidents, each_task_has_the_version_that_was_current_when_it_was_issued) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    auto table = machine.resident(std::vector<int>{1, 2});
    const std::vector<int> from{10, 20, 30, 40};
    std::vector<std::vector<int>> results(60, std::vector<int>(4));
    for (int round = 0; round < 60; ++round) {
        machine.call<weigh>(in(table), in(from), out(results[static_cast<std::size_t>(round)]));
        if (round % 20 == 19) table.update(std::vector<int>{round, 0});
    }
    machine.barrier();
    for (std::size_t round = 0; round < 60; ++round) {
        const int first = round < 20 ? 1 : round < 40 ? 19 : 39;
        EXPECT_EQ(results[round], (std::vector<int>{10 * first, round < 20 ? 40 : 0, 30 * first, round < 20 ? 80 : 0}));
    }
    const auto budget = machine.initiator().local_store_bytes();
    EXPECT_THROW(machine.resident(std::vector<char>(budget)), penstock::UsageError);
}

TEST(IsolationResidents, a_worker_that_takes_a_dead_ones_seat_has_the_values_of_the_last_update) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    auto table = machine.resident(std::vector<int>{1, 2});
    table.update(std::vector<int>{7, 8});
    const auto damage = [](std::span<const int> values) {
        for (const int& value : values) const_cast<int&>(value) = -1;
        std::raise(SIGKILL);
    };
    const std::vector<int> ones{1, 1};
    std::vector<int> result(2);
    machine.call<weigh>(in(table), in(ones), out(result)).wait();
    EXPECT_EQ(death_of([&] { machine.call(damage, in(table)).wait(); }).signal(), SIGKILL);
    machine.call<weigh>(in(table), in(ones), out(result)).wait();
    EXPECT_EQ(result, (std::vector<int>{7, 8}));
}

TEST(IsolationResidents, chains_use_resident_data) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    auto table = machine.resident(std::vector<int>{2, 3});
    Chain<std::span<const int>, std::span<int>> chain;
    auto [from, to] = chain.parameters();
    auto between = chain.local<int>(2);
    chain.add<weigh>(in(table), in(from.first(2)), out(between));
    chain.add<weigh>(in(table), in(between), out(to.first(2)));
    const std::vector<int> ones{1, 1};
    std::vector<int> result(2);
    machine.call(chain, in(ones), out(result)).wait();
    EXPECT_EQ(result, (std::vector<int>{4, 9}));
    table.update(std::vector<int>{5, 1});
    machine.call(chain, in(ones), out(result)).wait();
    EXPECT_EQ(result, (std::vector<int>{25, 1}));
}

TEST(IsolationResidents, an_accumulator_keeps_what_was_added_when_a_worker_dies) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    auto counts = machine.accumulator(std::vector<long>(4, 0));
    const auto sum = [](long& into, long from) { into += from; };
    const std::vector<int> values{0, 1, 1, 3};
    int died = 0;
    for (int round = 0; round < 200; ++round) {
        machine.call<count>(in(values), inout(counts));
        if (round % 50 != 25) continue;
        ++died;
        EXPECT_THROW(machine.call([](std::span<long>) { std::raise(SIGKILL); }, inout(counts)).wait(),
                     penstock::TaskFailed);
    }
    machine.barrier();
    EXPECT_EQ(died, 4);
    EXPECT_EQ(counts.collect(sum), (std::vector<long>{200, 400, 0, 200}));
    counts.update(std::vector<long>{1, 0, 0, 0});
    machine.call<count>(in(values), inout(counts)).wait();
    std::vector<long> begun_anew = counts.collect(sum);
    EXPECT_EQ(begun_anew, (std::vector<long>{3, 2, 0, 1}));  // the first values, and a copy that began with them
    int copies = 0;
    counts.each_copy([&](int worker, std::span<const long> copy) {
        EXPECT_LT(worker, 2);
        EXPECT_EQ(copy[1], 2);
        ++copies;
    });
    EXPECT_EQ(copies, 1);
    const auto slow = machine.call([](std::span<long>) { usleep(50'000); }, inout(counts));
    EXPECT_THROW(counts.collect(sum), penstock::UsageError);
    slow.wait();
    EXPECT_EQ(counts.collect(sum).size(), 4u);
}

TEST(IsolationResidents, what_was_refused_or_cancelled_uses_nothing_any_more) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    auto counts = machine.accumulator(std::vector<long>(4, 0));
    int outside = 0;
    EXPECT_THROW(machine.call([](std::span<long>, int*) {}, inout(counts), &outside), CannotCarryOver);
    auto gate = machine.array<int>(1);
    machine.call(
        [](int* at) {
            while (std::atomic_ref(*at).load() == 0) usleep(100);
        },
        &gate[0]);
    const auto second = machine.call([](std::span<long> all) { all[0] = 5; }, inout(counts));
    EXPECT_TRUE(second.cancel());
    std::atomic_ref(gate[0]).store(1);
    EXPECT_THROW(second.wait(), penstock::TaskCancelled);
    EXPECT_EQ(counts.collect([](long& into, long from) { into += from; }), std::vector<long>(4, 0));
    machine.barrier();
}

// ---- the trace ----

TEST(IsolationTrace, the_snapshot_counts_what_workers_ran) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    const auto before = machine.snapshot();
    for (int i = 0; i < 500; ++i)
        machine.call(
            [](int number) {
                if (number % 100 == 7) throw std::runtime_error("one of them");
                usleep(20);
            },
            i);
    EXPECT_THROW(machine.barrier(), penstock::TaskFailed);
    EXPECT_THROW(machine.call([] { std::raise(SIGKILL); }).wait(), penstock::TaskFailed);
    machine.finish();
    penstock::trace::TargetTotals all;
    const auto period = machine.snapshot() - before;
    for (const auto& [key, entry] : period.tracks())
        if (const auto* const totals = std::get_if<penstock::trace::TargetTotals>(&entry.totals)) {
            all.tasks += totals->tasks;
            all.failed += totals->failed;
            all.sampled_tasks += totals->sampled_tasks;
            all.sampled_compute_ticks += totals->sampled_compute_ticks;
            all.idle_periods += totals->idle_periods;
        }
    EXPECT_EQ(all.tasks, 501u);
    EXPECT_EQ(all.failed, 5u);
    EXPECT_GE(all.sampled_tasks, 2u);
    EXPECT_GT(all.sampled_compute_ticks, 0u);
    EXPECT_GE(all.idle_periods, 1u);
}

}  // namespace
