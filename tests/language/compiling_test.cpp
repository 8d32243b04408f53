// Applications described in C++, and the programs that are written of files. That such a program builds and does the
// same: tests/install.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "language/support.hpp"
#include "penstock/application_builder.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/application_program.hpp"
#include "penstock/application_source.hpp"

using namespace penstock;

namespace {

const std::string folder = PENSTOCK_SOURCE "/tests/install/compiled/";
const std::string library = PENSTOCK_TEST_LIBRARIES "filters.so";

/// What the application there uses.
Components components_with_library() {
    auto all = Components::builtin();
    all.load(library);
    return all;
}

std::string graph_of(const Application& application) {
    Graph graph;
    application.build(graph);
    return to_xml(graph, "graph");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

struct Triple {
    Input<double> in{"in"};
    Output<double> out{"out"};
    Setting<double> by{"by", 3.0};
    void operator()() {
        auto buffer = in.read();
        for (double& value : buffer.edit()) value *= by;
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(ApplicationBuilder, says_what_a_file_says) {
    const auto file = Application::parse(
        written::application(R"(<component name="numbers" class="numbers"><set name="count" value="7"/></component>
        <component name="scale" class="scale" copies="2"/><component name="print" class="print"/>
        <stream from="numbers.out" to="scale.in" capacity="3"/><stream from="scale.out" to="print.in" ordered="true"/>
        <event name="e"/><manager><on event="e" toggle="o"/><option name="o"><component name="count" class="count"/><component name="p" class="print-integers"/>
        <stream from="numbers.out" to="count.in"/><stream from="count.out" to="p.in"/></option></manager>)"));
    ApplicationBuilder app("test");
    app.event("e");
    app.add("numbers", "numbers");
    app.set("numbers", "count", ParameterValue(2) * 3 + 1);
    app.add("scale", "scale", {.copies = 2});
    app.add("print", "print");
    app.connect("numbers.out", "scale.in", {.capacity = 3});
    app.connect("scale.out", "print.in", {.ordered = true});
    app.option("o", false, [&] {
        app.add("count", "count");
        app.add("p", "print-integers");
        app.connect("numbers.out", "count.in");
        app.connect("count.out", "p.in");
    });
    app.on("e").toggle("o");
    const auto built = app.build();
    EXPECT_EQ(graph_of(built), graph_of(file));
    EXPECT_EQ(built.options(), file.options());
    EXPECT_EQ(built.events(), file.events());
    EXPECT_EQ(drawing_of(built), drawing_of(file));
}

TEST(ApplicationBuilder, takes_types_and_obeys_events) {
    written::Kept kept;
    const auto components = written::with_keep(kept);
    ApplicationBuilder app("test", components);
    app.event("five");
    app.event("other");
    app.add("numbers", "numbers");
    app.set("numbers", "count", 3);
    app.set("numbers", "first", 1);
    app.add<Triple>("triple");
    app.set("triple", "by", 4);
    app.add("keep", "keep");
    app.connect("numbers.out", "triple.in");
    app.connect("triple.out", "keep.in");
    app.on("five").set("triple", "by", 5.0);
    app.on("other").replace("triple", "shift", {{"offset", 0.5}});
    const auto application = app.build();
    Machine machine{{.targets = 2}};
    application.start(machine).finish();
    EXPECT_EQ(kept.values, (std::vector<double>{4, 8, 12}));
}

TEST(ApplicationBuilder, refuses_what_a_file_could_not_say_either) {
    ApplicationBuilder app("test");
    EXPECT_THROW(app.add("a", "scal"), UsageError);
    EXPECT_THROW(app.add("1", "scale"), UsageError);
    app.add("a", "scale");
    EXPECT_THROW(app.add("a", "scale"), UsageError);
    EXPECT_THROW(app.set("a", "factr", 1), UsageError);
    EXPECT_THROW(app.set("a", "factor", "much"), UsageError);
    EXPECT_THROW(app.set("b", "factor", 1), UsageError);
    EXPECT_THROW(app.on("e"), UsageError);
    EXPECT_THROW(app.build(), ApplicationError);  // nothing leads to its input
}

TEST(ParameterValues, calculate_as_expressions_do) {
    const ParameterValue n = 7, x = 2.5;
    EXPECT_EQ((n / 2).text(), "3");
    EXPECT_EQ((n % 4 - 5).text(), "-2");
    EXPECT_EQ((n / 2.0).text(), "3.5");
    EXPECT_EQ((-x * 2).text(), "-5");
    EXPECT_EQ(joined("of ", n, " streams").text(), "of 7 streams");
    EXPECT_THROW(n / 0, UsageError);
    EXPECT_THROW(n * std::numeric_limits<std::int64_t>::max(), UsageError);
    EXPECT_THROW(n + "x", UsageError);
    EXPECT_THROW(x.integer("n", 0, 9), UsageError);
    EXPECT_EQ(n.integer("n", 0, 9), 7);
}

TEST(Compiling, keeps_parameters_that_no_number_of_parts_depends_on) {
    const auto components = components_with_library();
    const auto made = source_of(folder + "application.xml", {.application = {.components = &components},
                                                             .types = {{"scale", "my/scale.hpp:my::Scale"}}});
    EXPECT_EQ(made.fixed, std::vector<std::string>{"stages"});
    for (const auto* part :
         {"app.set(\"numbers\", \"count\", count_);", "const auto& count_ = parameters.at(\"count\");",
          "#include \"my/scale.hpp\"", "app.add<my::Scale>(\"stage1\"", "joined(\"of \", count_, \" values: \")",
          ".name = \"factor\", .type = \"number\", .otherwise = \"1.5\"", "app.option(\"shifted\", false, [&] {",
          "app.on(\"flip\").toggle(\"shifted\");", "// Every stage multiplies."})
        EXPECT_TRUE(has(made.program, part)) << part << "\n" << made.program;
    EXPECT_FALSE(has(made.program, "\"stages\""));
    EXPECT_TRUE(has(made.build, "find_package(penstock REQUIRED)"));
    EXPECT_THROW(source_of(folder + "application.xml",
                           {.application = {.components = &components}, .types = {{"scale", "my::Scale"}}}),
                 UsageError);
    EXPECT_THROW(source_of(folder + "nothing.xml"), SystemError);
}

TEST(Compiling, writes_what_the_documentation_shows) {
    const auto text = written::file(PENSTOCK_SOURCE "/docs/language.md");
    const auto block = [&](const std::string& begin) {
        const auto at = text.find(begin) + begin.find('\n') + 1;
        return text.substr(at, text.find("```\n", at) - at);
    };
    const auto file = testing::TempDir() + "penstock_first_example.xml";
    std::ofstream(file) << block("```xml\n<application");
    EXPECT_TRUE(has(source_of(file).program, block("```cpp\nApplication sums"))) << source_of(file).program;
    std::remove(file.c_str());
}

TEST(Compiling, keeps_where_components_live) {
    const auto source = source_of_text(written::application(R"(<parameter name="limit" type="number" default="0.25"/>
        <component name="numbers" class="numbers" isolation="process" time-limit="${limit}"/><component name="print" class="print" isolation="thread"/>
        <stream from="numbers.out" to="print.in"/>)"));
    EXPECT_TRUE(
        has(source.program, "{.time_limit = std::chrono::nanoseconds(250000000), .isolation = Isolation::process}"))
        << source.program;
    EXPECT_TRUE(has(source.program, R"(app.add("print", "print", {.isolation = Isolation::none});)")) << source.program;
    EXPECT_EQ(source.fixed, std::vector<std::string>{"limit"});
}

TEST(Compiling, a_program_names_the_libraries_that_it_uses) {
    const auto components = components_with_library();
    EXPECT_TRUE(has(source_of(folder + "application.xml", {.application = {.components = &components}}).program,
                    ".libraries = {\"" + std::filesystem::canonical(library).string() + "\"}"));
    const auto file = testing::TempDir() + "penstock_without_library.xml";
    std::ofstream(file) << written::application(
        R"(<component name="numbers" class="numbers"/><component name="print" class="print"/>
        <stream from="numbers.out" to="print.in"/>)");
    EXPECT_FALSE(has(source_of(file, {.application = {.components = &components}}).program, "libraries"));
    std::remove(file.c_str());
}

TEST(Compiling, classes_of_python_are_refused_unless_a_type_stands_for_them) {
    auto components = Components::builtin();
    components.add_kind("triple", "", std::make_shared<streaming::FilterKindOf<Triple>>(),
                        {ComponentOrigin::Kind::python, "my-filters"});
    const auto file = testing::TempDir() + "penstock_of_python.xml";
    std::ofstream(file) << written::application(
        R"(<component name="numbers" class="numbers"/><component name="three" class="triple"/>
        <component name="print" class="print"/><stream from="numbers.out" to="three.in"/><stream from="three.out" to="print.in"/>)");
    try {
        (void)source_of(file, {.application = {.components = &components}});
        ADD_FAILURE() << "it was written";
    } catch (const UsageError& refused) {
        EXPECT_STREQ(refused.what(),
                     "component 'three' is of class 'triple', which is written in Python (package my-filters), and a "
                     "program in C++ has no Python: give "
                     "a C++ type for it (--type triple=HEADER:TYPE), or run the file itself");
    }
    const auto made =
        source_of(file, {.application = {.components = &components}, .types = {{"triple", "triple.hpp:Triple"}}});
    EXPECT_TRUE(has(made.program, "app.add<Triple>(\"three\");"));
    std::remove(file.c_str());
}

TEST(Compiling, a_program_loads_its_libraries_or_others_in_their_place) {
    const Components before = Components::known();
    ApplicationProgram program{
        .name = "test", .libraries = {"/nowhere/libfilters.so"}, .build = [](const ParameterValues&) {
            ApplicationBuilder app("test");
            app.add("ramp", "example:ramp");
            return app.build();
        }};
    const auto run = [&](std::vector<const char*> arguments) {
        arguments.insert(arguments.begin(), "test");
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = run_program(static_cast<int>(arguments.size()), arguments.data(), program);
        return std::to_string(status) + testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(run({}),
              "2test: the library /nowhere/libfilters.so gives no component classes: there is no such file: give the "
              "path of a library, as in "
              "./libfilters.so; --library FILE names another one in its place\n");
    EXPECT_TRUE(has(run({"--help"}), "libraries:\n  /nowhere/libfilters.so\n"));
    EXPECT_TRUE(run({"--library", "/nowhere/either.so"}).starts_with("2test: the library /nowhere/either.so gives"));
    EXPECT_EQ(run({"--library", library.c_str(), "--targets", "1"}), "0");
    program.libraries = {library};
    EXPECT_EQ(run({"--targets", "1"}), "0");
    Components::known() = before;  // what other tests of this program know
}

TEST(Compiling, a_program_tells_what_is_wrong_with_its_options) {
    const ApplicationProgram program{
        .name = "test",
        .parameters =
            {{.name = "count", .type = "integer", .otherwise = "3", .least = "1", .documentation = "How many."}},
        .build = [](const ParameterValues& parameters) {
            ApplicationBuilder app("test");
            app.add("numbers", "numbers");
            app.set("numbers", "count", parameters.at("count"));
            return app.build();
        }};
    const auto run = [&](std::vector<const char*> arguments) {
        arguments.insert(arguments.begin(), "test");
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = run_program(static_cast<int>(arguments.size()), arguments.data(), program);
        return std::to_string(status) + testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(run({"--set", "count=5", "--targets", "1"}), "0");
    EXPECT_EQ(run({"--set=count=5", "--targets=0"}), "0");
    EXPECT_TRUE(has(run({"--help"}), "count (integer, by itself 3): How many."));
    EXPECT_TRUE(run({"--set", "count=0"}).starts_with("2test: parameter 'count' is 0, and should be at least 1"));
    EXPECT_TRUE(has(run({"--set", "cuont=1"}), "did you mean 'count'?"));
    EXPECT_TRUE(
        run({"--trace", "/no/such/folder/trace.json"}).starts_with("2test: cannot write '/no/such/folder/trace.json'"));
    for (const auto& wrong : std::vector<std::vector<const char*>>{{"--set"},
                                                                   {"--set", "count"},
                                                                   {"--targets", "many"},
                                                                   {"--isolation", "island"},
                                                                   {"--isolation=process", "--targets=0"},
                                                                   {"--fast", "1"},
                                                                   {"more"}})
        EXPECT_TRUE(run(wrong).starts_with("2test: ")) << wrong.front();
}

TEST(Drawings, show_groups_options_copies_and_placement) {
    const auto drawing = drawing_of(Application::parse(
        written::application(R"(<event name="flip"/><component name="in/numbers" class="numbers" targets="1"/>
        <component name="a" class="scale" copies="3"/><component name="print" class="print"/><stream from="in/numbers.out" to="a.in"/>
        <manager><on event="flip" toggle="o"/><option name="o"><component name="b" class="pass" near="a" isolation="process"/><stream from="a.out" to="b.in"/>
        <stream from="b.out" to="print.in"/><otherwise><stream from="a.out" to="print.in"/></otherwise></option></manager>)")));
    for (const auto* part :
         {"subgraph \"cluster in/\"", "numbers\\nnumbers\\non target 1", "a x 3\\nscale",
          "label=\"option o\\nflip toggles\"; style=\"dashed\"",
          "\"b\" [label=\"b\\npass\\nnear a\\nin a worker process\", style=\"rounded,dashed\"",
          "\"a\" -> \"print\" [label=\"out - in\"]", "\"a\" -> \"b\" [label=\"out - in\", style=dashed"})
        EXPECT_TRUE(has(drawing, part)) << part << "\n" << drawing;
}

TEST(Profiles, have_the_figures_of_a_run) {
    Machine machine{{.targets = 1}};
    const auto application = Application::parse(
        written::application(R"(<component name="numbers" class="numbers"><set name="count" value="300"/></component>
        <component name="sum" class="sum"/><component name="print" class="print"/>
        <stream from="numbers.out" to="sum.in"/><stream from="sum.out" to="print.in"/>)"));
    auto run = application.start(machine);
    run.finish();
    ApplicationProfile profile("test", machine.targets());
    profile.look(run.run().statistics());
    const auto text = profile.text();
    EXPECT_TRUE(has(text, "application=\"test\"") && has(text, "targets=\"1\"")) << text;
    EXPECT_TRUE(has(text, "<component name=\"sum\" copies=\"1\" firings=\"300\"")) << text;
    EXPECT_TRUE(has(text, "<stream from=\"numbers.out\" to=\"sum.in\" buffers=\"300\"")) << text;
}
