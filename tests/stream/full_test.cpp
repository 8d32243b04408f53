// Streams and pools without room.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;

namespace {

/// `n` buffers of `size` values each; asks how many wait at once at its sink.
struct Sized {
    Output<std::byte> out{"out"};
    int count;
    std::size_t size;
    Sized(int n, std::size_t bytes) : count(n), size(bytes) {}
    bool operator()() {
        if (count-- == 0) return false;
        auto buffer = out.make(size);
        if (size != 0) buffer.edit()[size - 1] = std::byte{42};
        out.write(std::move(buffer));
        return true;
    }
};

/// Counts, and notes how many waited.
struct Weigh {
    Input<std::byte> in{"in"};
    std::size_t buffers = 0, bytes = 0, most_waiting = 0;
    bool right = true;
    void operator()() {
        most_waiting = std::max(most_waiting, in.waiting());
        const auto buffer = in.read();
        ++buffers;
        bytes += buffer.size();
        right = right && (buffer.empty() || buffer[buffer.size() - 1] == std::byte{42});
    }
};

/// Several at a time, fewer at the end.
struct Batch {
    Input<int> in{"in", {.at_least = 12}};
    std::vector<std::size_t> sizes;
    std::vector<int> got;
    void operator()() {
        sizes.push_back(std::min<std::size_t>(in.waiting(), 12));
        for (std::size_t i = 0; i < sizes.back(); ++i) got.push_back(in.read()[0]);
    }
};

}  // namespace

TEST(FullStreams, wait_holds_the_writer_back_and_loses_nothing) {
    for (const std::size_t capacity : {1, 2, 7}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 3'000, 5);
        auto& sink = graph.add<Collect>("sink");
        graph.connect(source.out, sink.in, {.capacity = capacity});
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(sink.got, parts::numbers(3'000));
    }
}

TEST(FullStreams, what_is_dropped_is_the_newest_or_the_oldest_as_was_said) {
    for (const auto when_full : {WhenStreamFull::drop_newest, WhenStreamFull::drop_oldest}) {
        Machine machine{{.targets = 0}};  // nothing runs but in this thread
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 100);
        auto& pass = graph.add<parts::PassOn>("pass");
        auto& reader = graph.add_reader<int>("reader");
        graph.connect(source.out, pass.in);
        graph.connect(pass.out, reader.input, {.capacity = 4, .when_full = when_full});
        auto run = graph.start(machine);
        run.finish();  // the reader has not read: what waits can be read behind the end
        std::vector<int> got;
        while (auto buffer = reader.read()) got.push_back((*buffer)[0]);
        EXPECT_EQ(got,
                  when_full == WhenStreamFull::drop_newest ? (std::vector{0, 1, 2, 3}) : (std::vector{96, 97, 98, 99}));
    }
}

TEST(FullStreams, of_one_target_hold_or_lose_what_they_have_no_room_for) {
    using enum WhenStreamFull;
    constexpr int count = 20, capacity = 4;
    for (const auto when_full : {wait, drop_newest, drop_oldest}) {
        Machine machine{{.targets = 1}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {.targets = {0}}, count, count);  // all of them in one firing
        auto& sink = graph.add<Collect>("sink", {.targets = {0}});
        graph.connect(source.out, sink.in, {.capacity = capacity, .when_full = when_full, .fuse = false});
        auto run = graph.start(machine);
        run.finish();
        auto expected = parts::numbers(count);
        if (when_full == drop_newest) expected.resize(capacity);
        if (when_full == drop_oldest) expected.erase(expected.begin(), expected.end() - capacity);
        EXPECT_EQ(sink.got, expected);
        EXPECT_EQ(run.statistics().streams.at(0).dropped, count - expected.size());
    }
}

TEST(FullStreams, of_one_target_keep_the_order_of_what_one_firing_writes) {
    for (const bool fuse : {false, true})
        for (const std::size_t capacity : {1, 2, 16}) {
            Machine machine{{.targets = 1}};
            Graph graph;
            auto& source = graph.add<Numbers>("source", {.targets = {0}}, 3'000, 3);
            auto& pass = graph.add<parts::PassOn>("pass", {.targets = {0}});
            auto& sink = graph.add<Collect>("sink", {.targets = {0}});
            graph.connect(source.out, pass.in, {.capacity = capacity, .fuse = fuse});
            graph.connect(pass.out, sink.in, {.capacity = capacity, .fuse = fuse});
            auto run = graph.start(machine);
            run.finish();
            EXPECT_EQ(sink.got, parts::numbers(3'000));
        }
}

TEST(FullStreams, fail_throws_at_the_writer) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 100);
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(source.out, reader.input, {.capacity = 4, .when_full = WhenStreamFull::fail});
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL();
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.firing(), 4u);
        EXPECT_THROW(std::rethrow_exception(failed.cause()), StreamFull);
    }
}

TEST(FullStreams, a_writer_of_the_program_s_is_told_that_the_stream_is_full) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, reader.input, {.capacity = 2, .when_full = WhenStreamFull::fail});
    auto run = graph.start(machine);
    const int value[] = {7};
    writer.write(value);
    writer.write(value);
    EXPECT_THROW(writer.write(value), StreamFull);
    EXPECT_EQ((*reader.read())[0], 7);
    writer.write(value);
    writer.close();
    EXPECT_TRUE(reader.read().has_value());
    EXPECT_TRUE(reader.read().has_value());
    EXPECT_FALSE(reader.read().has_value());
    run.finish();
}

TEST(FullStreams, bytes_are_counted_beyond_the_first_buffer) {
    Machine machine{{.targets = 2}};
    for (const std::size_t size : {std::size_t{0}, std::size_t{1000}, std::size_t{100'000}}) {
        Graph graph;
        auto& source = graph.add<Sized>("source", {}, 200, size);
        auto& sink = graph.add<Weigh>("sink");
        graph.connect(source.out, sink.in, {.capacity = 16, .capacity_bytes = 4'000});
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(sink.buffers, 200u);
        EXPECT_EQ(sink.bytes, 200 * size);
        EXPECT_TRUE(sink.right);
        EXPECT_LE(sink.most_waiting, size == 0 ? 16u : size == 1000 ? 4u : 1u);
    }
}

TEST(FullStreams, a_pool_with_a_bound_waits_for_its_own_buffers_only) {
    Machine machine{{.targets = 2}};
    for (const std::size_t bound : {1, 2, 5})
        for (const auto& targets : {std::vector<int>{}, std::vector<int>{0}}) {
            Graph graph;
            auto& source = graph.add<Sized>("source", {.targets = targets, .pool = bound}, 2'000, std::size_t{64});
            auto& sink = graph.add<Weigh>("sink", {.targets = targets});
            graph.connect(source.out, sink.in, {.capacity = 8});
            auto run = graph.start(machine);
            run.finish();
            EXPECT_EQ(sink.buffers, 2'000u);
            EXPECT_LE(sink.most_waiting, bound);
        }
}

TEST(FullStreams, an_input_that_asks_for_many_gets_them_whatever_the_capacity) {
    Machine machine{{.targets = 2}};
    for (const std::size_t capacity : {0, 3}) {
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 100);
        auto& pass = graph.add<parts::PassOn>("pass", {.copies = 3});
        auto& batch = graph.add<Batch>("batch");
        graph.connect(source.out, pass.in);
        graph.connect(pass.out, batch.in, {.capacity = capacity});
        auto run = graph.start(machine);
        run.finish();
        std::sort(batch.got.begin(), batch.got.end());
        EXPECT_EQ(batch.got, parts::numbers(100));
        for (std::size_t i = 0; i + 1 < batch.sizes.size(); ++i)
            if (batch.sizes[i] < 12) {
                for (std::size_t j = i; j < batch.sizes.size(); ++j)
                    EXPECT_LT(batch.sizes[j], 12u) << "only at the end";
                break;
            }
    }
}

TEST(FullStreams, buffers_of_two_gibibytes_pass) {
    if (std::getenv("PENSTOCK_LONG") == nullptr) GTEST_SKIP() << "takes 2 GiB of memory: PENSTOCK_LONG";
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Sized>("source", {.pool = 1}, 2, std::size_t{2} << 30);
    auto& sink = graph.add<Weigh>("sink");
    graph.connect(source.out, sink.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(sink.bytes, std::size_t{4} << 30);
    EXPECT_TRUE(sink.right);
}

TEST(FullStreams, memory_that_cannot_be_had_fails_the_firing) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Sized>("source", {}, 1, std::size_t{1} << 60);
    auto& sink = graph.add<Weigh>("sink");
    graph.connect(source.out, sink.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        FAIL();
    } catch (const FilterFailed& failed) {
        EXPECT_THROW(std::rethrow_exception(failed.cause()), std::bad_alloc);
    }
}
