// A graph as a drawing and as JSON.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "stream/parts.hpp"

using namespace penstock;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

struct Edges {
    parts::PassOn& smooth;
    explicit Edges(GraphBuilder& graph) : smooth(graph.add<parts::PassOn>("smooth", {.copies = 2})) {
        auto& sharpen = graph.add<parts::PassOn>("sharpen", {.targets = {0}});
        graph.connect(smooth.out, sharpen.in, {.policy = Policy::round_robin, .capacity = 3});
    }
};

/// numbers -> edges/smooth -> edges/sharpen -> collect
struct Drawn {
    Graph graph;
    Drawn() {
        auto& numbers = graph.add<parts::Numbers>("numbers", {}, 10);
        auto& edges = graph.add_group<Edges>("edges");
        graph.add<parts::Collect>("collect", {.near = "edges/sharpen"});
        graph.connect(numbers.out, edges.smooth.in);
        graph.connect("edges/sharpen.out", "collect.in", {.when_full = WhenStreamFull::drop_oldest});
    }
};

RunStatistics figures() {
    RunStatistics all;
    all.seconds = 2;
    all.filters = {{.name = "edges/smooth",
                    .copies = 2,
                    .firings = 2468,
                    .waiting = 3,
                    .rate = 1234,
                    .service_us = 810,
                    .load = 0.5,
                    .waits_for_input = 0.25},
                   {.name = "edges/sharpen", .copies = 1, .failures = 7, .load = 0.97, .waits_for_target = 0.004}};
    all.streams = {{.from = "edges/smooth.out",
                    .to = "edges/sharpen.in",
                    .buffers = 5000,
                    .dropped = 4,
                    .rate = 2500,
                    .bytes_rate = 3.5e6}};
    all.bottleneck = "edges/sharpen";
    return all;
}

TEST(Drawing, shows_groups_copies_places_and_what_streams_were_asked_for) {
    const auto text = drawing_of(Drawn().graph.description());
    EXPECT_TRUE(has(text, "subgraph \"cluster edges\""));
    EXPECT_TRUE(has(text, "\"edges/smooth\" [label=\"smooth x 2\"]"));
    EXPECT_TRUE(has(text, "\"edges/sharpen\" [label=\"sharpen\\ntarget 0\"]"));
    EXPECT_TRUE(has(text, "\"collect\" [label=\"collect\\nnear edges/sharpen\"]"));
    EXPECT_TRUE(has(text, "\"edges/smooth\" -> \"edges/sharpen\" [label=\"out - in\\nround robin, room for 3\"]"));
    EXPECT_TRUE(has(text, "\"edges/sharpen\" -> \"collect\" [label=\"out - in\\nfull: drop oldest\"]"));
    EXPECT_LT(text.find("subgraph"), text.find("\"edges/sharpen\" [label"));
    EXPECT_LT(text.find("\"collect\" [label"), text.find("subgraph"));  // not in the group
}

TEST(Drawing, shows_figures_and_marks_the_bottleneck) {
    const auto all = figures();
    const auto text = drawing_of(Drawn().graph.description(), &all);
    EXPECT_TRUE(
        has(text, "label=\"smooth x 2\\n1.23 k/s, 810 us each, load 50 %\\nwaits for input 25 %\\n3 wait here\"]"));
    EXPECT_TRUE(has(text, "label=\"sharpen\\ntarget 0\\n0 /s\\n7 failed\\nBOTTLENECK\", fillcolor=mistyrose"));
    EXPECT_TRUE(has(text, "2.5 k/s, 3.5 MB/s\\n4 dropped"));
    EXPECT_EQ(text.find("fillcolor=mistyrose"), text.rfind("fillcolor=mistyrose"));
}

TEST(Drawing, takes_any_name) {
    Graph graph;
    graph.add<parts::Collect>("say \"so\" \\ now");
    EXPECT_TRUE(
        has(drawing_of(graph.description()), "\"say \\\"so\\\" \\\\ now\" [label=\"say \\\"so\\\" \\\\ now\"]"));
}

TEST(Drawing, of_a_run_shows_the_program_and_is_in_the_file_that_the_run_saves) {
    Machine machine{{.targets = 0}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& collect = graph.add<parts::Collect>("collect");
    graph.connect(writer.output, collect.in);
    auto run = graph.start(machine);
    for (int i = 0; i < 5; ++i) writer.write(std::vector{i});
    run.finish();
    const auto path = std::filesystem::temp_directory_path() / ("penstock graph " + std::to_string(getpid()));
    run.save(path);
    std::stringstream file;
    file << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    EXPECT_TRUE(has(file.str(), "\"name\":\"collect\",\"type\":"));
    EXPECT_TRUE(has(file.str(), "\"firings\":5,"));
    EXPECT_TRUE(has(file.str(), "\"from\":\"writer.output\",\"to\":\"collect.in\""));
    EXPECT_TRUE(has(file.str(), "\"buffers\":5,"));
    EXPECT_TRUE(has(file.str(), "shape=ellipse"));
    EXPECT_THROW(run.save(path / "nowhere"), SystemError);
}

}  // namespace
