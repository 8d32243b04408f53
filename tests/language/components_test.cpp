// Component classes by name: who may add them when, and those that are made when they are first asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "language/support.hpp"
#include "tests/bounded_child.hpp"
#include "tests/sanitizers.hpp"

using namespace penstock;

namespace {

struct Pass {
    Input<double> in{"in"};
    Output<double> out{"out"};
    void operator()() { out.write(in.read()); }
};

const std::shared_ptr<const streaming::FilterKind> pass = std::make_shared<streaming::FilterKindOf<Pass>>();

/// Has late:pass, and a class that cannot be made.
struct Source final : ComponentSource {
    std::vector<std::string> names() const override { return {"late:broken", "late:pass"}; }
    std::optional<Made> make(const std::string& name) const override {
        asked.push_back(name);
        if (name != "late:pass") return std::nullopt;
        return Made{"Passes on.", pass, {ComponentOrigin::Kind::python, "late"}};
    }
    mutable std::vector<std::string> asked;
};

std::string component(const std::string& of) {
    return written::application("<component name=\"numbers\" class=\"numbers\"/><component name=\"late\" class=\"" +
                                of + "\"/><stream from=\"numbers.out\" to=\"late.in\"/>");
}

}  // namespace

TEST(Components, a_source_is_asked_for_names_that_nobody_has_until_it_has_made_one) {
    auto components = Components::builtin();
    const auto source = std::make_shared<Source>();
    components.add_source(source);
    const auto names = components.names();
    EXPECT_EQ(std::count(names.begin(), names.end(), "late:pass"), 1);
    EXPECT_TRUE(written::findings(component("scale"), {.components = &components}).find("error") == std::string::npos);
    EXPECT_EQ(source->asked, std::vector<std::string>{}) << "nothing is made for classes that are there";
    EXPECT_TRUE(written::findings(component("late:pass"), {.components = &components}).find("error") ==
                std::string::npos);
    const auto* const made = components.find("late:pass");
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->documentation, "Passes on.");
    EXPECT_EQ(made->origin.name, "late");
    const auto copy = components;
    EXPECT_EQ(copy.find("late:pass"), made) << "a copy has the same";
    EXPECT_EQ(components.of_type(made->filter.type), made);
    EXPECT_EQ(source->asked, std::vector<std::string>{"late:pass"}) << "it is made once";
    EXPECT_EQ(components.find("late:broken"), nullptr);
    EXPECT_EQ(components.find("no name"), nullptr);
    EXPECT_EQ(source->asked, (std::vector<std::string>{"late:pass", "late:broken"}));
    EXPECT_NE(written::findings(component("late:past"), {.components = &components}).find("did you mean 'late:pass'?"),
              std::string::npos);
}

TEST(Components, what_is_added_hides_what_a_source_would_make) {
    Components components;
    const auto source = std::make_shared<Source>();
    components.add_source(source);
    components.add<Pass>("late:pass", "Of the program.");
    EXPECT_EQ(components.find("late:pass")->documentation, "Of the program.");
    EXPECT_EQ(components.names(), (std::vector<std::string>{"late:broken", "late:pass"}));
    EXPECT_EQ(source->asked, std::vector<std::string>{});
}

TEST(Components, a_copy_is_as_it_was_when_it_was_made) {
    Components components;
    components.add<Pass>("one", "");
    const auto before = components;
    components.add<Pass>("two", "");
    EXPECT_EQ(before.names(), std::vector<std::string>{"one"});
    EXPECT_EQ(before.find("one"), components.find("one"));
    EXPECT_THROW(components.add<Pass>("one", ""), UsageError);
    components = before;
    EXPECT_EQ(components.find("two"), nullptr);
}

TEST(Components, are_added_while_others_ask_and_read_applications) {
    auto components = Components::builtin();
    constexpr int count = 200;
    std::atomic<bool> over{false};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 2; ++reader)
        readers.emplace_back([&] {
            while (!over.load()) {
                EXPECT_NE(components.find("scale"), nullptr);
                EXPECT_EQ(written::findings(component("scale"), {.components = &components}).find("error"),
                          std::string::npos);
                const auto names = components.names();
                EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
            }
        });
    for (int i = 0; i < count; ++i) components.add<Pass>("pass" + std::to_string(i), "");
    over = true;
    for (auto& reader : readers) reader.join();
    for (int i = 0; i < count; ++i) EXPECT_NE(components.find("pass" + std::to_string(i)), nullptr);
}

namespace {

/// Its destructor asks for classes, as one may that waits for somebody who does.
struct Asks {
    ~Asks() {
        if (asked != nullptr) (void)Components(*asked);
    }
    static inline const Components* asked = nullptr;
};

struct PassWithAsks : Pass {
    explicit PassWithAsks(std::shared_ptr<const Asks> keeps) : asks(std::move(keeps)) {}
    std::shared_ptr<const Asks> asks;
};

}  // namespace

TEST(Components, that_are_replaced_die_where_no_lock_is_held) {
    if (penstock_tests::thread_sanitizer)
        GTEST_SKIP() << "the thread sanitizer follows no fork of a program with several threads";
    const auto ending = penstock_tests::ending_of([] {
        Components components;
        Asks::asked = &components;
        components.add<PassWithAsks>("asking", "Asks.", std::make_shared<const Asks>());
        components = Components::builtin();
        components.add<Pass>("pass2", "Passes on.");
        try {
            components.add<PassWithAsks>("pass2", "Is refused.", std::make_shared<const Asks>());
        } catch (const UsageError&) {
            return 0;
        }
        return 1;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}
