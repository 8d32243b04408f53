// Runs that can be looked at from outside, by name.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "sanitizers.hpp"
#include "stream/parts.hpp"
#include "stream/visit.hpp"

using namespace penstock;
using parts::visit;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// A name that no other test program has.
std::string own(const std::string& name) { return name + "-" + std::to_string(getpid()); }

/// Gives numbers until the event "end" comes, and keeps what comes before that.
struct UntilTold {
    Output<int> out{"out"};
    std::vector<Event> got;
    bool operator()() {
        out.write(out.make(1));
        return got.empty() || got.back().name != "end";
    }
    void on_event(const Event& event) { got.push_back(event); }
};

struct Running {
    Machine machine{{.targets = 1}};
    Graph graph;
    UntilTold& source = graph.add<UntilTold>("group/source");
    parts::Collect& collect = graph.add<parts::Collect>("collect");
    Run run;
    explicit Running(const RunOptions& options)
        : run((graph.connect(source.out, collect.in), graph.start(machine, options))) {}
};

/// The environment as it was, when it goes.
struct Named {
    explicit Named(const std::string& name) { setenv("PENSTOCK_NAME", name.c_str(), 1); }
    ~Named() { unsetenv("PENSTOCK_NAME"); }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;
};

TEST(Door, shows_the_graph_with_its_figures_and_what_each_filter_does) {
    Running running({.name = own("shown")});
    EXPECT_EQ(running.run.name(), own("shown"));
    while (running.collect.arrived.load() < 100) std::this_thread::yield();
    const auto graph = visit(own("shown"), "graph");
    EXPECT_TRUE(
        has(graph, "{\"name\":\"" + own("shown") + "\",\"process\":" + std::to_string(getpid()) + ",\"seconds\":"));
    EXPECT_TRUE(has(graph, "\"from\":\"group/source.out\",\"to\":\"collect.in\""));
    EXPECT_TRUE(has(graph, "digraph penstock"));
    EXPECT_FALSE(has(graph, "\"firings\":0,"));
    EXPECT_EQ(graph.back(), '\n');
    EXPECT_TRUE(has(visit(own("shown"), "report"), "'group/source'"));
    running.run.send({"end"});
    running.run.finish();
    EXPECT_EQ(visit(own("shown"), "graph"), "");
}

TEST(Door, takes_events_with_values_of_each_kind_for_one_filter_for_a_group_and_for_all) {
    Running running({.name = own("told")});
    const auto reached = std::string("{\"reached\":1}\n");
    EXPECT_EQ(visit(own("told"), "events", R"({"name":"pause","value":true,"to":"group/source"})"), reached);
    EXPECT_EQ(visit(own("told"), "events", R"({"name":"count","value":-12,"to":"group/"})"), reached);
    EXPECT_EQ(visit(own("told"), "events", R"({"name":"scale","value":0.25})"), reached);
    EXPECT_EQ(visit(own("told"), "events", R"({"name":"a\tb","value":"100% \u00e9 \ud83d\ude00"})"), reached);
    EXPECT_EQ(visit(own("told"), "events", R"({"name":"end"})"), reached);
    running.run.finish();
    const auto& got = running.source.got;
    ASSERT_EQ(got.size(), 5u);
    EXPECT_EQ(got[0].value, SettingValue(true));
    EXPECT_EQ(got[1].value, SettingValue(std::int64_t{-12}));
    EXPECT_EQ(got[2].value, SettingValue(0.25));
    EXPECT_EQ(got[3].name, "a\tb");
    EXPECT_EQ(got[3].value, SettingValue(std::string("100% \u00e9 \U0001f600")));
    EXPECT_EQ(got[4].value, SettingValue(false));
}

TEST(Door, says_what_is_wrong_with_a_question) {
    Running running({.name = own("asked")});
    EXPECT_TRUE(has(visit(own("asked"), "dance"), "{\"error\":\"a run does not know GET /v1/dance"));
    EXPECT_TRUE(
        has(visit(own("asked"), "events", R"({"name":"pause","to":"nobody"})"), "reaches nobody: no filter 'nobody'"));
    for (const char* body :
         {"{", "[]", "7", R"({"name":})", R"({"name":"a","name":"b"})", R"({"name":"\ud800"})", "{\"name\":\"\xff\"}",
          R"({"name":"pause","value":[1]})", R"({"name":"pause","value":99999999999999999999e999})",
          R"({"name":"pause","other":1})", R"({"value":1})", R"({"name":"a"} b)"})
        EXPECT_TRUE(has(visit(own("asked"), "events", body), "{\"error\":")) << body;
    EXPECT_TRUE(has(visit(own("asked"), "events", std::string(100, '[')), "nested too deep"));
    EXPECT_TRUE(has(parts::say(own("asked"), "nonsense\r\n\r\n"), "400 Bad Request"));
    EXPECT_TRUE(has(parts::say(own("asked"), "DELETE /v1/graph HTTP/1.1\r\n\r\n"), "405 Method Not Allowed"));
    EXPECT_TRUE(has(parts::say(own("asked"), std::string(100'000, 'x')), "413"));
    EXPECT_TRUE(has(parts::say(own("asked"), "POST /v1/events HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), "413"));
    for (const char* every : {"0", "-1", "nan", "x", "1e9"})
        EXPECT_TRUE(has(visit(own("asked"), std::string("watch?every=") + every), "'every' is a number")) << every;
    running.run.send({"end"});
    running.run.finish();
    EXPECT_EQ(running.source.got.size(), 1u);
}

TEST(Door, shows_a_watcher_the_graph_again_and_again_until_the_run_ends) {
    Running running({.name = own("watched")});
    std::string seen;
    std::thread watcher([&] { seen = visit(own("watched"), "watch?every=0.02"); });
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (running.collect.arrived.load() < 100 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    running.run.send({"end"});
    running.run.finish();
    watcher.join();
    EXPECT_GE(std::ranges::count(seen, '\n'), 3);
    EXPECT_TRUE(has(seen, "\"from\":\"group/source.out\""));
    EXPECT_EQ(seen.back(), '\n');
}

TEST(Door, makes_edits_from_outside_or_refuses_them_whole_with_every_reason) {
    Running running({.name = own("edited")});
    const auto edit = [&](const std::string& edits) {
        return visit(own("edited"), "edits", "{\"edits\":[" + edits + "]}");
    };
    EXPECT_EQ(edit(R"({"do":"disconnect","from":"group/source.out","to":"collect.in"},
                      {"do":"connect","from":"group/source.out","to":"collect.in","capacity":5})"),
              "{\"made\":2}\n");
    EXPECT_TRUE(has(visit(own("edited"), "graph"), "\"capacity\":5"));
    const auto refused =
        edit(R"({"do":"set","filter":"nobody","setting":"x","value":1},{"do":"remove","filter":"none"})");
    EXPECT_TRUE(has(refused, "\"problems\":[") && has(refused, "'nobody'") && has(refused, "'none'")) << refused;
    EXPECT_TRUE(has(edit(R"({"do":"dance"})"), "edit 1: nobody can do 'dance'"));
    EXPECT_TRUE(has(edit(R"({"do":"copies","filter":"collect","count":-1})"), "edit 1: 'count' is to be an integer"));
    EXPECT_TRUE(
        has(edit(R"({"do":"connect","from":"group/source.out","to":"collect.in","policy":"by_key"})"), "function"));
    EXPECT_TRUE(has(edit(""), "nothing to do"));
    EXPECT_TRUE(has(visit(own("edited"), "graph"), "\"capacity\":5")) << "what was refused has changed nothing";
    EXPECT_EQ(visit(own("edited"), "close", "{}"), "{}\n");
    running.run.finish();
    EXPECT_EQ(running.run.statistics().lost, 0u);
}

TEST(Door, stays_open_for_others_while_visitors_say_nothing) {
    Running running({.name = own("crowd")});
    std::vector<int> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(parts::knock(own("crowd")));
    EXPECT_TRUE(has(visit(own("crowd"), "graph"), "digraph"));
    running.run.send({"end"});
    running.run.finish();
    for (const int connection : silent) close(connection);
}

TEST(Door, there_is_none_unless_it_is_asked_for) {
    Running running({});
    EXPECT_EQ(running.run.name(), "");
    running.run.send({"end"});
    running.run.finish();
}

TEST(Door, a_name_that_another_run_has_or_that_cannot_be_is_refused) {
    Running first({.name = own("twice")});
    EXPECT_THROW(Running({.name = own("twice")}), UsageError);
    EXPECT_THROW(Running({.name = "with a blank"}), UsageError);
    EXPECT_THROW(Running({.name = std::string(65, 'x')}), UsageError);
    first.run.send({"end"});
    first.run.finish();
    Running again({.name = own("twice")});  // free again
    again.run.stop();
}

TEST(Door, the_environment_gives_names_too_and_tells_runs_apart) {
    {
        const Named named(own("outside"));
        Running first({}), second({}), third({.name = own("inside")});
        EXPECT_EQ(first.run.name(), own("outside"));
        EXPECT_EQ(second.run.name(), own("outside") + ".2");
        EXPECT_EQ(third.run.name(), own("inside"));
    }
    {
        const Named named("auto");
        EXPECT_TRUE(Running({}).run.name().ends_with("-" + std::to_string(getpid())));
    }
    const Named named("");
    EXPECT_EQ(Running({}).run.name(), "");
}

TEST(Door, another_process_looks_in_and_ends_the_run) {
    if (penstock_tests::thread_sanitizer) GTEST_SKIP() << "threads of a forked child are not for ThreadSanitizer";
    const auto name = own("process");
    const pid_t child = fork();
    if (child == 0) {
        Running running({.name = name});
        running.run.finish();
        _exit(running.source.got.size() == 1 && running.source.got[0].value == SettingValue(std::int64_t{42}) ? 0 : 1);
    }
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::string graph;
    while (graph.empty() && std::chrono::steady_clock::now() < limit) graph = visit(name, "graph");
    EXPECT_TRUE(has(graph, "\"process\":" + std::to_string(child) + ","));
    EXPECT_EQ(visit(name, "events", R"({"name":"end","value":42,"to":"group/source"})"), "{\"reached\":1}\n");
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
