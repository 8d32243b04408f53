// Buffers of filters in worker processes: used in place, kept, shared, and made in any number.
#include <thread>

#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

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

struct Negate {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() {
        auto buffer = in.read();
        for (Value& each : buffer.edit()) each = ~each;
        out.write(std::move(buffer));
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

}  // namespace

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

/// The same values come by two inputs; some are handed on, by either, and some are read later.
struct BothInputs {
    Input<Value> a{"a"}, b{"b"};
    Output<Value> handed_on{"handed_on"}, sums{"sums"};
    Value firings = 0;
    penstock::Buffer<Value> kept;
    void operator()() {
        auto first = a.read(), second = b.read();
        auto sum = sums.make(1);
        sum.edit()[0] = first[0] + second[0];
        sums.write(std::move(sum));
        if (firings % 3 == 1) handed_on.write(std::move(first));
        if (firings % 3 == 2) handed_on.write(std::move(second));
        if (firings++ % 5 == 4) kept = std::move(second ? second : first);
    }
};

TEST(FiltersInProcesses, two_inputs_may_bring_the_same_values) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {.pool = 5}, 300u);
    auto& both = graph.add<BothInputs>("both");
    auto& sums = graph.add<ReadAll>("sums");
    auto& others = graph.add<Sum>("others");
    graph.connect(numbers.out, both.a);
    graph.connect(numbers.out, both.b);
    graph.connect(both.sums, sums.in);
    graph.connect(both.handed_on, others.in);
    auto run = graph.start(machine);
    run.finish();
    ASSERT_EQ(sums.got.size(), 300u);
    for (Value i = 0; i < 300; ++i) EXPECT_EQ(sums.got[i], 2 * i);
    Value handed_on = 0;
    for (Value i = 0; i < 300; ++i) handed_on += i % 3 == 0 ? 0 : i;
    EXPECT_EQ(others.sum, handed_on);
    EXPECT_EQ(others.count, 200u);
}
