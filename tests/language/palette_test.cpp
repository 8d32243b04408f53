// Edits from outside that name component classes: what a run's door offers where the program uses the language.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "penstock/application.hpp"
#include "penstock/components.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "stream/visit.hpp"

using namespace penstock;
using parts::visit;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(Palette, classes_are_listed_put_in_set_and_written_as_xml) {
    const auto name = "palette-" + std::to_string(getpid());
    Machine machine{{.targets = 1}};
    Graph graph;
    graph.add_kind("numbers", {}, Components::known().find("numbers")->kind);
    graph.add_kind("sum", {}, Components::known().find("sum")->kind);
    graph.add_kind("print", {}, Components::known().find("print")->kind);
    graph.connect("numbers.out", "sum.in");
    graph.connect("sum.out", "print.in");
    graph.set("numbers", "count", std::int64_t{1} << 40);
    auto run = graph.start(machine, {.name = name});
    EXPECT_TRUE(has(visit(name, "components"), "\"name\":\"scale\""));
    EXPECT_EQ(visit(name, "edits", R"({"edits":[{"do":"disconnect","from":"numbers.out","to":"sum.in"},
        {"do":"add","name":"twice","class":"scale","copies":2,"settings":{"factor":2}},
        {"do":"connect","from":"numbers.out","to":"twice.in"},{"do":"connect","from":"twice.out","to":"sum.in"}]})"),
              "{\"made\":4}\n");
    EXPECT_TRUE(has(visit(name, "graph"), "\"name\":\"factor\",\"kind\":\"number\",\"value\":2"));
    const auto xml = visit(name, "xml");
    EXPECT_TRUE(has(xml, "class=\\\"scale\\\"") && has(xml, "copies=\\\"2\\\"")) << xml;
    EXPECT_TRUE(has(visit(name, "edits", R"({"edits":[{"do":"add","name":"x","class":"nothing"}]})"),
                    "edit 1: there is no component class 'nothing'"));
    EXPECT_EQ(visit(name, "stop", "{}"), "{}\n");
}

}  // namespace
