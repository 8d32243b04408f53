// Events that filters send, in threads and in worker processes.
#include <gtest/gtest.h>

#include <mutex>

#include "stream/processes_support.hpp"

using namespace penstock;

namespace {

struct Tell {
    static constexpr bool may_be_copied = true;
    Input<processes::Value> in{"in"};
    Output<processes::Value> out{"out"};
    EventOutput<std::int64_t> third{"third"};
    EventOutput<std::string> words{"words"};
    void operator()() {
        auto read = in.read();
        if (read[0] % 3 == 0) third.send(static_cast<std::int64_t>(read[0]));
        if (read[0] == 7) words.send("seven");
        out.write(std::move(read));
    }
};

struct Hear {
    Input<processes::Value> in{"in"};
    std::vector<std::int64_t> heard;
    auto state() { return std::tie(heard); }
    void operator()() { (void)in.read(); }
    void on_event(const Event& event) {
        if (event.name == "multiple") heard.push_back(std::get<std::int64_t>(event.value));
    }
};

void tell_and_hear(Machine& machine) {
    Graph graph;
    auto& numbers = graph.add<processes::Numbers>("numbers", {}, processes::Value{100});
    auto& tell = graph.add<Tell>("tell", {.events = {{"third", "multiple"}, {"words", ""}}});
    auto& hear = graph.add<Hear>("hear");
    graph.connect(numbers.out, tell.in);
    graph.connect(tell.out, hear.in);
    std::mutex lock;
    std::vector<std::string> listened;
    auto run = graph.start(machine);
    run.listen([&](const Event& event) {
        const std::lock_guard guard(lock);
        listened.push_back(event.name);
        return true;
    });
    run.finish();
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < 100; i += 3) wanted.push_back(i);
    EXPECT_EQ(hear.heard, wanted);  // each once, in their order
    for (const auto& name : listened) EXPECT_EQ(name, "multiple");
}

}  // namespace

TEST(StreamEventOutputs, events_reach_filters_and_listeners_under_their_names) {
    Machine machine{{.targets = 2}};
    tell_and_hear(machine);
}

TEST(StreamEventOutputs, from_worker_processes_too) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine{processes::workers(2)};
    tell_and_hear(machine);
}

TEST(StreamEventOutputs, a_name_for_an_output_that_there_is_not_is_refused) {
    Graph graph;
    graph.add<Tell>("tell", {.events = {{"thirt", "multiple"}}});
    bool said = false;
    for (const auto& problem : graph.check())
        said = said || problem.find("no event output called 'thirt'") != problem.npos;
    EXPECT_TRUE(said);
}

TEST(StreamEventOutputs, outside_a_running_graph_nothing_is_sent) {
    Tell tell;
    EXPECT_THROW(tell.third.send(1), UsageError);
}
