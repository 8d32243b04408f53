// A graph, its XML, and the graph from that XML are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "language/support.hpp"

using namespace penstock;

namespace {

struct Labelled {
    Input<double> in{"in"};
    Setting<std::string> label{"label", "plain"};
    Setting<bool> on{"on", true};
    Setting<double> factor{"factor", 0.1, {.unit = "pixels"}};
    void operator()() { (void)in.read(); }
};
struct Unknown {
    Input<double> in{"in"};
    void operator()() { (void)in.read(); }
};

Components classes() {
    auto all = Components::builtin();
    all.add<Labelled>("labelled", "With settings of all kinds.");
    return all;
}

void expect_equal(const GraphDescription& a, const GraphDescription& b) {
    ASSERT_EQ(a.filters.size(), b.filters.size());
    for (std::size_t i = 0; i < a.filters.size(); ++i) {
        const auto &x = a.filters[i], &y = b.filters[i];
        EXPECT_EQ(x.name, y.name);
        EXPECT_EQ(x.type, y.type);
        EXPECT_EQ(x.options.copies, y.options.copies);
        EXPECT_EQ(x.options.targets, y.options.targets);
        EXPECT_EQ(x.options.near, y.options.near);
        EXPECT_EQ(x.options.on_failure, y.options.on_failure);
        EXPECT_EQ(x.options.pool, y.options.pool);
        ASSERT_EQ(x.settings.size(), y.settings.size());
        for (std::size_t k = 0; k < x.settings.size(); ++k)
            EXPECT_EQ(x.settings[k].value, y.settings[k].value) << x.settings[k].name;
    }
    ASSERT_EQ(a.streams.size(), b.streams.size());
    for (std::size_t i = 0; i < a.streams.size(); ++i) {
        const auto &x = a.streams[i], &y = b.streams[i];
        EXPECT_EQ(x.from, y.from);
        EXPECT_EQ(x.to, y.to);
        EXPECT_EQ(x.options.policy, y.options.policy);
        EXPECT_EQ(x.options.capacity, y.options.capacity);
        EXPECT_EQ(x.options.capacity_bytes, y.options.capacity_bytes);
        EXPECT_EQ(x.options.when_full, y.options.when_full);
        EXPECT_EQ(x.options.ordered, y.options.ordered);
        EXPECT_EQ(x.options.fuse, y.options.fuse);
        EXPECT_EQ(x.options.feedback, y.options.feedback);
        EXPECT_EQ(x.options.name, y.options.name);
    }
}

}  // namespace

TEST(XmlBothWays, random_graphs_come_back_as_they_were_and_give_the_same_bytes) {
    const auto components = classes();
    const char* const chain_classes[] = {"scale", "shift", "pass"};
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return random() % n; };
        Graph graph;
        graph.add_kind("source", {.pool = below(3)}, components.find("numbers")->kind);
        graph.set("source", "step", static_cast<double>(random()) / 3.0);
        std::string last = "source";
        for (unsigned i = 0, n = 1 + below(12); i < n; ++i) {
            const auto name = (below(2) ? "left/" : "f") + std::string("_") + std::to_string(i);
            const auto path = name.starts_with("left/") ? "left/x" + std::to_string(i) : name;
            FilterOptions options{.copies = static_cast<int>(below(4)),
                                  .on_failure = below(2) ? OnFailure::stop : OnFailure::go_on};
            if (below(3) == 0) options.targets = {0, 1};
            else if (below(3) == 0) options.near = last;
            const auto* const kind = chain_classes[below(3)];
            graph.add_kind(path, options, components.find(kind)->kind);
            if (kind == chain_classes[0]) graph.set(path, "factor", static_cast<double>(random()) * 1e-9);
            StreamOptions stream{.policy = static_cast<Policy>(below(4)),
                                 .capacity = below(9),
                                 .capacity_bytes = below(2) * 4096,
                                 .when_full = static_cast<WhenStreamFull>(below(4)),
                                 .fuse = below(2) == 0};
            if (below(3) == 0) stream.name = "s & <" + std::to_string(i) + ">";
            graph.connect(last + ".out", path + ".in", stream);
            last = path;
        }
        graph.add_kind("end", {}, components.find("labelled")->kind);
        graph.set("end", "label", std::string("a \"b\" <c> & $ ${x}\n'\t\xc3\xa9"));
        graph.set("end", "on", below(2) == 0);
        graph.connect(last + ".out", "end.in");
        ASSERT_EQ(graph.check(), std::vector<std::string>{}) << seed;

        EXPECT_EQ(graph.description().filters.back().settings[0].value,
                  SettingValue(std::string("a \"b\" <c> & $ ${x}\n'\t\xc3\xa9")));
        EXPECT_NE(graph.description().filters.front().settings[3].value, SettingValue(1.0));  // the step that was set
        const auto text = to_xml(graph, "round", components);
        Graph again;
        from_xml(again, text, {.components = &components});
        expect_equal(graph.description(), again.description());
        EXPECT_EQ(to_xml(again, "round", components), text);
    }
}

TEST(XmlBothWays, what_a_file_cannot_hold_is_refused_by_name) {
    const auto message = [](const auto& describe) {
        Graph graph;
        describe(graph);
        try {
            (void)to_xml(graph);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(
        message([](Graph& graph) { graph.add_reader<double>("reader"); }).find("'reader' is the program's own end"),
        std::string::npos);
    EXPECT_NE(message([](Graph& graph) { graph.add<Unknown>("odd"); }).find("register_component"), std::string::npos);
    EXPECT_NE(message([](Graph& graph) {
                  graph.add_kind("with space", {}, Components::known().find("pass")->kind);
              }).find("'with space' is no name"),
              std::string::npos);
    EXPECT_NE(message([](Graph& graph) {
                  graph.add_kind("a", {}, Components::known().find("numbers")->kind);
                  graph.add_kind("b", {}, Components::known().find("print")->kind);
                  graph.connect(
                      "a.out", "b.in",
                      {.policy = Policy::by_key, .key = [](const Tags&, std::span<const std::byte>) { return 0u; }});
              }).find("has a function as its key"),
              std::string::npos);
}

TEST(ComponentRegistry, a_name_is_given_once_and_lists_ports_and_settings) {
    auto components = classes();
    EXPECT_THROW(components.add<Labelled>("labelled", ""), UsageError);
    EXPECT_THROW(components.add<Labelled>("1st", ""), UsageError);
    EXPECT_THROW(components.add<Labelled>("", ""), UsageError);
    const auto* const found = components.find("labelled");
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->filter.inputs.size(), 1u);
    EXPECT_EQ(found->filter.inputs[0].element, element_type<double>());
    ASSERT_EQ(found->filter.settings.size(), 3u);
    EXPECT_EQ(found->filter.settings[2].limits.unit, "pixels");
    EXPECT_EQ(components.find("nobody"), nullptr);
    EXPECT_EQ(components.of_type(found->filter.type), found);
}
