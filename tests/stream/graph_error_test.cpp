// What is wrong with a graph is found before it starts, all together and by name; groups and settings.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;
using parts::PassOn;

namespace {

struct Real {
    Input<double> in{"in"};
    void operator()() { (void)in.read(); }
};

struct Scale {
    Input<int> in{"in"};
    Output<int> out{"out"};
    Setting<int> factor{"factor", 2, {.unit = "times", .least = 1, .most = 10}};
    Setting<std::string> label{"label", "plain"};
    Setting<bool> on{"on", true};
    Setting<double> bias{"bias", 0.0};
    void operator()() {
        auto buffer = in.read();
        buffer.edit()[0] *= factor;
        out.write(std::move(buffer));
    }
};

struct SameName {
    Input<int> in{"in"};
    Setting<int> one{"gain", 1}, other{"gain", 2};
    void operator()() { (void)in.read(); }
};

struct Pair {
    Scale &first, &second;
    Input<int>& in;
    Output<int>& out;
    explicit Pair(GraphBuilder& graph)
        : first(graph.add<Scale>("first")), second(graph.add<Scale>("second")), in(first.in), out(second.out) {
        graph.connect(first.out, second.in);
    }
};

struct Four {
    Pair &left, &right;
    explicit Four(GraphBuilder& graph) : left(graph.add_group<Pair>("left")), right(graph.add_group<Pair>("right")) {
        graph.connect("left/second.out", "right/first.in");
    }
};

}  // namespace

TEST(GraphErrors, all_are_found_before_the_start_and_reported_together_by_name) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {.targets = {0, 7}}, 10);
    graph.add<Numbers>("source", {.copies = 3}, 10);
    auto& real = graph.add<Real>("real");
    graph.add<Collect>("alone");
    auto& a = graph.add<PassOn>("a", {.near = "nobody"});
    auto& b = graph.add<PassOn>("b", {.copies = -2, .targets = {0}, .near = "a"});
    graph.connect("source.out", "real.in");
    graph.connect("source.oot", "real.in");
    graph.connect("ghost.out", "real.in");
    graph.connect(a.out, b.in);
    graph.connect(b.out, a.in);
    graph.connect(source.out, a.in, {.feedback = true});
    graph.set("a", "strength", 3.0);
    graph.set("ghost", "strength", 3.0);
    Numbers stranger(3);
    graph.connect(stranger.out, a.in);
    (void)real;
    try {
        (void)graph.start(machine);
        FAIL();
    } catch (const GraphError& error) {
        const std::string text = error.what();
        EXPECT_GE(error.problems().size(), 15u);
        for (const char* part :
             {"'source' is used twice", "'source' is placed on target 7, but the machine has 2",
              "'source' does not say that it may be copied", "(8 bytes)", "no output called 'oot'",
              "no filter for the port 'ghost.out'", "nothing leads to input 'alone.in'",
              "'a' is to be near 'nobody', which does not exist", "'b' has targets of its own and is to be near 'a'",
              "'b' cannot have -2 copies", "the cycle 'a' -> 'b' -> 'a' is not declared",
              "is called feedback, but closes no cycle", "'a' has no setting called 'strength'",
              "there is no filter 'ghost'", "belongs to no filter of this graph"})
            EXPECT_NE(text.find(part), text.npos) << part << " is missing in\n" << text;
    }
}

TEST(GraphErrors, two_settings_of_one_name_are_refused) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, 10);
    graph.connect(numbers.out, graph.add<SameName>("filter").in);
    graph.set("filter", "gain", 3);
    try {
        (void)graph.start(machine);
        FAIL();
    } catch (const GraphError& error) {
        EXPECT_EQ(error.problems(), std::vector<std::string>{"filter 'filter' has two settings called 'gain'"});
    }
}

TEST(GraphErrors, an_order_that_could_not_be_restored_is_refused) {
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 10);
    auto& pass = graph.add<PassOn>("pass", {.copies = 2});
    auto& more = graph.add<PassOn>("more", {.copies = 2});
    auto& sink = graph.add<Collect>("sink");
    graph.connect(source.out, pass.in, {.when_full = WhenStreamFull::drop_newest});
    graph.connect(pass.out, more.in, {.ordered = true});
    graph.connect(more.out, sink.in, {.when_full = WhenStreamFull::drop_oldest, .ordered = true});
    std::string text;
    for (const auto& problem : graph.check()) text += problem + '\n';
    for (const char* part : {"is ordered, but its sink has several copies", "is ordered and may drop buffers",
                             "may drop buffers, but their order is restored"})
        EXPECT_NE(text.find(part), text.npos) << part << " is missing in\n" << text;
}

TEST(Groups, nest_and_are_addressed_by_name) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 100);
    auto& four = graph.add_group<Four>("four");
    auto& sink = graph.add<Collect>("sink");
    graph.connect(source.out, four.left.in);
    graph.connect(four.right.out, sink.in);
    graph.set("four/right/second", "factor", std::int64_t{5});
    EXPECT_EQ(graph.description().filters.at(1).name, "four/left/first");
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(sink.got, parts::numbers(4'000, 40));
}

TEST(Settings, keep_to_their_limits_and_types_before_the_start_and_while_it_runs) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& scale = graph.add<Scale>("scale");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, scale.in);
    graph.connect(scale.out, reader.input);
    const auto described = graph.description();
    const auto& setting = described.filters.at(1).settings.at(0);
    EXPECT_EQ(setting.name, "factor");
    EXPECT_EQ(setting.limits.unit, "times");
    EXPECT_EQ(std::get<std::int64_t>(setting.value), 2);
    auto run = graph.start(machine);
    for (const SettingValue& wrong : {SettingValue{std::int64_t{11}}, SettingValue{2.5}, SettingValue{std::string("3")},
                                      SettingValue{true}, SettingValue{std::int64_t{1} << 40}})
        EXPECT_THROW(run.edit([&](Edit& edit) { edit.set("scale", "factor", wrong); }), GraphError);
    EXPECT_THROW(run.edit([&](Edit& edit) { edit.set("scale", "bias", std::numeric_limits<double>::quiet_NaN()); }),
                 GraphError);
    for (const std::int64_t factor : {3, 1, 10}) {
        run.edit([&](Edit& edit) {
            edit.set("scale", "factor", factor);
            edit.set("scale", "label", std::string("changed"));
            edit.set("scale", "on", false);
            edit.set("scale", "bias", std::int64_t{4});
        });
        const int value[] = {7};
        writer.write(value);
        EXPECT_EQ((*reader.read())[0], 7 * factor);
    }
    writer.close();
    EXPECT_FALSE(reader.read());
    run.finish();
    EXPECT_EQ(scale.label.get(), "changed");
    EXPECT_EQ(scale.bias.get(), 4.0);
}
