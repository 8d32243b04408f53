// An application, its XML, and the application from that XML are equal: options, rules, timers and events too.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "language/random_application.hpp"
#include "penstock/application_builder.hpp"

using namespace penstock;

namespace {

struct Half {
    Input<double> in{"in"};
    Output<double> out{"out"};
    void operator()() { out.write(in.read()); }
};

GraphDescription graph_of(const Application& application) {
    Graph graph;
    application.build(graph);
    return graph.description();
}

/// Names of filters and ends of streams, in their order.
std::vector<std::string> names_in(const GraphDescription& graph) {
    std::vector<std::string> all;
    for (const auto& each : graph.filters) all.push_back(each.name);
    for (const auto& each : graph.streams) all.push_back(each.from + " " + each.to);
    return all;
}

void expect_round_trip(const Application& application, const ApplicationOptions& options = {}) {
    const auto text = to_xml(application);
    const auto again = Application::parse(text, "again.xml", options);
    EXPECT_TRUE(application == again) << text;
    EXPECT_EQ(to_xml(again), text);
    EXPECT_EQ(again.events(), application.events());
    EXPECT_EQ(again.options(), application.options());
    EXPECT_EQ(names_in(graph_of(again)), names_in(graph_of(application))) << text;
}

const std::string nested = R"(<parameter name="n" type="integer" default="3"/>
    <event name="a"/><event name="b"/><timer event="a" after="0.25" every="1.5"/><timer event="b" every="2"/>
    <component name="numbers" class="numbers" targets="0 1" pool="5"><set name="count" value="${n}"/></component>
    <stream from="numbers.out" to="first.in" policy="broadcast" name="shared $$" capacity="${n}"/>
    <option name="outer" initially="on">
      <component name="first" class="scale" copies="2" on-failure="go-on" isolation="process" time-limit="0.5"><set name="factor" value="0.1"/></component>
      <stream from="numbers.out" to="inner.in"/>
      <option name="within"><component name="inner" class="pass" isolation="thread"/><stream from="inner.out" to="last.in"/>
        <otherwise><stream from="numbers.out" to="last.in"/></otherwise></option>
      <stream from="first.out" to="last.in" fuse="false"/>
      <otherwise><component name="instead" class="shift" near="numbers"/><stream from="numbers.out" to="instead.in"/><stream from="instead.out" to="last.in"/></otherwise>
    </option>
    <option name="nothing"/>
    <component name="last" class="print"><set name="label" value="$${a} &quot;b&quot; "/></component>
    <manager name="m"><on event="a" toggle="within"/><on event="b" disable="outer"/><on event="a" enable="nothing"/>
      <on event="b" component="numbers" setting="pause" value="0.001"/>
      <on event="b" component="inner" class="shift"><set name="offset" value="-1.5"/></on></manager>)";

}  // namespace

TEST(ApplicationXml, options_in_options_rules_timers_and_events_come_back) {
    const auto application = Application::parse(written::application(nested));
    expect_round_trip(application);
    const auto text = to_xml(application);
    for (
        const std::string part :
        {R"(<component name="first" class="scale" copies="2" on-failure="go-on" isolation="process" time-limit="0.5">)",
         R"(isolation="thread")", R"(<timer event="a" after="0.25" every="1.5"/>)",
         R"(<on event="b" disable="outer"/>)", R"(name="shared $$")", R"(value="$${a} &quot;b&quot; ")",
         R"(<on event="b" component="inner" class="shift">)"})
        EXPECT_NE(text.find(part), text.npos) << part << " in\n" << text;
}

TEST(ApplicationXml, differences_are_seen) {
    const auto application = Application::parse(written::application(nested));
    for (const auto& [part, other] : {std::pair{"initially=\"on\"", "initially=\"off\""},
                                      {"after=\"0.25\"", "after=\"0.5\""},
                                      {"toggle=\"within\"", "enable=\"within\""},
                                      {"value=\"-1.5\"", "value=\"1.5\""},
                                      {"default=\"3\"", "default=\"4\""},
                                      {"fuse=\"false\"", "fuse=\"true\""},
                                      {"time-limit=\"0.5\"", "time-limit=\"0.25\""},
                                      {"isolation=\"thread\"", "isolation=\"process\""},
                                      {"event name=\"b\"/>", "event name=\"b\"/><event name=\"c\"/>"},
                                      {"class=\"pass\"", "class=\"scale\""}}) {
        auto text = written::application(nested);
        const auto at = text.find(part);
        ASSERT_NE(at, text.npos) << part;
        text.replace(at, std::string(part).size(), other);
        EXPECT_FALSE(application == Application::parse(text)) << other;
    }
}

TEST(ApplicationXml, random_applications_come_back_and_give_the_same) {
    written::Kept kept;
    const auto components = written::with_keep(kept);
    const ApplicationOptions options{.components = &components};
    Machine machine{{.targets = 2}};
    int with_options = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        const auto text = written::RandomApplication(seed).text();
        const auto application = Application::parse(text, "test.xml", options);
        expect_round_trip(application, options);
        with_options += !application.options().empty();
        if (seed % 10 != 0) continue;
        auto expected = written::results(text, machine), found = written::results(to_xml(application), machine);
        std::sort(expected.begin(), expected.end());
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected) << text;
    }
    EXPECT_GT(with_options, 20);
}

TEST(ApplicationXml, what_was_described_in_cpp_comes_back_and_types_without_a_name_are_refused) {
    const auto describe = [](const auto& add_half) {
        ApplicationBuilder app("described");
        app.event("e");
        app.add("numbers", "numbers");
        add_half(app);
        app.add("print", "print");
        app.connect("half.out", "print.in");
        app.option(
            "o", true,
            [&] {
                app.connect("numbers.out", "half.in");
                app.option("p", false, [&] { app.add("sum", "sum"), app.connect("numbers.out", "sum.in"); });
            },
            [&] {
                app.add("others", "numbers");
                app.connect("others.out", "half.in");
            });
        app.on("e").toggle("o").set("numbers", "step", 0.5);
        app.timer("e", 0.5);
        return app.build();
    };
    expect_round_trip(describe([](ApplicationBuilder& app) { app.add("half", "scale", {.copies = 3}); }));
    try {
        (void)to_xml(describe([](ApplicationBuilder& app) { app.add<Half>("half"); }));
        FAIL() << "a type without a name was written";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("('half')"), std::string::npos) << error.what();
    }
}

TEST(ApplicationXml, streams_stay_where_they_stand_when_it_was_built_at_the_second_try) {
    const auto text = [](bool refused_first) {
        ApplicationBuilder app("tried");
        app.add("numbers", "numbers");
        app.option("o", true, [&] {
            app.add("half", "scale");
            app.add("print", "print");
            app.connect("half.out", "print.in");
        });
        app.connect("numbers.out", "half.in");  // it stands outside the option of its end
        app.add("late", "print");
        if (refused_first) EXPECT_THROW(app.build(), ApplicationError);  // nothing leads to its input
        app.connect("numbers.out", "late.in");
        return to_xml(app.build());
    };
    EXPECT_EQ(text(true), text(false));
}
