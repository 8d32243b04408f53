// Every example of docs/language.md is right, and runs to its end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "language/support.hpp"

using namespace penstock;

namespace {

std::vector<std::string> examples() {
    const auto text = written::file(PENSTOCK_SOURCE "/docs/language.md");
    std::vector<std::string> all;
    constexpr std::string_view begin = "```xml\n", end = "```\n";
    for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
        at += begin.size();
        all.push_back(text.substr(at, text.find(end, at) - at));
    }
    return all;
}

}  // namespace

TEST(LanguageExamples, each_of_the_documentation_is_without_findings_and_runs) {
    const auto all = examples();
    ASSERT_GE(all.size(), 8u);
    Machine machine{{.targets = 2}};
    for (const auto& each : all) {
        EXPECT_EQ(written::findings(each), "") << each;
        Application::parse(each).start(machine).finish();
    }
}

TEST(LanguageExamples, each_element_of_the_schema_is_in_one_of_them) {
    std::string text;
    for (const auto& each : examples()) text += each;
    const auto schema = written::file(PENSTOCK_SOURCE "/share/penstock/application.rng");
    int elements = 0;
    constexpr std::string_view begin = "<element name=\"";
    for (auto at = schema.find(begin); at != schema.npos; at = schema.find(begin, at)) {
        at += begin.size();
        const auto name = schema.substr(at, schema.find('"', at) - at);
        ++elements;
        if (name == "library" || name == "include") continue;  // these take a second file
        EXPECT_NE(text.find("<" + name), text.npos) << name;
    }
    EXPECT_GE(elements, 18);
}
