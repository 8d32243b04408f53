// Filters that end their worker processes: what is lost is named, and the rest goes on.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

enum class End : int { segfault, abort, exit, loop };

/// Passes on, but ends its process at one number.
struct Fragile {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value at;
    End how;
    Value passed = 0;
    Fragile(Value number, End end) : at(number), how(end) {}
    void operator()() {
        auto buffer = in.read();
        if (buffer[0] == at) {
            switch (how) {
                case End::segfault:
                    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would take it
                    std::raise(SIGSEGV);
                    break;
                case End::abort:
                    std::signal(SIGABRT, SIG_DFL);
                    std::abort();
                case End::exit:
                    _exit(3);
                case End::loop:
                    for (volatile bool for_ever = true; for_ever;) {
                    }
            }
        }
        buffer.edit()[0] += 1'000'000 * ++passed;
        out.write(std::move(buffer));
    }
};

/// The same, and knows how many it has passed whatever happens.
struct Durable : Fragile {
    using Fragile::Fragile;
    auto state() { return std::tie(passed); }
};

struct Outcome {
    std::vector<Value> got;
    std::vector<LostBuffer> lost;
    std::optional<FilterFailed> failure;
    FilterStatistics figures;
};

struct Drop {
    Input<Value> in{"in"};
    void operator()() { in.read(); }
};

enum class Readers : int { one, two };

/// With two readers, each of them gets every buffer of the numbers.
template <class F>
Outcome run_with(Machine& machine, Value count, Value at, End how, OnFailure on_failure,
                 Readers readers = Readers::one) {
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {.targets = {0}}, count);
    auto& fragile = graph.add<F>("fragile", {.targets = {1}, .on_failure = on_failure}, at, how);
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(numbers.out, fragile.in);
    graph.connect(fragile.out, reader.input);
    if (readers == Readers::two) graph.connect(numbers.out, graph.add<Drop>("drop", {.targets = {0}}).in);
    auto run = graph.start(machine);
    Outcome outcome;
    while (const auto buffer = reader.read()) outcome.got.push_back((*buffer)[0]);
    try {
        run.finish();
    } catch (const FilterFailed& failed) {
        outcome.failure = failed;
    }
    outcome.lost = run.lost();
    outcome.figures = run.statistics().filters[1];
    return outcome;
}

WorkerDied death_in(const FilterFailed& failed) {
    try {
        std::rethrow_exception(failed.cause());
    } catch (const WorkerDied& died) {
        return died;
    } catch (const std::exception& error) {
        ADD_FAILURE() << "another cause: " << error.what();
    }
    return WorkerDied({});
}

}  // namespace

TEST(FiltersThatCrash, lose_the_buffer_that_they_held_which_is_named_and_the_rest_goes_on) {
    SKIP_WITHOUT_PROCESSES();
    auto options = workers(2);
    options.time_limit = std::chrono::milliseconds(400);
    Machine machine(options);
    for (const auto how : {End::segfault, End::abort, End::exit, End::loop}) {
        const auto outcome = run_with<Durable>(machine, 40, 17, how, OnFailure::go_on);
        std::vector<Value> expected;
        for (Value i = 0, passed = 0; i < 40; ++i)
            if (i != 17) expected.push_back(i + 1'000'000 * ++passed);
        EXPECT_EQ(outcome.got, expected);
        ASSERT_EQ(outcome.lost.size(), 1u);
        EXPECT_EQ(outcome.lost[0], (LostBuffer{"fragile", 0, 17, "in", 17, 17}));
        EXPECT_EQ(outcome.figures.lost, 1u);
        EXPECT_EQ(outcome.figures.made_again, 1u);
        EXPECT_EQ(outcome.figures.failures, 1u);
        ASSERT_TRUE(outcome.failure);
        EXPECT_EQ(outcome.failure->filter(), "fragile");
        EXPECT_EQ(outcome.failure->firing(), 17u);
        EXPECT_TRUE(outcome.failure->loss().process);
        EXPECT_EQ(outcome.failure->loss().buffers, outcome.lost);
        EXPECT_NE(std::string(outcome.failure->what()).find("17 of 'fragile.in'"), std::string::npos)
            << outcome.failure->what();
        const auto died = death_in(*outcome.failure);
        EXPECT_EQ(died.target(), 1);
        switch (how) {
            case End::segfault:
                EXPECT_EQ(died.signal(), SIGSEGV);
                break;
            case End::abort:
                EXPECT_EQ(died.signal(), SIGABRT);
                break;
            case End::exit:
                EXPECT_EQ(died.exit_code(), 3);
                break;
            case End::loop:
                EXPECT_TRUE(died.time_limit());
                break;
        }
    }
    machine.finish();  // none of it is left over there
}

TEST(FiltersThatCrash, lose_a_buffer_that_another_filter_reads_too_under_its_own_number) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    const auto outcome = run_with<Durable>(machine, 40, 17, End::abort, OnFailure::go_on, Readers::two);
    EXPECT_EQ(outcome.got.size(), 39u);
    ASSERT_EQ(outcome.lost.size(), 1u);
    EXPECT_EQ(outcome.lost[0], (LostBuffer{"fragile", 0, 17, "in", 17, 17}));
}

TEST(FiltersThatCrash, stop_the_run_unless_they_say_otherwise) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    const auto outcome = run_with<Fragile>(machine, 1'000, 5, End::segfault, OnFailure::stop);
    ASSERT_TRUE(outcome.failure);
    EXPECT_EQ(outcome.got.size(), 5u);
    EXPECT_EQ(outcome.failure->firing(), 5u);
    EXPECT_EQ(outcome.lost.size(), 1u);
}

TEST(FiltersThatCrash, begin_afresh_where_they_say_nothing_of_their_state) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    const auto outcome = run_with<Fragile>(machine, 10, 5, End::segfault, OnFailure::go_on);
    EXPECT_EQ(outcome.got, (std::vector<Value>{1'000'000, 2'000'001, 3'000'002, 4'000'003, 5'000'004, 1'000'006,
                                               2'000'007, 3'000'008, 4'000'009}));
}

namespace {

/// Keeps the last buffer, and counts its starts where the program can see them.
struct Keeps {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Buffer<Value> kept;
    Value* starts;
    Value seen = 0;
    explicit Keeps(Value* count) : starts(count) {}
    void start() {
        ++*starts;
        out.write(out.make(1));  // once, whatever becomes of the object
    }
    void operator()() {
        kept = in.read();
        auto buffer = out.make(1);
        buffer.edit()[0] = ++seen;
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(FiltersThatCrash, take_with_them_what_others_keep_in_the_same_process) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    auto starts = machine.array<Value>(1);
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& fragile_writer = graph.add_writer<Value>("fragile writer");
    auto& keeps = graph.add<Keeps>("keeps", {}, starts.data());
    auto& fragile = graph.add<Fragile>("fragile", {.on_failure = OnFailure::go_on}, 1u, End::segfault);
    auto& reader = graph.add_reader<Value>("reader");
    auto& fragile_reader = graph.add_reader<Value>("fragile reader");
    graph.connect(writer.output, keeps.in);
    graph.connect(fragile_writer.output, fragile.in);
    graph.connect(keeps.out, reader.input);
    graph.connect(fragile.out, fragile_reader.input);
    auto run = graph.start(machine);
    const auto send = [](auto& to, Value value) { to.write(std::span<const Value>(&value, 1)); };
    EXPECT_TRUE(reader.read());  // of start()
    for (Value i = 0; i < 3; ++i) {
        send(writer, i);
        EXPECT_EQ((*reader.read())[0], i + 1);
    }
    send(fragile_writer, 1);
    send(fragile_writer, 2);
    EXPECT_EQ((*fragile_reader.read())[0], 1'000'002u);
    send(writer, 3);
    EXPECT_EQ((*reader.read())[0], 1u) << "the object begins afresh";
    try {
        run.finish();
        FAIL() << "nothing was thrown";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.loss().others, "'keeps'");
        EXPECT_NE(std::string(failed.what()).find("'keeps'"), std::string::npos);
    }
    EXPECT_EQ(starts[0], 2u);
    EXPECT_FALSE(reader.read()) << "what start() writes the second time goes nowhere";
    std::set<std::string> lost;
    for (const auto& each : run.lost()) lost.insert(each.filter + " " + std::to_string(each.sequence));
    EXPECT_EQ(lost, (std::set<std::string>{"fragile 0", "keeps 2"}));
    for (const auto& each : run.statistics().filters)
        EXPECT_EQ(each.made_again, each.name == "keeps" || each.name == "fragile" ? 1u : 0u) << each.name;
}

TEST(FiltersThatCrash, and_read_nothing_lose_the_buffer_that_waited_so_that_they_do_not_crash_for_ever) {
    SKIP_WITHOUT_PROCESSES();
    struct Blind {
        Input<Value> in{"in"};
        Output<Value> out{"out"};
        Value* tries;
        explicit Blind(Value* count) : tries(count) {}
        void operator()() {
            if (++*tries == 2) _exit(1);
            out.write(in.read());
        }
    };
    Machine machine(workers(1));
    auto tries = machine.array<Value>(1);
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 5u);
    auto& blind = graph.add<Blind>("blind", {.on_failure = OnFailure::go_on}, tries.data());
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(numbers.out, blind.in);
    graph.connect(blind.out, reader.input);
    auto run = graph.start(machine);
    std::vector<Value> got;
    while (const auto buffer = reader.read()) got.push_back((*buffer)[0]);
    EXPECT_THROW(run.finish(), FilterFailed);
    EXPECT_EQ(got, (std::vector<Value>{0, 2, 3, 4}));
    ASSERT_EQ(run.lost().size(), 1u);
    EXPECT_EQ(run.lost()[0].sequence, 1u);
}

namespace {

/// Passes on and says where it lives.
struct Shown {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value* process;
    explicit Shown(Value* where) : process(where) {}
    void operator()() {
        std::atomic_ref(*process).store(static_cast<Value>(getpid()), std::memory_order_relaxed);
        auto buffer = in.read();
        const auto until =
            std::chrono::steady_clock::now() + std::chrono::microseconds(50);  // long enough to be killed meanwhile
        while (std::chrono::steady_clock::now() < until) {
        }
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(FiltersThatCrash, are_ended_behind_their_own_time_limit) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 10u);
    auto& fragile = graph.add<Durable>(
        "fragile", {.on_failure = OnFailure::go_on, .time_limit = std::chrono::milliseconds(100)}, 3u, End::loop);
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, fragile.in);
    graph.connect(fragile.out, sum.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "nothing was thrown";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(death_in(failed).time_limit(), std::chrono::milliseconds(100));
    }
    EXPECT_EQ(sum.count, 9u);
    EXPECT_EQ(fragile.passed, 9u);
}

namespace {

/// Cannot be made anywhere but in the program.
struct Unmade {
    Input<Value> in{"in"};
    explicit Unmade(int program) {
        if (getpid() != program) _exit(9);
    }
    void operator()() { (void)in.read(); }
};

}  // namespace

TEST(FiltersThatCrash, while_they_are_made_fail_like_others) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 10u);
    auto& unmade = graph.add<Unmade>("unmade", {}, static_cast<int>(getpid()));
    graph.connect(numbers.out, unmade.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "nothing was thrown";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.filter(), "unmade");
        EXPECT_EQ(death_in(failed).exit_code(), 9);
    }
}

TEST(FiltersThatCrash, between_firings_fail_nothing_and_keep_their_state) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    auto process = machine.array<Value>(1);
    struct Told {
        Input<Value> in{"in"};
        Output<Value> out{"out"};
        Value* process;
        Value sum = 0;
        explicit Told(Value* where) : process(where) {}
        auto state() { return std::tie(sum); }
        void operator()() {
            *process = static_cast<Value>(getpid());
            sum += in.read()[0];
            auto buffer = out.make(1);
            buffer.edit()[0] = sum;
            out.write(std::move(buffer));
        }
    };
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& told = graph.add<Told>("told", {}, process.data());
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, told.in);
    graph.connect(told.out, reader.input);
    auto run = graph.start(machine);
    Value sum = 0;
    std::set<Value> seen;
    for (Value i = 1; i <= 5; ++i) {
        writer.write(std::span<const Value>(&i, 1));
        sum += i;
        EXPECT_EQ((*reader.read())[0], sum);
        EXPECT_TRUE(seen.insert(process[0]).second);
        // Idle by now, or about to be: what is at work behind its report fails nothing.
        EXPECT_EQ(kill(static_cast<pid_t>(process[0]), SIGKILL), 0);
        while (kill(static_cast<pid_t>(process[0]), 0) == 0) std::this_thread::yield();
    }
    run.finish();
    EXPECT_EQ(told.sum, 15u);
    EXPECT_TRUE(run.lost().empty());
    machine.finish();
}

TEST(FiltersThatCrash, under_random_kills_every_number_arrives_once_and_in_order_or_is_named_as_lost) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    auto processes = machine.array<Value>(2);
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    const auto add = [&](const char* name, std::size_t target) -> Shown& {
        return graph.add<Shown>(name, {.targets = {static_cast<int>(target)}, .on_failure = OnFailure::go_on},
                                &processes[target]);
    };
    auto& a = add("a", 0);
    auto& b = add("b", 1);
    auto& c = add("c", 0);
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, a.in);
    graph.connect(a.out, b.in);
    graph.connect(b.out, c.in);
    graph.connect(c.out, reader.input);
    auto run = graph.start(machine);
    std::atomic<bool> over{false};
    std::atomic<unsigned> kills{0};
    Value count = 0;
    std::thread writing([&] {
        for (Value i = 0; i < 1'000 || (kills < 25 && i < 100'000); count = ++i)
            writer.write(std::span<const Value>(&i, 1));
        writer.close();
    });
    std::thread killing([&] {
        std::mt19937 random(20261122);
        while (!over) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
            const auto process = std::atomic_ref(processes[random() % 2]).exchange(0);
            if (process != 0 && kill(static_cast<pid_t>(process), SIGKILL) == 0) ++kills;
        }
    });
    std::vector<Value> got;
    while (const auto buffer = reader.read()) got.push_back((*buffer)[0]);
    over = true;
    writing.join();
    killing.join();
    EXPECT_THROW(run.finish(), FilterFailed);
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    std::multiset<Value> all(got.begin(), got.end());
    const auto lost = run.lost();
    for (const auto& each : lost) all.insert(each.sequence);
    EXPECT_EQ(all.size(), count);
    for (Value i = 0; i < count; ++i) ASSERT_EQ(all.count(i), 1u) << i;
    EXPECT_GT(lost.size(), 0u);
    EXPECT_LE(lost.size(), kills);
    machine.finish();
}
