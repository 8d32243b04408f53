// Copies that write to as many copies: each goes on with the one of its own number, and a copy that is in the middle of
// a firing gets nothing while another is free.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_error.hpp"
#include "tests/sanitizers.hpp"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

constexpr int count = 2'000;

void take(std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

struct Source {
    Output<int> out{"out"};
    int left = count;
    bool operator()() {
        auto buffer = out.make(1);
        buffer.edit()[0] = --left;
        out.write(std::move(buffer));
        return left != 0;
    }
};

struct Stage {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::chrono::microseconds lasts;
    explicit Stage(std::chrono::microseconds time) : lasts(time) {}
    void operator()() {
        auto buffer = in.read();
        take(lasts);
        buffer.edit()[0] += 1;
        out.write(std::move(buffer));
    }
};

struct Sum {
    Input<int> in{"in"};
    long* sum;
    explicit Sum(long* to) : sum(to) {}
    void operator()() { *sum += in.read().span()[0]; }
};

struct Ran {
    long sum = 0;
    std::uint64_t buffers = 0, right_behind = 0;  ///< between the two stages
};

/// Two stages, each in so many copies.
Ran run(int targets, int copies, std::chrono::microseconds lasts, bool ordered = false) {
    Ran ran;
    Machine machine{{.targets = targets}};
    Graph graph;
    auto& source = graph.add<Source>("source");
    auto& first = graph.add<Stage>("first", {.copies = copies}, lasts);
    auto& second = graph.add<Stage>("second", {.copies = copies}, lasts);
    auto& sum = graph.add<Sum>("sum", {}, &ran.sum);
    graph.connect(source.out, first.in);
    graph.connect(first.out, second.in);
    graph.connect(second.out, sum.in, {.ordered = ordered});
    auto running = graph.start(machine);
    running.finish();
    for (const auto& stream : running.statistics().streams)
        if (stream.from == "first.out") ran.buffers = stream.buffers, ran.right_behind = stream.right_behind;
    return ran;
}

constexpr long whole_sum = static_cast<long>(count) * (count - 1) / 2 + 2L * count;

TEST(Pairs, of_copies_with_short_firings_fire_one_behind_the_other) {
    for (const bool ordered : {false, true}) {
        const Ran ran = run(0, 3, 0us, ordered);
        EXPECT_EQ(ran.sum, whole_sum);
        EXPECT_EQ(ran.buffers, static_cast<std::uint64_t>(count));
        if (!penstock_tests::sanitized)  // no firing is short there
            EXPECT_GT(ran.right_behind, 0u) << "not all where the system interrupts a firing, which then seems long";
    }
}

TEST(Pairs, of_which_each_thread_has_one_fire_so_with_firings_of_some_microseconds) {
    const Ran ran = run(1, 2, 3us);
    EXPECT_EQ(ran.sum, whole_sum);
    if (!penstock_tests::sanitized) EXPECT_GT(ran.right_behind, 0u);
    const Ran fewer = run(3, 2, 3us);  // others have nothing to do
    EXPECT_EQ(fewer.sum, whole_sum);
    EXPECT_LT(fewer.right_behind, fewer.buffers / 2) << "only before it is known how long they are";
}

TEST(Pairs, of_copies_with_long_firings_leave_them_to_whoever_is_free) {
    const Ran ran = run(1, 2, 20us);
    EXPECT_EQ(ran.sum, whole_sum);
    EXPECT_LT(ran.right_behind, ran.buffers / 2) << "only before it is known how long they are";
}

TEST(Pairs, keep_every_buffer_on_several_threads) {
    for (const int targets : {1, 2, 3})
        for (const int copies : {2, 3, 5})
            for (const bool ordered : {false, true})
                EXPECT_EQ(run(targets, copies, 1us, ordered).sum, whole_sum)
                    << targets << ' ' << copies << ' ' << ordered;
}

struct Endless {
    Output<int> out{"out"};
    const std::atomic<bool>* over;
    long* sent;
    Endless(const std::atomic<bool>* when, long* number) : over(when), sent(number) {}
    bool operator()() {
        out.write(out.make(1));
        ++*sent;
        return !over->load();
    }
};

struct Count {
    Input<int> in{"in"};
    long* number;
    explicit Count(long* to) : number(to) {}
    void operator()() {
        (void)in.read();
        ++*number;
    }
};

/// Edits that change the number of either's copies while buffers pass.
TEST(Pairs, that_come_and_go_lose_nothing) {
    std::atomic<bool> over{false};
    long sent = 0, received = 0;
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& source = graph.add<Endless>("source", {}, &over, &sent);
    auto& first = graph.add<Stage>("first", {.copies = 2}, 0us);
    auto& second = graph.add<Stage>("second", {.copies = 2}, 0us);
    auto& last = graph.add<Count>("count", {}, &received);
    graph.connect(source.out, first.in);
    graph.connect(first.out, second.in);
    graph.connect(second.out, last.in);
    auto running = graph.start(machine);
    for (const int copies : {1, 3, 2, 1, 2, 4})
        for (const char* const name : {"first", "second"}) running.edit([&](Edit& edit) { edit.copies(name, copies); });
    over = true;
    running.finish();
    EXPECT_EQ(received, sent);
}

/// Of one that stays, the reader's other copies would get nothing for ever.
TEST(Pairs, whose_writers_become_fewer_leave_firings_of_some_microseconds_to_whoever_is_free) {
    std::atomic<bool> over{false};
    long sent = 0, received = 0;
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Endless>("source", {}, &over, &sent);
    auto& first = graph.add<Stage>("first", {.copies = 2}, 3us);
    auto& second = graph.add<Stage>("second", {.copies = 2}, 3us);
    auto& last = graph.add<Count>("count", {}, &received);
    graph.connect(source.out, first.in);
    graph.connect(first.out, second.in);
    graph.connect(second.out, last.in);
    auto running = graph.start(machine);
    const auto now = [&] {
        for (const auto& stream : running.statistics().streams)
            if (stream.from == "first.out") return std::pair(stream.buffers, stream.right_behind);
        return std::pair<std::uint64_t, std::uint64_t>{};
    };
    const auto run_on = [&] {
        const auto until = now().first + count;
        while (now().first < until) std::this_thread::sleep_for(1ms);
    };
    run_on();
    running.edit([](Edit& edit) { edit.copies("first", 1); });
    const auto before = now();
    run_on();
    const auto behind = now();
    over = true;
    running.finish();
    EXPECT_EQ(received, sent);
    EXPECT_LT(behind.second - before.second, (behind.first - before.first) / 2);
}

// ---- an order that is restored behind them ----

constexpr long enough = 500;

struct Until {
    static constexpr int too_long = 20'000;
    Output<int> out{"out"};
    const std::atomic<long>* received;
    long sent = 0;
    int waited = 0;  ///< ms, for a sink that is far behind: what comes before its turn takes no room
    explicit Until(const std::atomic<long>* at_the_sink) : received(at_the_sink) {}
    bool operator()() {
        if (sent - received->load() > 1'000) {
            std::this_thread::sleep_for(1ms);
            return ++waited < too_long;
        }
        auto buffer = out.make(1);
        buffer.edit()[0] = static_cast<int>(sent);
        out.write(std::move(buffer));
        ++sent;
        return received->load() < enough;
    }
};

struct ThrowsAtTimes {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    int fired = 0;
    void operator()() {
        if (++fired % 20 == 0) throw std::runtime_error("on purpose");  // before it has read
        out.write(in.read());
    }
};

struct InOrder {
    Input<int> in{"in"};
    std::atomic<long>* received;
    int last = -1;
    bool sorted = true;
    explicit InOrder(std::atomic<long>* number) : received(number) {}
    void operator()() {
        const int value = in.read()[0];
        sorted = sorted && value > std::exchange(last, value);
        ++*received;
    }
};

TEST(Pairs, that_fail_before_they_read_leave_no_gap_in_the_order) {
    for (const int targets : {0, 1}) {
        std::atomic<long> received{0};
        Machine machine{{.targets = targets}};
        Graph graph;
        auto& source = graph.add<Until>("source", {}, &received);
        auto& first = graph.add<Stage>("first", {.copies = 2}, 0us);
        auto& second = graph.add<ThrowsAtTimes>("second", {.copies = 2, .on_failure = OnFailure::go_on});
        auto& last = graph.add<InOrder>("last", {}, &received);
        graph.connect(source.out, first.in);
        graph.connect(first.out, second.in);
        graph.connect(second.out, last.in, {.ordered = true});
        auto running = graph.start(machine);
        EXPECT_THROW(running.finish(), FilterFailed);
        EXPECT_LT(source.waited, Until::too_long) << "the sink waited for what will never come";
        EXPECT_TRUE(last.sorted);
        for (const auto& stream : running.statistics().streams)
            if (stream.from == "first.out" && !penstock_tests::sanitized) EXPECT_GT(stream.right_behind, 0u);
    }
}

// ---- what is written at the end ----

struct WritesAtEnd {
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::chrono::microseconds lasts;
    explicit WritesAtEnd(std::chrono::microseconds time) : lasts(time) {}
    void operator()() {
        out.write(in.read());
        take(lasts);
    }
    void finish() { out.write(out.make(1)); }
};

TEST(Pairs, what_a_filter_with_long_firings_writes_at_its_end_arrives) {
    for (const auto lasts : {3us, 20us})  // those of 20 us have turns of their own
        for (const int targets : {0, 1, 2}) {
            long received = 0;
            Machine machine{{.targets = targets}};
            Graph graph;
            auto& source = graph.add<Source>("source");
            auto& between = graph.add<WritesAtEnd>("between", {}, lasts);
            auto& last = graph.add<Count>("count", {}, &received);
            graph.connect(source.out, between.in);
            graph.connect(between.out, last.in);
            auto running = graph.start(machine);
            running.finish();
            EXPECT_EQ(received, count + 1) << targets << " targets, " << lasts.count() << " us";
        }
}

// ---- a copy in the middle of a firing ----

struct Three {
    Output<int> out{"out"};
    std::atomic<int>* handled;
    int sent = 0;
    explicit Three(std::atomic<int>* of) : handled(of) {}
    bool operator()() {
        if (sent == 2) {  // the other copy has handled the second one, and is done with its firing
            for (int i = 0; i < 1'000 && handled->load() == 0; ++i) std::this_thread::sleep_for(1ms);
            std::this_thread::sleep_for(5ms);
        }
        auto buffer = out.make(1);
        buffer.edit()[0] = sent;
        out.write(std::move(buffer));
        return ++sent != 3;
    }
};

struct Stuck {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    std::atomic<int>* handled;
    std::atomic<bool>* passed;
    Stuck(std::atomic<int>* of, std::atomic<bool>* by) : handled(of), passed(by) {}
    void operator()() {
        if (in.read().span()[0] != 0) {
            handled->fetch_add(1);
            return;
        }
        for (int i = 0; i < 200 && handled->load() < 2; ++i) std::this_thread::sleep_for(1ms);
        passed->store(handled->load() == 2);
    }
};

TEST(Pairs, a_copy_that_fires_gets_nothing_while_another_is_free) {
    bool passed = false;
    for (int trial = 0; trial < 10 && !passed; ++trial) {  // on a busy machine the free copy may not be done yet
        std::atomic<int> handled{0};
        std::atomic<bool> by{false};
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& three = graph.add<Three>("three", {}, &handled);
        auto& stuck = graph.add<Stuck>("stuck", {.copies = 2}, &handled, &by);
        graph.connect(three.out, stuck.in);
        auto running = graph.start(machine);
        running.finish();
        passed = by.load();
    }
    EXPECT_TRUE(passed);
}

}  // namespace
