// What a running graph tells and is told: statistics, events, firings that go on as tasks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/spread.hpp"
#include "stream/parts.hpp"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

struct Numbers {
    Output<int> out{"out"};
    int count;
    int next = 0;
    explicit Numbers(int n) : count(n) {}
    bool operator()() {
        if (next == count) return false;
        auto buffer = out.make(64);
        std::iota(buffer.edit().begin(), buffer.edit().end(), next++);
        out.write(std::move(buffer));
        return true;
    }
};

/// Adds `more` to each value, in tasks.
struct AddInTasks {
    Input<int> in{"in"};
    Output<int> out{"out"};
    Spread tasks;
    int more = 1;
    int fails_at = -1;
    int fired = 0;
    void operator()() {
        const auto& from = tasks.keep(in.read());
        auto to = out.make(from.size());
        const bool fails = fired++ == fails_at;
        tasks.for_each(
            from.size(),
            [x = from.span(), y = to.edit(), add = more, fails](std::size_t i) {
                if (fails && i == 7) throw std::runtime_error("the seventh");
                y[i] = x[i] + add;
            },
            16);
        out.write(std::move(to));
    }
};

struct Sum {
    Input<int> in{"in"};
    long sum = 0;
    int count = 0;
    void operator()() {
        const auto buffer = in.read();
        sum += std::accumulate(buffer.span().begin(), buffer.span().end(), 0L);
        ++count;
    }
};

struct Slow {
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::vector<std::string> events;
    void operator()() {
        const auto until = std::chrono::steady_clock::now() + 20us;
        while (std::chrono::steady_clock::now() < until) {
        }
        out.write(in.read());
    }
    void on_event(const Event& event) { events.push_back(event.name); }
};

long sum_of(int buffers, int more) {
    long sum = 0;
    for (int i = 0; i < buffers; ++i)
        for (int j = 0; j < 64; ++j) sum += i + j + more;
    return sum;
}

}  // namespace

/// So many buffers through a filter that adds in tasks.
void expect_sum_by_tasks(Machine& machine, int buffers) {
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, buffers);
    auto& add = graph.add<AddInTasks>("add");
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, add.in);
    graph.connect(add.out, sum.in);
    auto run = graph.start(machine);
    run.finish();
    ASSERT_EQ(sum.count, buffers);
    ASSERT_EQ(sum.sum, sum_of(buffers, 1));
}

TEST(Spread, outputs_are_sent_when_the_last_task_of_the_firing_has_completed) {
    for (const int targets : {0, 1, 2}) {
        Machine machine{{.targets = targets}};
        expect_sum_by_tasks(machine, 500);
    }
}

// For the thread sanitizer: the run may be over when a task has said that it was its firing's last.
TEST(Spread, a_run_is_not_destroyed_under_the_task_that_ends_its_last_firing) {
    Machine machine{{.targets = 1}};
    for (int turn = 0; turn < 5'000 && !HasFatalFailure(); ++turn) expect_sum_by_tasks(machine, 1);
}

TEST(Spread, a_task_that_throws_fails_its_firing) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 20);
    auto& add = graph.add<AddInTasks>("add", {.on_failure = OnFailure::go_on});
    add.fails_at = 5;
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, add.in);
    graph.connect(add.out, sum.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "the failure was lost";
    } catch (const FilterFailed& failure) {
        EXPECT_EQ(failure.filter(), "add");
        EXPECT_NE(std::string(failure.what()).find("the seventh"), std::string::npos);
    }
}

/// What may not be moved into a task: there was no room, say.
struct Immovable {
    Immovable() = default;
    Immovable(const Immovable&) = default;
    [[noreturn]] Immovable(Immovable&&) : Immovable() { throw std::runtime_error("cannot be moved"); }
    void operator()() const {}
};

struct IssuesImmovable {
    Input<int> in{"in"};
    Spread tasks;
    void operator()() {
        in.read();
        const Immovable body;
        tasks.call(body);
    }
};

TEST(Spread, a_task_that_could_not_be_issued_fails_its_firing_which_ends) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 20);
    auto& issues = graph.add<IssuesImmovable>("issues", {.on_failure = OnFailure::go_on});
    graph.connect(numbers.out, issues.in);
    auto run = graph.start(machine);
    EXPECT_THROW(run.finish(), FilterFailed);
    EXPECT_EQ(run.statistics().filters[1].failures, 20u);
}

TEST(Spread, tasks_outside_a_firing_are_refused) {
    AddInTasks lonely;
    EXPECT_THROW(lonely.tasks.call([] {}), UsageError);
}

TEST(Statistics, count_what_was_done_and_name_the_bottleneck) {
    Machine machine{{.targets = 1}};
    bool named = false;
    for (int trial = 0; trial < 10 && !named; ++trial) {  // the system may interrupt one of the firings that are timed
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {}, 2'000);
        auto& slow = graph.add<Slow>("slow");
        auto& sum = graph.add<Sum>("sum");
        graph.connect(numbers.out, slow.in);
        graph.connect(slow.out, sum.in);
        auto run = graph.start(machine);
        run.finish();
        const auto figures = run.statistics();
        ASSERT_EQ(figures.filters.size(), 3u);
        for (const auto& filter : figures.filters) EXPECT_GE(filter.firings, 2'000u) << filter.name;
        ASSERT_EQ(figures.streams.size(), 2u);
        EXPECT_EQ(figures.streams[0].buffers, 2'000u);
        EXPECT_NE(figures.text().find("bottleneck: " + figures.bottleneck), std::string::npos);
        EXPECT_NE(drawing_of(run.description(), &figures).find("\"slow\" -> \"sum\""), std::string::npos);
        named = figures.bottleneck == "slow";
    }
    EXPECT_TRUE(named);
}

namespace {

thread_local const int* newest_of_thread = nullptr;

struct NotingNumbers : parts::Numbers {
    using parts::Numbers::Numbers;
    bool operator()() {
        if (next == count) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        newest_of_thread = buffer.span().data();
        out.write(std::move(buffer));
        return true;
    }
};

struct NotingPassOn {
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::uint64_t last_written = 0;
    void operator()() {
        auto buffer = in.read();
        last_written += buffer.span().data() == std::exchange(newest_of_thread, nullptr);
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(Statistics, tell_what_was_posted_from_what_was_handed_on_by_pointer) {
    constexpr std::uint64_t count = 2'000;
    for (const bool placed : {true, false}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        const auto on = [placed](int target) { return placed ? FilterOptions{.targets = {target}} : FilterOptions{}; };
        auto& source = graph.add<NotingNumbers>("source", on(0), static_cast<int>(count));
        auto& near = graph.add<NotingPassOn>("near", on(0));
        auto& queued = graph.add<parts::PassOn>("queued", on(0));
        auto& other = graph.add<parts::Collect>("other", on(1));
        graph.connect(source.out, near.in);
        graph.connect(near.out, queued.in, {.fuse = false});
        graph.connect(queued.out, other.in);
        auto run = graph.start(machine);
        run.finish();
        const auto streams = run.statistics().streams;
        for (const auto& each : streams) {
            EXPECT_EQ(each.buffers, count) << each.from;
            EXPECT_LE(each.posted + each.right_behind, each.buffers) << each.from;
            if (!placed) {
                EXPECT_EQ(each.posted + each.right_behind, each.buffers) << each.from;
            }
        }
        EXPECT_EQ(streams[1].right_behind, 0u) << "it is not to be fused";
        if (!placed) continue;
        EXPECT_EQ(streams[0].posted, 0u) << "both filters are on one target";
        EXPECT_GT(streams[0].right_behind, 0u);
        EXPECT_LE(streams[0].right_behind, near.last_written) << "the reader's thread had just written the buffer";
        EXPECT_EQ(streams[1].posted, 0u) << "in the queue of a filter on the same target";
        EXPECT_EQ(streams[2].posted, count) << "to another target";
        EXPECT_EQ(streams[2].right_behind, 0u);
    }
}

TEST(Events, are_handled_between_firings_in_the_order_in_which_they_came) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& slow = graph.add<Slow>("slow");
    auto& sum = graph.add<Sum>("sum");
    graph.connect(writer.output, slow.in);
    graph.connect(slow.out, sum.in);
    auto run = graph.start(machine);
    std::vector<std::string> sent;
    const int value[1] = {1};
    for (int i = 0; i < 100; ++i) {
        sent.push_back("event " + std::to_string(i));
        run.send({sent.back()}, i % 2 == 0 ? "slow" : "");
        writer.write(value);
    }
    EXPECT_THROW(run.send({"nothing"}, "sum"), UsageError);
    run.finish();
    EXPECT_EQ(slow.events, sent);
    EXPECT_EQ(sum.count, 100);
    EXPECT_THROW(run.send({"late"}), RunEnded);
}

/// A filter whose first event is held until somebody opens.
struct Held {
    Input<int> in{"in"};
    std::vector<std::string> events;
    std::atomic<bool> begun{false}, open{false};
    void operator()() { in.read(); }
    void on_event(const Event& event) {
        events.push_back(event.name);
        begun = true;
        while (!open) std::this_thread::yield();
    }
};

TEST(Events, of_a_timer_do_not_pile_up_at_a_filter_that_is_slow) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& held = graph.add<Held>("held");
    graph.connect(writer.output, held.in);
    auto run = graph.start(machine);
    run.send_after(0ns, {"tick"}, "held", 10us);
    while (!held.begun) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    run.send({"last"}, "held");
    held.open = true;
    run.finish();
    ASSERT_GE(held.events.size(), 2u);
    EXPECT_EQ(held.events[1], "last");
}

TEST(Events, of_times_at_which_the_program_stood_still_are_not_sent_afterwards) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& slow = graph.add<Slow>("slow");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, slow.in);
    graph.connect(slow.out, reader.input);
    std::atomic<int> ticks{0};
    std::atomic<bool> last{false};
    auto run = graph.start(machine);
    run.listen([&](const Event& event) {
        if (event.name == "tick") ++ticks;
        else last = true;
        return true;
    });
    run.send_after(-100s, {"tick"}, "", 1s);
    run.send_after(0ns, {"last"});
    while (!last) std::this_thread::yield();
    EXPECT_LT(ticks, 50);  // of 100 times
    run.finish();
}

TEST(Events, that_cannot_be_sent_by_a_timer_are_told_at_the_end) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, reader.input);
    std::atomic<bool> asked{false};
    auto run = graph.start(machine);
    run.listen([&](const Event& event) -> bool {
        if (event.name != "refused") return asked = true;
        throw std::bad_alloc();
    });
    run.send_after(0ns, {"refused"}, "", 1h);
    run.send_after(1ms, {"next"});
    while (!asked) std::this_thread::yield();
    EXPECT_THROW(run.finish(), std::bad_alloc);
}

TEST(Events, can_be_sent_later_and_again) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& slow = graph.add<Slow>("slow");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, slow.in);
    graph.connect(slow.out, reader.input);
    auto run = graph.start(machine);
    run.send_after(1ms, {"tick"}, "slow", 1ms);
    const int value[1] = {1};
    for (int i = 0; i < 20; ++i) {
        writer.write(value);
        ASSERT_TRUE(reader.read().has_value());
        std::this_thread::sleep_for(1ms);
    }
    run.finish();
    EXPECT_GE(slow.events.size(), 3u);
}
