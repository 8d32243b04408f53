// One request for memory is refused to a thread of the program that uses its own end of a stream whose other side is a
// placed filter: it has begun something that cannot be taken back, so it asks again.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "penstock/penstock.hpp"
#include "tests/bounded_child.hpp"
#include "tests/exhaustion/refusals.hpp"

namespace program_ends {

using namespace penstock;

struct Source {
    Output<int> out{"out"};
    int left = 8;
    bool operator()() {
        auto buffer = out.make(1);
        buffer.edit()[0] = left;
        out.write(std::move(buffer));
        return --left != 0;
    }
};
struct Sink {
    Input<int> in{"in"};
    int read = 0;
    void operator()() { in.read(), ++read; }
};

MachineOptions one_target(WhenFull when_full = WhenFull::defer) {
    MachineOptions options;
    options.targets = 1;
    options.depth = 2;
    options.when_full = when_full;
    return options;
}

void expect_good(const std::function<int()>& body) {
    const auto ending = penstock_tests::ending_of(body, std::chrono::seconds(20));
    EXPECT_TRUE(ending.good()) << ending.text();
}

/// A new thread, which has no lane yet. True when the request number `place` was made, and so refused.
bool refused_to_a_new_thread(long place, const std::function<void()>& work) {
    bool refused = false;
    std::thread([&] {
        exhaustion::refuse_here(exhaustion::Kind::memory, place);
        try {
            work();
        } catch (const std::bad_alloc&) {
        }
        refused = exhaustion::allow() > place;
    }).join();
    return refused;
}

void wait_for_the_pool(const Run& run) {
    while (run.report().find("waits for a buffer of its own") == std::string::npos) std::this_thread::yield();
}

TEST(ProgramEndsWithoutMemory, a_buffer_goes_back_to_the_pool_of_a_placed_filter) {
    expect_good([] {
        constexpr long most = 100;
        long place = 0;
        for (bool refused = true; refused && place < most; ++place) {
            Machine machine(one_target());
            Graph graph;
            auto& source = graph.add<Source>("source", {.targets = {0}, .pool = 1});
            auto& reader = graph.add_reader<int>("reader");
            graph.connect(source.out, reader.input);
            auto run = graph.start(machine);
            auto buffer = reader.read();
            wait_for_the_pool(run);
            refused = refused_to_a_new_thread(place, [&] { buffer.reset(); });
            while (reader.read()) {
            }
            run.finish();
        }
        return place > 1 ? 0 : 1;
    });
}

TEST(ProgramEndsWithoutMemory, what_is_read_and_written_there_is_told_of) {
    expect_good([] {
        constexpr long most = 100;
        for (long place = 0; place < most; ++place) {
            Machine machine(one_target());
            Graph graph;
            auto& source = graph.add<Source>("source", {.targets = {0}});
            auto& reader = graph.add_reader<int>("reader");
            graph.connect(source.out, reader.input, {.capacity = 1});
            auto& writer = graph.add_writer<int>("writer");
            auto& sink = graph.add<Sink>("sink", {.targets = {0}});
            graph.connect(writer.output, sink.in);
            auto run = graph.start(machine);
            const int value[] = {7};
            int written = 0;
            const bool refused = refused_to_a_new_thread(place, [&] {
                try {
                    writer.write(value);
                    ++written;
                } catch (const std::bad_alloc&) {  // for the buffer
                }
                (void)reader.read();
                writer.close();
            });
            writer.close();
            while (reader.read()) {
            }
            run.finish();
            if (sink.read != written)
                return std::fprintf(stderr, "%d written, %d read, at place %ld\n", written, sink.read, place), 1;
            if (!refused) return 0;
        }
        return 0;
    });
}

/// Nobody can be told there that the lane to the placed filter is full.
TEST(ProgramEnds, a_buffer_goes_back_to_a_placed_filter_on_a_machine_that_refuses_calls) {
    expect_good([] {
        Machine machine(one_target(WhenFull::refuse));
        Graph graph;
        auto& source = graph.add<Source>("source", {.targets = {0}, .pool = 1});
        auto& reader = graph.add_reader<int>("reader");
        graph.connect(source.out, reader.input);
        auto run = graph.start(machine);
        auto buffer = reader.read();
        wait_for_the_pool(run);
        std::atomic<bool> begun{false}, go{false};
        machine.on(0).call(boxed([&begun, &go] {
            begun = true;
            while (!go.load()) std::this_thread::yield();
        }));
        while (!begun) std::this_thread::yield();
        try {
            for (;;) machine.on(0).call(boxed([] {}));
        } catch (const QueueFull&) {
        }
        std::thread opener([&go] {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            go = true;
        });
        buffer.reset();
        opener.join();
        while (reader.read()) {
        }
        run.finish();
        return 0;
    });
}

}  // namespace program_ends
