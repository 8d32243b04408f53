// Buffers that refer to the program's memory: nothing is copied until somebody edits, and what they wrap is never
// written.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_error.hpp"
#include "tests/stream/processes_support.hpp"

namespace {

using penstock::Buffer;
using penstock::Graph;
using penstock::Input;
using penstock::Machine;
using penstock::Output;
using penstock::view;

/// The rows of a matrix, each wrapped.
struct Rows {
    Output<int> out{"out"};
    const std::vector<int>* values;
    std::size_t columns, next = 0;
    std::shared_ptr<const void> holder;
    Rows(const std::vector<int>* of, std::size_t across, std::shared_ptr<const void> held = {})
        : values(of), columns(across), holder(std::move(held)) {}
    bool operator()() {
        if (next == values->size() / columns) return false;
        out.write(out.wrap(std::span(*values).subspan(next++ * columns, columns), holder));
        return true;
    }
};

struct Double {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        for (int& each : buffer.edit()) each *= 2;
        out.write(std::move(buffer));
    }
};

struct Where {
    std::vector<const int*> at;
    std::vector<int> values;
};

struct Look {
    Input<int> in{"in"};
    Where* seen;
    explicit Look(Where* into) : seen(into) {}
    void operator()() {
        const auto buffer = in.read();
        seen->at.push_back(buffer.span().data());
        seen->values.insert(seen->values.end(), buffer.span().begin(), buffer.span().end());
    }
};

std::vector<int> counted(std::size_t n) {
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 0);
    return values;
}

std::vector<int> doubled(std::vector<int> values) {
    for (int& each : values) each *= 2;
    return values;
}

TEST(Wrap, readers_see_the_programs_own_memory) {
    const auto values = counted(40);
    Machine machine{{.targets = 1}};
    Where seen;
    Graph graph;
    auto& rows = graph.add<Rows>("rows", {}, &values, 10u);
    auto& look = graph.add<Look>("look", {}, &seen);
    graph.connect(rows.out, look.in);
    graph.start(machine).finish();
    EXPECT_EQ(seen.at, (std::vector<const int*>{&values[0], &values[10], &values[20], &values[30]}));
    EXPECT_EQ(seen.values, values);
}

TEST(Wrap, whoever_edits_gets_a_copy) {
    const auto values = counted(3000);
    Machine machine{{.targets = 2}};
    Where seen, beside;
    Graph graph;
    auto& rows = graph.add<Rows>("rows", {}, &values, 3u);
    auto& twice = graph.add<Double>("double", {.copies = 2});
    auto& look = graph.add<Look>("look", {}, &seen);
    auto& other = graph.add<Look>("other", {}, &beside);
    graph.connect(rows.out, twice.in, {.capacity = 2});
    graph.connect(rows.out, other.in, {.capacity = 2});
    graph.connect(twice.out, look.in, {.ordered = true});
    graph.start(machine).finish();
    EXPECT_EQ(values, counted(3000));
    EXPECT_EQ(seen.values, doubled(values));
    EXPECT_EQ(beside.values, values);
}

TEST(Wrap, one_reader_alone_gets_a_copy_too_and_blocks_are_used_again_for_made_ones) {
    struct Mixed {
        Output<int> out{"out"};
        const std::vector<int>* values;
        int next = 0;
        explicit Mixed(const std::vector<int>* of) : values(of) {}
        bool operator()() {
            if (next == 400) return false;
            if (next % 2 == 0) {
                out.write(out.wrap(std::span(*values)));
            } else {
                auto made = out.make(static_cast<std::size_t>(next));
                for (std::size_t i = 0; i < made.size(); ++i) made.edit()[i] = 1;
                out.write(std::move(made));
            }
            ++next;
            return true;
        }
    };
    const auto values = counted(10);
    Machine machine{{.targets = 0}};
    Where seen;
    Graph graph;
    auto& mixed = graph.add<Mixed>("mixed", {}, &values);
    auto& twice = graph.add<Double>("double");
    auto& look = graph.add<Look>("look", {}, &seen);
    graph.connect(mixed.out, twice.in);
    graph.connect(twice.out, look.in);
    graph.start(machine).finish();
    EXPECT_EQ(values, counted(10));
    std::vector<int> wanted;
    for (int i = 0; i < 400; ++i) {
        const auto next = i % 2 == 0 ? doubled(values) : std::vector<int>(static_cast<std::size_t>(i), 2);
        wanted.insert(wanted.end(), next.begin(), next.end());
    }
    EXPECT_EQ(seen.values, wanted);
}

TEST(Wrap, the_holder_goes_with_the_last_reader) {
    Machine machine{{.targets = 1}};
    auto values = std::make_shared<std::vector<int>>(counted(4));
    const std::weak_ptr<const void> held = values;
    Graph graph;
    auto& rows = graph.add_writer<int>("rows");
    auto& first = graph.add_reader<int>("first");
    auto& second = graph.add_reader<int>("second");
    graph.connect(rows.output, first.input);
    graph.connect(rows.output, second.input);
    auto run = graph.start(machine);
    rows.write(rows.wrap(*values, values));
    values.reset();
    auto one = first.read(), two = second.read();
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->span().data(), two->span().data());
    one.reset();
    EXPECT_FALSE(held.expired());
    (void)two->edit();  // a copy, so that nobody reads what is wrapped
    EXPECT_TRUE(held.expired());
    EXPECT_EQ((*two)[3], 3);
    rows.close();
    EXPECT_FALSE(first.read() || second.read());
    run.finish();
}

TEST(Wrap, a_buffer_that_is_never_written_lets_its_holder_go) {
    Machine machine{{.targets = 0}};
    auto values = std::make_shared<std::vector<int>>(counted(4));
    Graph graph;
    auto& rows = graph.add_writer<int>("rows");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(rows.output, reader.input);
    auto run = graph.start(machine);
    (void)rows.wrap(*values, values);
    EXPECT_EQ(values.use_count(), 1);
    rows.write(rows.make(1));  // of the same block
    EXPECT_EQ(reader.read()->size(), 1u);
    rows.close();
    EXPECT_FALSE(reader.read());
    run.finish();
}

TEST(Wrap, what_has_no_room_says_so) {
    Machine machine{{.targets = 0}};
    const auto values = counted(4);
    Graph graph;
    auto& rows = graph.add_writer<int>("rows");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(rows.output, reader.input);
    auto run = graph.start(machine);
    auto buffer = rows.wrap(values);
    EXPECT_EQ(buffer.capacity(), 4u);
    EXPECT_THROW(buffer.append(1), penstock::BufferOverrun);
    EXPECT_THROW(buffer.resize(5), penstock::BufferOverrun);
    buffer.resize(2);
    EXPECT_EQ(buffer.size(), 2u);
    buffer.edit()[0] = 7;
    EXPECT_EQ(values, counted(4));
    EXPECT_EQ(buffer[0], 7);
    EXPECT_EQ(buffer[1], 1);
    EXPECT_TRUE(rows.wrap(std::span<const int>()).empty());
    run.stop();
}

TEST(Wrap, values_that_do_not_lie_one_after_the_other_are_refused) {
    struct Part {
        Output<int> out{"out"};
        const std::vector<int>* values;
        explicit Part(const std::vector<int>* of) : values(of) {}
        bool operator()() {
            const view<const int, 2> all{values->data(), {4, 4}};
            out.write(out.wrap(all.part({0, 1}, {4, 2})));
            return false;
        }
    };
    const auto values = counted(16);
    Machine machine{{.targets = 0}};
    Where seen;
    Graph graph;
    auto& part = graph.add<Part>("part", {}, &values);
    auto& look = graph.add<Look>("look", {}, &seen);
    graph.connect(part.out, look.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL() << "a part of a matrix was wrapped";
    } catch (const penstock::FilterFailed& failed) {
        EXPECT_NE(std::string(failed.what()).find("one after the other"), std::string::npos) << failed.what();
    }
}

/// In worker processes: `Times` edits what the program has wrapped, also where it lies in memory that they share.
TEST(WrapForProcesses, workers_get_copies_and_leave_the_programs_memory_alone) {
    SKIP_WITHOUT_PROCESSES();
    using processes::Value;
    Machine machine(processes::workers(2));
    auto shared = machine.array<Value>(8);
    std::vector<Value> own(8, 5);
    std::fill(shared.begin(), shared.end(), Value{3});
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& times = graph.add<processes::Times>("times", {}, Value{10});
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, times.in);
    graph.connect(times.out, reader.input);
    auto run = graph.start(machine);
    for (int i = 0; i < 20; ++i) {
        writer.write(writer.wrap(own));
        writer.write(writer.wrap(std::span<const Value>(shared.data(), shared.size())));
        const auto first = reader.read(), second = reader.read();
        ASSERT_TRUE(first && second);
        EXPECT_EQ(std::vector<Value>(first->span().begin(), first->span().end()), std::vector<Value>(8, 50));
        EXPECT_EQ(std::vector<Value>(second->span().begin(), second->span().end()), std::vector<Value>(8, 30));
    }
    writer.close();
    EXPECT_FALSE(reader.read());
    run.finish();
    EXPECT_EQ(own, std::vector<Value>(8, 5));
    EXPECT_EQ(shared[0], 3u);
    EXPECT_EQ(shared[7], 3u);
}

/// A source in a worker process copies at once: its memory is its own.
struct WrapsInAWorker {
    Output<processes::Value> out{"out"};
    processes::Value next = 0;
    auto state() { return std::tie(next); }
    bool operator()() {
        if (next == 50) return false;
        const std::vector<processes::Value> here(3, next++);
        out.write(out.wrap(here));
        return true;
    }
};

TEST(WrapForProcesses, a_worker_that_wraps_copies) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(processes::workers(1));
    Graph graph;
    auto& source = graph.add<WrapsInAWorker>("source");
    auto& reader = graph.add_reader<processes::Value>("reader");
    graph.connect(source.out, reader.input);
    auto run = graph.start(machine);
    for (processes::Value next = 0; const auto buffer = reader.read(); ++next)
        EXPECT_EQ(std::vector<processes::Value>(buffer->span().begin(), buffer->span().end()),
                  std::vector<processes::Value>(3, next));
    run.finish();
}

}  // namespace
