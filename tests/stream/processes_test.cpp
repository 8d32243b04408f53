// Filters that live in worker processes do what they do on threads.
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "penstock/spread.hpp"
#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

struct Described {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Setting<Value> factor{"factor", 1};
    Setting<std::string> word{"word", "none"};
    std::vector<std::string> names;
    std::map<std::string, Value> weights;
    std::optional<double> half;
    Value events = 0, started = 0;
    std::string last;
    Described(std::vector<std::string> some, std::map<std::string, Value> by_name, std::optional<double> fraction)
        : names(std::move(some)), weights(std::move(by_name)), half(fraction) {}
    auto state() { return std::tie(events, started, last); }
    void start() { ++started; }
    void on_event(const Event& event) {
        ++events;
        last = event.name + " " + std::get<std::string>(event.value);
    }
    void operator()() {
        (void)in.read();
        auto buffer = out.make(4);
        const auto values = buffer.edit();
        values[0] = factor;
        values[1] = word.get().size();
        values[2] = weights.at(names.at(1));
        values[3] = static_cast<Value>(half.value_or(0) * 100);
        buffer.edit_tags().user[1] = 77;
        out.write(std::move(buffer));
    }
};

struct Throws {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() {
        auto buffer = in.read();
        if (buffer[0] % 10 == 3) throw std::range_error("three");
        out.write(std::move(buffer));
    }
};

/// Sends a number round until it is 0.
struct Round {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value rounds = 0;
    auto state() { return std::tie(rounds); }
    void start() {
        auto buffer = out.make(1);
        buffer.edit()[0] = 20;
        out.write(std::move(buffer));
    }
    void operator()() {
        auto buffer = in.read();
        ++rounds;
        if (--buffer.edit()[0] != 0) out.write(std::move(buffer));
    }
};

struct Spreads {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Spread tasks;
    void operator()() {
        auto& from = tasks.keep(in.read());
        auto to = out.make(from.size());
        tasks.for_each(from.size(), [x = from.span(), y = to.edit()](std::size_t i) { y[i] = x[i] + 1; });
        out.write(std::move(to));
    }
};

}  // namespace

TEST(FiltersInProcesses, a_graph_gives_the_same_as_on_threads) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 1'000u);
    auto& twice = graph.add<Times>("twice", {}, 2u);
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, twice.in);
    graph.connect(twice.out, sum.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(sum.sum, 999'000u);
    EXPECT_EQ(sum.count, 1'000u);
    EXPECT_NE(sum.process, static_cast<Value>(getpid()));
    machine.finish();
}

TEST(FiltersInProcesses, copies_keep_an_order_that_is_asked_for) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 300u);
    auto& times = graph.add<Times>("times", {.copies = 3}, 1u);
    auto& all = graph.add<ReadAll>("all");
    graph.connect(numbers.out, times.in);
    graph.connect(times.out, all.in, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(all.got, up_to(300));
}

TEST(FiltersInProcesses, arguments_settings_events_and_tags_reach_the_worker) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& described =
        graph.add<Described>("described", {}, std::vector<std::string>{"a", "b"},
                             std::map<std::string, Value>{{"a", 5}, {"b", 6}}, std::optional<double>(0.5));
    described.word = "four";
    auto& tail = graph.add<Times>("tail", {}, 1u);
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, described.in);
    graph.connect(described.out, tail.in);
    graph.connect(tail.out, reader.input);
    auto run = graph.start(machine);
    const std::vector<Value> one{1};
    writer.write(one);
    auto buffer = reader.read();
    ASSERT_TRUE(buffer);
    EXPECT_EQ(std::vector<Value>(buffer->span().begin(), buffer->span().end()), (std::vector<Value>{1, 4, 6, 50}));
    EXPECT_EQ(buffer->tags().user[1], 77u);
    run.edit([](Edit& edit) {
        edit.set("described", "factor", std::int64_t{9});
        edit.set("described", "word", std::string("sevenly"));
    });
    run.send({"first", std::string("x")}, "described");
    run.send({"second", std::string("y")}, "described");
    writer.write(one);
    buffer = reader.read();
    ASSERT_TRUE(buffer);
    EXPECT_EQ((*buffer)[0], 9u);
    EXPECT_EQ((*buffer)[1], 7u);
    buffer->reset();
    run.finish();
    EXPECT_EQ(described.events, 2u);
    EXPECT_EQ(described.last, "second y");
    EXPECT_EQ(described.started, 1u);
}

TEST(FiltersInProcesses, what_cannot_be_carried_over_is_refused_by_name) {
    SKIP_WITHOUT_PROCESSES();
    struct Pointed {
        Input<Value> in{"in"};
        explicit Pointed(Value* at) { (void)at; }
        void operator()() { (void)in.read(); }
    };
    struct Owner {
        Input<Value> in{"in"};
        Owner(int, std::shared_ptr<int>) {}
        void operator()() { (void)in.read(); }
    };
    Machine machine(workers(1));
    Graph graph;
    Value here = 0;
    auto& numbers = graph.add<Numbers>("numbers", {}, 1u);
    auto& pointed = graph.add<Pointed>("pointed", {}, &here);
    auto& owner = graph.add<Owner>("owner", {}, 3, std::make_shared<int>(1));
    graph.connect(numbers.out, pointed.in);
    graph.connect(numbers.out, owner.in);
    try {
        auto run = graph.start(machine);
        FAIL() << "the graph was started";
    } catch (const GraphError& error) {
        const std::string text = error.what();
        for (const char* part : {"'pointed'", "Pointed", "argument 1", "pointer to memory of the program's own",
                                 "'owner'", "argument 2", "shared_ptr"})
            EXPECT_NE(text.find(part), text.npos) << part << " is missing in\n" << text;
        EXPECT_EQ(error.problems().size(), 2u);
    }
    auto shared = machine.array<Value>(1);
    Graph other;
    auto& source = other.add<Numbers>("numbers", {}, 1u);
    auto& allowed = other.add<Pointed>("pointed", {}, shared.data());
    other.connect(source.out, allowed.in);
    other.start(machine).finish();
}

TEST(FiltersInProcesses, an_exception_comes_by_type_and_text_and_the_rest_can_go_on) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    try {
        (void)through<Throws>(machine, ones(20));
        FAIL() << "nothing was thrown";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.filter(), "filter");
        EXPECT_EQ(failed.firing(), 3u);
        EXPECT_FALSE(failed.loss().process);
        try {
            std::rethrow_exception(failed.cause());
        } catch (const RemoteException& remote) {
            EXPECT_EQ(remote.type(), "std::range_error");
            EXPECT_NE(std::string(remote.what()).find("three"), std::string::npos);
        }
    } catch (const RunEnded&) {  // the writer was still at it when the run stopped
    }
    FilterStatistics figures;
    const auto rest = through<Throws>(machine, ones(30), {.on_failure = OnFailure::go_on}, &figures);
    EXPECT_EQ(rest.size(), 27u);
    EXPECT_EQ(figures.failures, 3u);
    EXPECT_EQ(figures.firings, 30u);
}

TEST(FiltersInProcesses, a_cycle_goes_round_and_ends) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& first = graph.add<Round>("first");
    auto& other = graph.add<Times>("other", {}, 1u);
    graph.connect(first.out, other.in);
    graph.connect(other.out, first.in, {.feedback = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(first.rounds, 20u);
}

TEST(FiltersInProcesses, a_spread_runs_inside_the_worker) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    EXPECT_EQ(through<Spreads>(machine, {{0, 1, 2, 3}, {10}}), (std::vector<Value>{1, 2, 3, 4, 11}));
}

TEST(FiltersInProcesses, two_runs_share_the_workers_and_threads_of_the_program_help_each) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    const auto one = [&] { EXPECT_EQ(through<Later>(machine, ones(200)), up_to(200)); };
    std::thread other(one);
    one();
    other.join();
    machine.finish();
}

TEST(FiltersInProcesses, as_many_copies_as_workers_are_made_where_their_number_is_automatic) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(3));
    FilterStatistics figures;
    auto options = FilterOptions{.copies = FilterOptions::automatic};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 30u);
    auto& times = graph.add<Times>("times", options, 1u);
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, times.in);
    graph.connect(times.out, sum.in);
    auto run = graph.start(machine);
    EXPECT_EQ(run.statistics().filters[1].copies, 3);
    run.finish();
    EXPECT_EQ(sum.sum, 435u);
}

TEST(FiltersInProcesses, a_time_limit_is_refused_where_nobody_keeps_it) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {.time_limit = std::chrono::seconds(1)}, 1u);
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, sum.in);
    EXPECT_THROW((void)graph.start(machine), GraphError);
}

TEST(FiltersInProcesses, the_graph_goes_on_while_no_thread_of_the_program_helps) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 300u);
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, sum.in);
    auto run = graph.start(machine);
    for (int i = 0; i < 2'000 && !run.ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(run.ended());
    run.finish();
    EXPECT_EQ(sum.sum, 44'850u);
}

TEST(FiltersInProcesses, a_run_can_be_stopped_and_another_follows_on_the_same_workers) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    for (int i = 0; i < 3; ++i) {
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {}, ~Value{0});
        auto& sum = graph.add<Sum>("sum");
        graph.connect(numbers.out, sum.in);
        auto run = graph.start(machine);
        while (run.statistics().filters[1].firings < 20) std::this_thread::yield();
        run.stop();
        EXPECT_GE(sum.count, 20u);
        EXPECT_EQ(sum.sum, sum.count * (sum.count - 1) / 2);
    }
    machine.finish();
}
