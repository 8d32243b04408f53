// Passes that users write in C++.
#include <gtest/gtest.h>

#include <string>

#include "language/support.hpp"
#include "penstock/pass.hpp"

using namespace penstock;

namespace {

const auto sums = written::application(R"(
  <!-- The source. -->
  <component name="numbers" class="numbers"/>
  <component name="double" class="scale"/>
  <component name="result" class="print"/>
  <stream from="numbers.out" to="double.in"/>
  <stream from="double.out" to="result.in"/>)");

void register_all() {
    static const bool once = [] {
        register_pass({"own-gentle", "Every component goes on behind a failure."}, [](ApplicationElement& all, auto) {
            visit(all, [](ApplicationElement& element) {
                if (element.name == "component") element.set("on-failure", "go-on");
            });
        });
        register_pass({"own-copies", "Gives what may be copied copies.", "how many"},
                      [](ApplicationElement& all, std::optional<int> copies) {
                          visit(all, [&](ApplicationElement& element) {
                              if (element.attribute("class") == "scale")
                                  element.set("copies", std::to_string(copies.value_or(2)));
                          });
                      });
        register_pass({"own-broken", "Leaves what cannot be."}, [](ApplicationElement& all, auto) {
            all.children.push_back({"component", {{"name", "extra"}, {"class", "no-such-class"}}});
        });
        return true;
    }();
    (void)once;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string why(const std::vector<std::string>& passes) {
    try {
        (void)transform_text(sums, passes);
    } catch (const UsageError& refused) {
        return refused.what();
    }
    return "it went through";
}

}  // namespace

TEST(OwnPasses, change_the_tree_and_comments_stay) {
    register_all();
    const auto text = transform_text(sums, {"own-gentle", "own-copies=3", "inline"});
    EXPECT_TRUE(has(text, R"(<component name="double" class="scale" on-failure="go-on" copies="3"/>)")) << text;
    EXPECT_TRUE(has(text, "<!-- The source. -->"));
    EXPECT_TRUE(written::findings(text).empty());
}

TEST(OwnPasses, what_one_breaks_is_refused_with_its_name) {
    register_all();
    const auto said = why({"own-broken"});
    EXPECT_TRUE(has(said, "own-broken") && has(said, "no-such-class")) << said;
    EXPECT_TRUE(has(why({"own-brokem"}), "own-broken")) << "the nearest name is told";
}

TEST(OwnPasses, names_are_given_once) {
    register_all();
    const auto nothing = [](ApplicationElement&, std::optional<int>) {};
    EXPECT_THROW(register_pass({"own-gentle", ""}, nothing), UsageError);
    EXPECT_THROW(register_pass({"expand", ""}, nothing), UsageError);
    EXPECT_THROW(register_pass({"a=b", ""}, nothing), UsageError);
}
