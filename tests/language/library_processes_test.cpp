// Classes of shared libraries in worker processes, which load the library themselves.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "language/support.hpp"
#include "penstock/isolation.hpp"
#include "penstock/stream_error.hpp"
#include "tests/task/isolation_support.hpp"

using namespace penstock;
using written::application;

namespace {

const std::string libraries = PENSTOCK_TEST_LIBRARIES;

/// What came out of the stream that ends at `last`, in the program.
std::vector<double> results(const std::string& body, const std::string& last, const std::string& library) {
    auto components = Components::builtin();
    components.load(libraries + library);
    Machine machine(task_tests::isolated(2));
    Graph graph;
    Application::parse(application(body), "test.xml", {.components = &components}).build(graph);
    auto& reader = graph.add_reader<double>("reader");
    graph.connect(last, "reader.input");
    auto run = graph.start(machine);
    std::vector<double> found;
    while (const auto buffer = reader.read()) found.insert(found.end(), buffer->span().begin(), buffer->span().end());
    run.finish();
    return found;
}

}  // namespace

TEST(LibraryInProcesses, gives_the_same_as_in_threads) {
    SKIP_WITHOUT_PROCESSES();
    const auto found = results(
        R"(<component name="ramp" class="example:ramp"><set name="count" value="6"/><set name="slope" value="4"/></component>
        <component name="halve" class="example:halve"/><component name="smooth" class="example:smooth"><set name="window" value="3"/></component>
        <stream from="ramp.out" to="halve.in"/><stream from="halve.out" to="smooth.in"/>)",
        "smooth.out", "filters.so");
    EXPECT_EQ(found, (std::vector<double>{0, 1, 2, 4, 6, 8}));
}

TEST(LibraryInProcesses, events_that_a_class_sends_reach_their_rules) {
    SKIP_WITHOUT_PROCESSES();
    for (const std::string isolation : {"thread", "process"}) {
        const auto text = application(
            R"(<component name="ramp" class="example:ramp"><set name="count" value="20000"/></component>
            <component name="alarm" class="example:alarm" isolation=")" +
            isolation + R"("><set name="limit" value="3.5"/></component>
            <component name="keep" class="keep" isolation="thread"/><event name="loud"/><signal from="alarm.loud" event="loud"/>
            <manager><on event="loud" most="4" component="alarm" setting="limit" value="${event * 10}"/></manager>
            <stream from="ramp.out" to="alarm.in"/><stream from="alarm.out" to="keep.in"/>)");
        written::Kept kept;
        auto components = written::with_keep(kept);
        components.load(libraries + "filters.so");
        Machine machine(task_tests::isolated(2));
        auto run = Application::parse(text, "test.xml", {.components = &components}).start(machine);
        run.run().finish();
        run.settle();
        for (const auto& filter : run.run().description().filters) {
            if (filter.name == "alarm") EXPECT_EQ(filter.settings[0].value, SettingValue(40.0)) << isolation;
        }
        run.finish();
        EXPECT_EQ(kept.values.size(), 20000u);
    }
}

TEST(LibraryInProcesses, a_class_that_ends_its_process_ends_its_filter_alone) {
    SKIP_WITHOUT_PROCESSES();
    try {
        (void)results(
            R"(<component name="numbers" class="numbers"/><component name="wrong" class="misuse"><set name="how" value="abort"/></component>
            <stream from="numbers.out" to="wrong.in"/>)",
            "wrong.out", "misused.so");
        ADD_FAILURE() << "it ran";
    } catch (const FilterFailed& failed) {
        EXPECT_EQ(failed.filter(), "wrong");
        EXPECT_THROW(std::rethrow_exception(failed.cause()), WorkerDied) << failed.what();
    }
}

TEST(LibraryInProcesses, a_class_that_fails_says_why_across_processes) {
    SKIP_WITHOUT_PROCESSES();
    try {
        (void)results(
            R"(<component name="numbers" class="numbers"/><component name="wrong" class="misuse"><set name="how" value="answer"/></component>
            <stream from="numbers.out" to="wrong.in"/>)",
            "wrong.out", "misused.so");
        ADD_FAILURE() << "it ran";
    } catch (const FilterFailed& failed) {
        EXPECT_NE(std::string(failed.what()).find("fire() of class 'misuse' returned 7"), std::string::npos)
            << failed.what();
    }
}
