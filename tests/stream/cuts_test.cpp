// How much a buffer should hold of a stream that can be cut anywhere.
#include <gtest/gtest.h>

#include <limits>
#include <tuple>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_error.hpp"
#include "tests/stream/processes_support.hpp"

namespace {

using penstock::Graph;
using penstock::Machine;
using penstock::Output;
using penstock::StreamReader;

constexpr std::size_t kib = 1024;
constexpr std::size_t all_there_is = std::numeric_limits<std::size_t>::max();

/// Asks once, of floats.
struct Asker {
    Output<float> unused{"unused"};
    Output<std::size_t> answer{"answer"};
    std::size_t total, unit;
    Asker(std::size_t of, std::size_t each) : total(of), unit(each) {}
    auto state() { return std::tie(); }
    bool operator()() {
        auto buffer = answer.make(1);
        buffer.edit()[0] = unused.units_a_buffer(total, unit);
        answer.write(std::move(buffer));
        return false;
    }
};

std::size_t asked(Machine& machine, std::size_t total, std::size_t unit) {
    Graph graph;
    auto& asker = graph.add<Asker>("asker", {}, total, unit);
    auto& reader = graph.add_reader<std::size_t>("reader");
    graph.connect(asker.answer, reader.input);
    auto run = graph.start(machine);
    const auto buffer = reader.read();
    const std::size_t answer = buffer.value().span()[0];
    EXPECT_FALSE(reader.read());
    run.finish();
    return answer;
}

TEST(SizeOfBuffers, is_a_quarter_of_the_local_store_where_one_thread_does_all) {
    Machine machine{{.targets = 0, .local_store = 256 * kib}};
    EXPECT_EQ(asked(machine, all_there_is, 1), 64 * kib / sizeof(float));
    EXPECT_EQ(asked(machine, all_there_is, 512), 32u);
    EXPECT_EQ(asked(machine, 10, 512), 10u);
}

TEST(SizeOfBuffers, leaves_eight_for_each_of_several_threads) {
    Machine machine{{.targets = 1, .local_store = 256 * kib}};
    EXPECT_EQ(asked(machine, all_there_is, 512), 32u);
    EXPECT_EQ(asked(machine, 16 * 32, 512), 32u);
    EXPECT_EQ(asked(machine, 16 * 10, 512), 10u);
}

TEST(SizeOfBuffers, is_a_unit_at_least) {
    Machine machine{{.targets = 1, .local_store = 256 * kib}};
    EXPECT_EQ(asked(machine, 0, 512), 1u);
    EXPECT_EQ(asked(machine, 3, 512), 1u);
    EXPECT_EQ(asked(machine, 1000, all_there_is), 1u);
    EXPECT_EQ(asked(machine, all_there_is, all_there_is / 2), 1u);
    EXPECT_GE(asked(machine, all_there_is, 0), 1u);
}

TEST(SizeOfBuffers, is_the_same_in_a_worker_process) {
    SKIP_WITHOUT_PROCESSES();
    auto options = processes::workers(1);
    options.local_store = 256 * kib;
    Machine machine{options};
    EXPECT_EQ(asked(machine, all_there_is, 512), 32u);
    EXPECT_EQ(asked(machine, 16 * 10, 512), 10u);
}

TEST(SizeOfBuffers, is_not_known_outside_a_run) {
    Graph graph;
    auto& asker = graph.add<Asker>("asker", {}, 1, 1);
    EXPECT_THROW((void)asker.unused.units_a_buffer(1), penstock::UsageError);
}

}  // namespace
