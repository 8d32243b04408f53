// Filters that live in worker processes do what they do on threads.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "penstock/spread.hpp"
#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

/// Each buffer comes out one firing later than it came in; the last with the end.
struct Later {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Buffer<Value> kept;
    void operator()() {
        if (kept) out.write(std::move(kept));
        kept = in.read();
    }
    void finish() { out.write(std::move(kept)); }
};

/// Sums of pairs; two buffers a firing.
struct Pairs {
    Input<Value> in{"in", {.at_least = 2}};
    Output<Value> sums{"sums"};
    Output<Value> each{"each"};
    void operator()() {
        Value sum = 0;
        for (int i = 0; i < 2 && in.waiting() != 0; ++i) {
            auto buffer = in.read();
            sum += buffer[0];
            each.write(std::move(buffer));
        }
        auto buffer = sums.make(1);
        buffer.edit()[0] = sum;
        sums.write(std::move(buffer));
    }
};

struct ReadAll {
    Input<Value> in{"in"};
    std::vector<Value> got, tags;
    Value most = 0;
    auto state() { return std::tie(got, tags, most); }
    void operator()() {
        Value now = 0;
        while (const auto buffer = in.read_if_any()) {
            got.push_back((*buffer)[0]);
            tags.push_back(buffer->tags().user[1]);
            ++now;
        }
        most = std::max(most, now);
    }
};

struct Negate {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() {
        auto buffer = in.read();
        for (Value& each : buffer.edit()) each = ~each;
        out.write(std::move(buffer));
    }
};

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

/// Writes what no output made.
struct OwnMemory {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() {
        Buffer<Value> buffer(3);
        buffer.edit()[0] = buffer.edit()[1] = buffer.edit()[2] = in.read()[0];
        out.write(std::move(buffer));
    }
};

/// Many buffers in one firing, of very different sizes, and one that it drops.
struct Burst {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() {
        const auto from = in.read();
        (void)out.make(100);
        for (Value i = 0; i < from[0]; ++i) {
            auto buffer = out.make(1 + i % 3 * 500);
            for (Value& each : buffer.edit()) each = i;
            out.write(std::move(buffer));
        }
    }
};

/// Keeps what others read too, and changes it in a later firing.
struct KeepsShared {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Buffer<Value> kept;
    void operator()() {
        auto fresh = in.read();
        if (kept) {
            kept.edit()[0] += fresh[0];
            out.write(std::move(kept));
        }
        kept = std::move(fresh);
    }
};

template <class F>
std::vector<Value> through(Machine& machine, std::vector<std::vector<Value>> values, FilterOptions options = {},
                           FilterStatistics* figures = nullptr) {
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& filter = graph.add<F>("filter", std::move(options));
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, filter.in);
    graph.connect(filter.out, reader.input);
    auto run = graph.start(machine);
    std::thread writing([&] {
        for (const auto& each : values) writer.write(each);
        writer.close();
    });
    std::vector<Value> all;
    while (const auto buffer = reader.read()) all.insert(all.end(), buffer->span().begin(), buffer->span().end());
    writing.join();
    try {
        run.finish();
    } catch (const FilterFailed&) {
        if (figures == nullptr) throw;
    }
    if (figures != nullptr)
        for (const auto& each : run.statistics().filters)
            if (each.name == "filter") *figures = each;
    return all;
}

std::vector<std::vector<Value>> ones(Value count) {
    std::vector<std::vector<Value>> all;
    for (Value i = 0; i < count; ++i) all.push_back({i});
    return all;
}

std::vector<Value> up_to(Value count) {
    std::vector<Value> all(count);
    std::iota(all.begin(), all.end(), Value{0});
    return all;
}

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

TEST(FiltersInProcesses, values_are_used_in_place_whatever_their_size) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    std::vector<std::vector<Value>> values;
    std::vector<Value> expected;
    for (const std::size_t size : {0, 1, 1'000, 131'072, 0, 3, 131'072, 17}) {
        values.emplace_back(size);
        for (std::size_t i = 0; i < size; ++i) expected.push_back(~(values.back()[i] = i * size));
    }
    EXPECT_EQ(through<Negate>(machine, values), expected);
    const auto used = machine.heap()->used();
    EXPECT_EQ(through<Negate>(machine, values), expected);
    EXPECT_EQ(machine.heap()->used(), used) << "what a run had in the heap is given back";
}

TEST(FiltersInProcesses, a_buffer_that_others_read_too_is_copied_before_it_is_changed) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 100u);
    auto& negate = graph.add<Negate>("negate");
    auto& again = graph.add<Negate>("again");
    auto& plain = graph.add<Sum>("plain");
    auto& negated = graph.add<Sum>("negated");
    graph.connect(numbers.out, negate.in);
    graph.connect(numbers.out, plain.in);
    graph.connect(negate.out, again.in);
    graph.connect(again.out, negated.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(plain.sum, 4'950u);
    EXPECT_EQ(negated.sum, 4'950u);
}

TEST(FiltersInProcesses, a_buffer_can_be_kept_until_a_later_firing) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    EXPECT_EQ(through<Later>(machine, ones(50)), up_to(50));
}

TEST(FiltersInProcesses, a_buffer_that_no_output_made_is_copied_once) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    EXPECT_EQ(through<OwnMemory>(machine, {{4}, {5}}), (std::vector<Value>{4, 4, 4, 5, 5, 5}));
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& sum = graph.add<Sum>("sum");
    graph.connect(writer.output, sum.in);
    auto run = graph.start(machine);
    Buffer<Value> own(2);
    own.edit()[0] = 40, own.edit()[1] = 2;
    writer.write(std::move(own));
    run.finish();
    EXPECT_EQ(sum.sum, 42u);
}

TEST(FiltersInProcesses, several_buffers_are_read_and_written_in_a_firing) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 101u);
    auto& pairs = graph.add<Pairs>("pairs");
    auto& sums = graph.add<ReadAll>("sums");
    auto& each = graph.add<ReadAll>("each");
    graph.connect(numbers.out, pairs.in);
    graph.connect(pairs.sums, sums.in);
    graph.connect(pairs.each, each.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(each.got, up_to(101));
    ASSERT_EQ(sums.got.size(), 51u);
    for (Value i = 0; i < 50; ++i) EXPECT_EQ(sums.got[i], 4 * i + 1);
    EXPECT_EQ(sums.got.back(), 100u);
}

TEST(FiltersInProcesses, a_filter_that_reads_all_that_waits_comes_to_see_more_at_once) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& all = graph.add<ReadAll>("all");
    graph.connect(writer.output, all.in, {.capacity = 64});
    auto run = graph.start(machine);
    for (const auto& each : ones(1'000)) writer.write(each);
    run.finish();
    EXPECT_EQ(all.got, up_to(1'000));
    EXPECT_GT(all.most, 4u);
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

TEST(FiltersInProcesses, a_firing_may_make_and_write_any_number_of_buffers) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    std::vector<Value> expected;
    for (const Value count : {300, 1, 0, 20})
        for (Value i = 0; i < count; ++i) expected.insert(expected.end(), 1 + i % 3 * 500, i);
    EXPECT_EQ(through<Burst>(machine, {{300}, {1}, {0}, {20}}), expected);
}

TEST(FiltersInProcesses, a_buffer_that_others_read_too_can_be_kept) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 100u);
    auto& keeps = graph.add<KeepsShared>("keeps");
    auto& plain = graph.add<Sum>("plain");
    auto& sums = graph.add<ReadAll>("sums");
    graph.connect(numbers.out, keeps.in);
    graph.connect(numbers.out, plain.in);
    graph.connect(keeps.out, sums.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(plain.sum, 4'950u);
    ASSERT_EQ(sums.got.size(), 99u);
    for (Value i = 0; i < 99; ++i) EXPECT_EQ(sums.got[i], 2 * i + 1);
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
    run.finish();
    EXPECT_EQ(run.statistics().filters[1].copies, 3);
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

TEST(FiltersInProcesses, a_pool_keeps_its_bound) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {.pool = 2}, 200u);
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(numbers.out, reader.input, {.capacity = 16});
    auto run = graph.start(machine);
    auto first = reader.read(), second = reader.read();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(reader.read_if_any()) << "there are two buffers, and both are here";
    first.reset(), second.reset();
    Value next = 2;
    while (const auto buffer = reader.read()) EXPECT_EQ((*buffer)[0], next++);
    EXPECT_EQ(next, 200u);
    run.finish();
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
