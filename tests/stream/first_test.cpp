#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "penstock/penstock.hpp"
#include "stream/parts.hpp"

using namespace penstock;

namespace {

using parts::Collect;
using parts::Numbers;

struct Double {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        for (int& value : buffer.edit()) value *= 2;
        out.write(std::move(buffer));
    }
};

std::vector<int> doubled(int n) { return parts::numbers(2 * n, 2); }

}  // namespace

TEST(Streams, three_filters_pass_every_buffer_on_in_order) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 10'000);
    auto& twice = graph.add<Double>("double");
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, twice.in);
    graph.connect(twice.out, collect.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(collect.got, doubled(10'000));
}

TEST(Streams, placed_filters_do_the_same) {
    Machine machine{{.targets = 2}};
    for (int place = 0; place < 2; ++place) {
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {.targets = {0}}, 10'000);
        auto& twice = graph.add<Double>("double", {.targets = {place}});
        auto& collect = graph.add<Collect>("collect", {.targets = {0}});
        graph.connect(numbers.out, twice.in);
        graph.connect(twice.out, collect.in);
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(collect.got, doubled(10'000));
    }
}

TEST(Streams, copies_share_the_work_and_their_order_is_restored) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 10'000);
    auto& twice = graph.add<Double>("double", {.copies = 3});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, twice.in);
    graph.connect(twice.out, collect.in, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(collect.got, doubled(10'000));
}

TEST(Streams, the_program_writes_and_reads) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& twice = graph.add<Double>("double");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, twice.in);
    graph.connect(twice.out, reader.input);
    auto run = graph.start(machine);
    std::vector<int> got;
    for (int i = 0; i < 1000; ++i) {
        const int value[1] = {i};
        writer.write(value);
        if (const auto buffer = reader.read()) got.push_back((*buffer)[0]);
    }
    writer.close();
    EXPECT_FALSE(reader.read().has_value());
    run.finish();
    EXPECT_EQ(got, doubled(1000));
}
