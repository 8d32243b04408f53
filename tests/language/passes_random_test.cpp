// Random applications through random sequences of passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "language/random_application.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/transformation.hpp"

using namespace penstock;

namespace {

bool long_form() { return std::getenv("PENSTOCK_LONG") != nullptr; }

std::vector<double> sorted_results(const std::string& text, Machine& machine) {
    auto values = written::results(text, machine);
    std::sort(values.begin(), values.end());
    return values;
}

std::vector<std::string> some(std::mt19937& random, const std::vector<std::string>& names) {
    std::vector<std::string> chosen;
    for (unsigned i = 0, count = 1 + random() % 4; i < count; ++i) chosen.push_back(names[random() % names.size()]);
    return chosen;
}

std::string said(const std::vector<std::string>& passes) {
    std::string all;
    for (const auto& each : passes) all += each + " ";
    return all;
}

}  // namespace

TEST(RandomPasses, those_that_only_expand_leave_the_graph_as_it_was) {
    written::Kept kept;
    const auto components = written::with_keep(kept);
    const ApplicationOptions options{.components = &components};
    const auto graph_of = [&](const std::string& text) {
        Graph graph;
        Application::parse(text, "test.xml", options).build(graph);
        return to_xml(graph, "graph", components);
    };
    const unsigned seeds = long_form() ? 20'000 : 120;
    unsigned with_groups = 0, with_slices = 0;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        const auto text = written::RandomApplication(seed).text();
        ASSERT_EQ(written::findings(text, options).find("error"), std::string::npos)
            << written::findings(text, options) << text;
        std::mt19937 random(seed);
        const auto passes = some(random, {"expand", "inline", "tasks", "unroll", "unroll=3"});
        const auto made = transform_text(text, passes, "test.xml", {.application = options});
        ASSERT_EQ(graph_of(made), graph_of(text)) << seed << ": " << said(passes) << "\n" << text << made;
        EXPECT_EQ(transform_text(text, passes, "test.xml", {.application = options}), made);
        EXPECT_EQ(transform_text(made, {}, "test.xml", {.application = options}), made);
        with_groups += text.find("<use") != text.npos;
        with_slices += text.find("\"slice\"") != text.npos;
    }
    EXPECT_GT(with_groups, seeds / 5);
    EXPECT_GT(with_slices, seeds / 5);
}

TEST(RandomPasses, all_of_them_keep_the_results) {
    Machine machine{{.targets = 3}};
    const unsigned seeds = long_form() ? 2'000 : 25;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        const auto text = written::RandomApplication(seed).text();
        std::mt19937 random(seed);
        written::Kept kept;
        const auto components = written::with_keep(kept);
        const ApplicationOptions options{.components = &components};
        // A profile with random figures: what place and size make of it must be right whatever it says.
        auto run = Application::parse(text, "test.xml", options).start(machine);
        run.finish();
        auto figures = run.run().statistics();
        for (auto& each : figures.filters) each.service_us = static_cast<double>(random() % 1000);
        for (auto& each : figures.streams) each.capacity = static_cast<double>(random() % 20);
        ApplicationProfile profile("test", 3);
        profile.look(figures);
        const auto passes =
            some(random, {"expand", "inline", "tasks", "unroll", "prune", "fuse=3", "place", "place=2", "size"});
        const auto made = transform_text(text, passes, "test.xml", {.application = options, .profile = profile.text()});
        ASSERT_EQ(sorted_results(made, machine), sorted_results(text, machine)) << seed << ": " << said(passes) << "\n"
                                                                                << text << made;
    }
}
