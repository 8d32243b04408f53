// Passes: what each makes of an application, and that its results stay what they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "language/support.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/transformation.hpp"

using namespace penstock;
using written::application;

namespace {

/// The graph that an application is in the beginning, as bytes.
std::string graph_of(const std::string& text, const ApplicationOptions& options = {}) {
    Graph graph;
    Application::parse(text, "test.xml", options).build(graph);
    return to_xml(graph, "graph");
}

std::string after(const std::string& text, const std::vector<std::string>& passes,
                  const TransformOptions& options = {}) {
    return transform_text(text, passes, "test.xml", options);
}

std::vector<std::string> examples() {
    const auto text = written::file(PENSTOCK_SOURCE "/docs/language.md");
    std::vector<std::string> all;
    constexpr std::string_view begin = "```xml\n<application", end = "```\n";
    for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
        at += 7;
        all.push_back(text.substr(at, text.find(end, at) - at));
    }
    return all;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

const std::string source = R"(<component name="numbers" class="numbers"/><component name="print" class="print"/>)";

}  // namespace

TEST(Passes, each_has_a_name_and_a_purpose) {
    ASSERT_GE(transformations().size(), 8u);
    for (const auto& each : transformations()) EXPECT_FALSE(each.name.empty() || each.purpose.empty());
    EXPECT_THROW(after(application(source), {"expnad"}), UsageError);
    EXPECT_THROW(after(application(source), {"expand=3"}), UsageError);
    EXPECT_THROW(after(application(source), {"unroll=1"}), UsageError);
    EXPECT_THROW(after(application(source), {"place"}), UsageError);
}

TEST(Passes, those_that_only_expand_leave_the_graph_of_each_example_as_it_was) {
    const std::vector<std::vector<std::string>> orders = {{},
                                                          {"expand"},
                                                          {"inline"},
                                                          {"unroll=3"},
                                                          {"tasks"},
                                                          {"unroll", "inline", "expand"},
                                                          {"tasks", "expand", "inline"},
                                                          {"inline", "tasks", "unroll=2"}};
    const auto all = examples();
    ASSERT_GE(all.size(), 8u);
    for (const auto& example : all)
        for (const auto& passes : orders) {
            const auto made = after(example, passes);
            EXPECT_EQ(graph_of(made), graph_of(example)) << made;
            EXPECT_EQ(after(example, passes), made);
            EXPECT_EQ(after(made, {}), made);
            EXPECT_EQ(Application::parse(made).options(), Application::parse(example).options());
        }
}

TEST(Passes, unroll_makes_what_the_documentation_shows) {
    const auto text = written::file(PENSTOCK_SOURCE "/docs/language.md");
    const auto after_heading = text.substr(text.find("## Transformations"));
    const auto block = [&](const std::string& begin) {
        const auto at = after_heading.find("```xml\n" + begin) + 7;
        return after_heading.substr(at, after_heading.find("```\n", at) - at);
    };
    EXPECT_EQ(after(block("<application"), {"unroll=2"}), block("<?xml"));
}

TEST(Passes, expand_leaves_no_repetition_and_no_parallel_part) {
    const auto text = application(
        source + R"(<parameter name="n" type="integer" default="3"/><parameter name="factor" type="number" default="2"/>
        <parallel name="all" shape="slice" slices="${n}"><parallel name="inner" shape="task">
          <component name="a" class="scale"><set name="factor" value="${factor / (slice + 1)}"/></component></parallel></parallel>
        <repeat index="i" to="${n - 2}"><repeat index="word" over="x y"><component name="b-${word}${i}" class="pass"/>
        <stream from="all.out" to="b-${word}${i}.in"/><stream from="b-${word}${i}.out" to="print.in"/></repeat></repeat>
        <stream from="numbers.out" to="all.in"/>)");
    const auto made = after(text, {"expand"});
    EXPECT_FALSE(has(made, "<repeat") || has(made, "<parallel") || has(made, "name=\"n\"")) << made;
    // What no number of parts depends on stays a parameter.
    EXPECT_TRUE(has(made, "name=\"factor\"") && has(made, "${factor / (2 + 1)}")) << made;
    EXPECT_EQ(graph_of(made), graph_of(text));
    EXPECT_EQ(graph_of(made, {.settings = {{"factor", "5"}}}), graph_of(text, {.settings = {{"factor", "5"}}}));
    EXPECT_THROW(graph_of(made, {.settings = {{"n", "5"}}}), ApplicationError);
    EXPECT_EQ(graph_of(after(text, {"expand"}, {.application = {.settings = {{"n", "5"}}}})),
              graph_of(text, {.settings = {{"n", "5"}}}));
}

TEST(Passes, inline_keeps_the_parameters_that_groups_are_handed) {
    const auto text = application(
        R"(<parameter name="rise" type="number" default="3"/><parameter name="n" type="integer" default="2"/>
        <group name="inner"><parameter name="f" type="number"/><parameter name="g" type="number" default="${f / 2}"/><input name="x" to="s.in"/><output name="y" from="s.out"/>
          <component name="s" class="scale"><set name="factor" value="${f / 3}"/></component></group>
        <group name="outer"><parameter name="k" type="number"/><parameter name="stages" type="integer"/>
          <input name="in" to="one.in"/><output name="out" from="two.y"/>
          <component name="one" class="shift"><set name="offset" value="${k * 2}"/></component>
          <use name="two" group="inner"><set name="f" value="${k + stages}"/></use>
          <stream from="one.out" to="two.x"/></group>)" +
        source + R"(
        <repeat index="i" to="${n - 1}"><use name="u${i}" group="outer"><set name="k" value="${rise}"/><set name="stages" value="${i}"/></use>
        <stream from="numbers.out" to="u${i}.in"/><stream from="u${i}.out" to="print.in"/></repeat>)");
    const auto made = after(text, {"inline"});
    EXPECT_FALSE(has(made, "<use") || has(made, "<group")) << made;
    EXPECT_EQ(graph_of(made), graph_of(text));
    // A setting that a group hands on as it is remains one; `rise` is calculated with to hand it on, so its value is in
    // its place.
    const auto simple = application(
        R"(<parameter name="rise" type="number" default="3"/><group name="g"><parameter name="k" type="number"/>
        <input name="in" to="a.in"/><output name="out" from="a.out"/><component name="a" class="shift"><set name="offset" value="${k * 2}"/></component></group>)" +
        source +
        R"(<use name="u" group="g"><set name="k" value="${rise}"/></use><stream from="numbers.out" to="u.in"/><stream from="u.out" to="print.in"/>)");
    EXPECT_TRUE(has(after(simple, {"inline"}), "${rise * 2}"));
    EXPECT_EQ(graph_of(after(simple, {"inline"}), {.settings = {{"rise", "7"}}}),
              graph_of(simple, {.settings = {{"rise", "7"}}}));
}

TEST(Passes, a_group_deals_out_what_leads_to_its_slices) {
    const auto text = application(
        R"(<group name="g"><input name="x" to="p.in"/><output name="y" from="p.out"/>
        <parallel name="p" shape="slice" slices="3"><component name="a" class="pass"/></parallel></group>)" +
        source + R"(<use name="u" group="g"/><stream from="numbers.out" to="u.x"/><stream from="u.y" to="print.in"/>)");
    EXPECT_TRUE(has(graph_of(text), "policy=\"round-robin\""));
    EXPECT_EQ(graph_of(after(text, {"inline", "expand"})), graph_of(text));
    EXPECT_EQ(graph_of(after(text, {"inline"})), graph_of(text));
}

TEST(Passes, unroll_leaves_what_does_not_fill_a_round_behind_the_loop) {
    const auto text =
        application(source + R"(<parameter name="n" type="integer" default="7"/><component name="s0" class="pass"/>
        <repeat index="i" from="1" to="${n}"><component name="s${i}" class="shift"><set name="offset" value="${i * i}"/></component>
        <stream from="s${i - 1}.out" to="s${i}.in"/></repeat><stream from="numbers.out" to="s0.in"/><stream from="s${n}.out" to="print.in"/>)");
    const auto made = after(text, {"unroll=3"});
    EXPECT_TRUE(has(made, R"(<repeat index="i" from="1" to="4" step="3">)") && has(made, "s${(i + 2)}") &&
                has(made, R"(name="s7")"))
        << made;
    EXPECT_EQ(graph_of(made), graph_of(text));
    EXPECT_EQ(after(text, {"unroll=8"}).find("<repeat index=\"i\" from=\"1\" to=\"7\">") != std::string::npos, true);
}

TEST(Passes, tasks_makes_a_parallel_of_tasks_of_slices) {
    const auto text =
        application(source + R"(<parallel name="p" shape="slice" slices="2"><component name="a" class="scale">
        <set name="factor" value="${slice}"/></component></parallel><parallel name="c" shape="crossdep" slices="2"><component name="r" class="pass"/>
        <component name="n" class="neighbours"/></parallel>
        <stream from="numbers.out" to="p.in"/><stream from="p.out" to="c.in"/><stream from="c.out" to="print.in"/>)");
    const auto made = after(text, {"tasks"});
    EXPECT_TRUE(has(made, R"(<parallel name="p" shape="task">)") && has(made, R"(<parallel name="c" shape="task">)"))
        << made;
    EXPECT_FALSE(has(made, "shape=\"slice\"") || has(made, "crossdep") || has(made, "slices="));
    EXPECT_EQ(graph_of(made), graph_of(text));
}

TEST(Passes, prune_takes_out_what_is_never_on_and_keeps_what_is_always_on) {
    const auto text = application(
        source +
        R"(<event name="flip"/><event name="five"/><group name="nobody"><component name="x" class="pass"/></group>
        <component name="a" class="pass"/><stream from="numbers.out" to="a.in"/>
        <manager><on event="flip" toggle="live"/><on event="five" component="dead" setting="factor" value="5"/>
          <on event="flip" component="dead" class="pass"/>
          <option name="never"><component name="dead" class="scale"/><stream from="dead.out" to="print.in"/>
            <otherwise><component name="kept" class="shift"/><stream from="a.out" to="kept.in"/><stream from="kept.out" to="print.in"/></otherwise></option>
          <option name="live" initially="on"><component name="b" class="pass"/><stream from="a.out" to="b.in"/><stream from="b.out" to="print.in"/></option></manager>
        <option name="always" initially="on"><component name="c" class="pass"/><stream from="a.out" to="c.in"/><stream from="c.out" to="print.in"/>
          <otherwise><component name="gone" class="pass"/></otherwise></option>
        <stream from="a.out" to="dead.in"/>)");
    const auto made = after(text, {"prune"});
    for (const auto* word : {"dead", "never", "always", "gone", "nobody"})
        EXPECT_FALSE(has(made, word)) << word << "\n" << made;
    for (const auto* word : {"kept", "\"live\"", "\"c\"", "toggle", "event name=\"five\""})
        EXPECT_TRUE(has(made, word)) << word << "\n" << made;
    EXPECT_EQ(graph_of(made), graph_of(after(text, {"expand"})));
    EXPECT_EQ(after(made, {"prune"}), made);
}

TEST(Passes, comments_stay_with_what_they_are_about) {
    const auto text = "<!-- of the whole -->\n" + application("<!-- where it begins -->" + source + R"(<!-- each -->
        <repeat index="i" to="1"><!-- inner --><component name="c${i}" class="pass"/><stream from="numbers.out" to="c${i}.in"/>
        <stream from="c${i}.out" to="print.in"/></repeat><!-- the end -->)");
    const auto made = after(text, {"expand"});
    EXPECT_TRUE(has(made, "<!-- of the whole -->\n<application")) << made;
    EXPECT_TRUE(has(made, "<!-- where it begins -->\n  <component name=\"numbers\"") &&
                has(made, "<!-- each -->\n  <!-- inner -->\n  <component name=\"c0\""))
        << made;
    EXPECT_TRUE(has(made, "<!-- the end -->\n</application>")) << made;
    EXPECT_EQ(std::count(made.begin(), made.end(), '!'), 5) << made;
}

TEST(Passes, groups_of_other_files_are_taken_in) {
    namespace fs = std::filesystem;
    const auto folder = fs::path(PENSTOCK_SOURCE) / "tests/language/files";
    const auto file = (folder / "uses_library.xml").string();
    const auto made = transform(file, {});
    EXPECT_FALSE(has(made, "<include"));
    Graph graph;
    Application::read(file).build(graph);
    EXPECT_EQ(graph_of(made), to_xml(graph, "graph"));
    EXPECT_EQ(graph_of(transform(file, {"inline"})), to_xml(graph, "graph"));
}

namespace {

/// Numbers through one slow stage and two fast ones.
const std::string line =
    application(R"(<component name="numbers" class="numbers"><set name="count" value="200"/></component>
    <component name="slow" class="scale"/><component name="fast" class="shift"/><component name="sum" class="sum"/><component name="keep" class="keep"/>
    <stream from="numbers.out" to="slow.in"/><stream from="slow.out" to="fast.in"/><stream from="fast.out" to="sum.in"/><stream from="sum.out" to="keep.in"/>)");

std::string profile_of_line() {
    ApplicationProfile profile("test", 2);
    RunStatistics figures;
    figures.seconds = 1;
    for (const auto& [name, service] :
         {std::pair{"numbers", 100.0}, {"slow", 4000.0}, {"fast", 500.0}, {"sum", 1.0}, {"keep", 1.0}}) {
        FilterStatistics filter;
        filter.name = name;
        filter.copies = 1;
        filter.firings = 200;
        filter.service_us = service;
        figures.filters.push_back(filter);
    }
    StreamStatistics stream{.from = "slow.out", .to = "fast.in", .buffers = 200, .capacity = 12};
    figures.streams.push_back(stream);
    profile.look(figures);
    return profile.text();
}

}  // namespace

TEST(Passes, place_and_size_follow_a_profile_and_keep_the_results) {
    const auto profile = profile_of_line();
    written::Kept kept;
    const auto components = written::with_keep(kept);
    const TransformOptions options{.application = {.components = &components}, .profile = profile};
    const auto sized = transform_text(line, {"size"}, "test.xml", options);
    EXPECT_TRUE(has(sized, R"(<component name="slow" class="scale" copies="3">)") ||
                has(sized, R"(<component name="slow" class="scale" copies="3"/>)"))
        << sized;
    EXPECT_TRUE(has(sized, R"(<stream from="slow.out" to="fast.in" ordered="true" capacity="12"/>)")) << sized;
    const auto placed = transform_text(line, {"place"}, "test.xml", options);
    EXPECT_TRUE(has(placed, R"(name="slow" class="scale" targets="0")") &&
                has(placed, R"(name="fast" class="shift" targets="1")"))
        << placed;
    EXPECT_TRUE(has(placed, R"(name="sum" class="sum" targets="1")") &&
                has(placed, R"(name="keep" class="keep" targets="1")"))
        << placed;
    const auto fused = transform_text(line, {"fuse=2"}, "test.xml", options);
    EXPECT_TRUE(has(fused, R"(name="numbers" class="numbers" targets="0")") &&
                has(fused, R"(name="keep" class="keep" near="numbers")"))
        << fused;
    // What is to live in the program has no place among worker processes.
    auto in_program = line;
    in_program.replace(in_program.find("name=\"slow\""), 11, "name=\"slow\" isolation=\"thread\"");
    for (const auto* const pass : {"size", "place", "fuse=2"}) {
        const auto made = transform_text(in_program, {pass}, "test.xml", options);
        const auto at = made.find("<component name=\"slow\"");
        const auto slow = made.substr(at, made.find('>', at) - at);
        EXPECT_TRUE(has(slow, "isolation=\"thread\"") && !has(slow, "targets") && !has(slow, "near")) << made;
    }
    Machine machine{{.targets = 3}};
    const auto expected = written::results(line, machine);
    ASSERT_EQ(expected.size(), 1u);
    for (const auto* made : {&sized, &placed, &fused}) EXPECT_EQ(written::results(*made, machine), expected) << *made;
    const auto both = transform_text(line, {"size", "place=3", "fuse=3"}, "test.xml", options);
    EXPECT_EQ(written::results(both, machine), expected) << both;
    EXPECT_THROW(transform_text(line, {"size"}, "test.xml",
                                {.application = {.components = &components}, .profile = "<profile/>"}),
                 UsageError);
    EXPECT_THROW(
        transform_text(line, {"size"}, "test.xml", {.application = {.components = &components}, .profile = line}),
        UsageError);
}
