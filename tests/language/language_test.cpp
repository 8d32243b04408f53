// What an application does: its results against sums that are worked out here.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "language/support.hpp"

using namespace penstock;
using written::application;
using written::results;

namespace {

class Language : public testing::Test {
  protected:
    Machine machine{{.targets = 2}};
};

const std::string ten = R"(<component name="numbers" class="numbers"><set name="count" value="10"/></component>)";
const std::string keep =
    R"(<component name="sum" class="sum"/><component name="keep" class="keep"/><stream from="sum.out" to="keep.in"/>)";

double only(const std::vector<double>& values) {
    EXPECT_EQ(values.size(), 1u);
    return values.empty() ? -1 : values.front();
}

}  // namespace

TEST_F(Language, parameters_are_filled_in_and_overridden) {
    const auto text = application(R"(<parameter name="count" type="integer" default="${3 + 2}"/>
        <component name="numbers" class="numbers"><set name="count" value="${count}"/></component>)" +
                                  keep + R"(<stream from="numbers.out" to="sum.in"/>)");
    EXPECT_EQ(only(results(text, machine)), 0 + 1 + 2 + 3 + 4);
    EXPECT_EQ(only(results(text, machine, {.settings = {{"count", "7"}}})), 21);
}

TEST_F(Language, arithmetic_is_that_of_integers_until_there_is_a_fraction) {
    const auto value = [&](const std::string& expression) {
        return only(results(
            application(
                R"(<component name="numbers" class="numbers"><set name="count" value="1"/><set name="first" value="${)" +
                expression +
                R"(}"/></component><component name="keep" class="keep"/><stream from="numbers.out" to="keep.in"/>)"),
            machine));
    };
    EXPECT_EQ(value("7 / 2"), 3);
    EXPECT_EQ(value("7 / 2.0"), 3.5);
    EXPECT_EQ(value("2 + 3 * 4 - -1"), 15);
    EXPECT_EQ(value("(2 + 3) * 4 % 7"), 6);
    EXPECT_EQ(value("-7 % 4"), -3);
    EXPECT_EQ(value("1e3 - 0.5"), 999.5);
}

TEST_F(Language, a_group_used_twice_is_two_and_groups_nest) {
    const auto text = application(R"(
        <group name="inner"><parameter name="by" type="number"/><input name="x" to="s.in"/><output name="y" from="s.out"/>
          <component name="s" class="scale"><set name="factor" value="${by}"/></component></group>
        <group name="outer"><parameter name="by" type="number" default="3"/><input name="x" to="a.x"/><output name="y" from="b.out"/>
          <use name="a" group="inner"><set name="by" value="${by + 1}"/></use>
          <component name="b" class="shift"/><stream from="a.y" to="b.in"/></group>)" +
                                  ten + keep + R"(
        <use name="left" group="outer"/><use name="right" group="outer"><set name="by" value="9"/></use>
        <stream from="numbers.out" to="left.x"/><stream from="left.y" to="right.x"/><stream from="right.y" to="sum.in"/>)");
    double expected = 0;
    for (int x = 0; x < 10; ++x) expected += (x * 4 + 1) * 10 + 1;
    EXPECT_EQ(only(results(text, machine)), expected);
}

TEST_F(Language, repetitions_go_up_to_and_including_the_last_and_over_lists) {
    const auto text = application(R"(<component name="s1" class="numbers"><set name="count" value="10"/></component>
        <repeat index="i" from="3" to="7" step="2"><component name="s${i}" class="shift"><set name="offset" value="${i}"/></component>
          <stream from="s${i - 2}.out" to="s${i}.in"/></repeat>
        <repeat index="k" over="20 30"><component name="t${k}" class="shift"><set name="offset" value="${k}"/></component></repeat>
        <stream from="s7.out" to="t20.in"/><stream from="t20.out" to="t30.in"/>)" +
                                  keep + R"(<stream from="t30.out" to="sum.in"/>)");
    EXPECT_EQ(only(results(text, machine)), 45 + 10 * (3 + 5 + 7 + 20 + 30));
}

TEST_F(Language, parallel_tasks_each_get_all_and_slices_a_share_each) {
    const auto body = ten + keep + R"(<stream from="numbers.out" to="p.in"/><stream from="p.out" to="sum.in"/>)";
    EXPECT_EQ(only(results(application(R"(<parallel name="p" shape="task"><component name="a" class="scale"/>
        <component name="b" class="shift"/></parallel>)" +
                                       body),
                           machine)),
              45 * 2 + 45 + 10);
    EXPECT_EQ(
        only(results(
            application(R"(<parallel name="p" shape="slice" slices="5"><component name="a" class="pass"/></parallel>)" +
                        body),
            machine)),
        45);
    const auto own = application(
        R"(<parallel name="p" shape="slice" slices="2" index="k"><component name="a" class="scale">
        <set name="factor" value="${k}"/></component></parallel>
        <parallel name="q" shape="slice" slices="2" index="k"><component name="a" class="shift"><set name="offset" value="${100 * k}"/></component></parallel>)" +
        ten + keep +
        R"(<stream from="numbers.out" to="p.in"/><stream from="p.out" to="q.in"/><stream from="q.out" to="sum.in"/>)");
    // buffers in turn: the second slice has the odd numbers
    EXPECT_EQ(only(results(own, machine)), (1 + 3 + 5 + 7 + 9) + 5 * 100);
}

TEST_F(Language, crossing_dependences_reach_the_slices_beside_and_end_at_the_edge) {
    const auto text = application(
        R"(<component name="numbers" class="numbers"><set name="count" value="3"/><set name="first" value="1"/></component>
        <parallel name="grid" shape="crossdep" slices="3"><component name="read" class="pass"/><component name="next" class="neighbours"/></parallel>
        <component name="keep" class="keep"/><stream from="numbers.out" to="grid.in"/><stream from="grid.out" to="keep.in"/>)");
    auto got = results(text, machine);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, (std::vector<double>{1 + 1 + 2, 1 + 2 + 3, 2 + 3 + 3}));
}

TEST_F(Language, an_option_is_there_or_what_stands_in_its_place) {
    const auto with = [&](const std::string& state) {
        return only(results(application(ten + keep + R"(<option name="more" initially=")" + state +
                                        R"("><component name="x" class="scale"/>
            <stream from="numbers.out" to="x.in"/><stream from="x.out" to="sum.in"/>
            <otherwise><stream from="numbers.out" to="sum.in"/></otherwise></option>)"),
                            machine));
    };
    EXPECT_EQ(with("off"), 45);
    EXPECT_EQ(with("on"), 90);
}

TEST_F(Language, groups_come_from_files_beside_the_application_and_from_allowed_folders_only) {
    const auto folder = std::string(PENSTOCK_SOURCE "/tests/language/files/");
    const auto text = [&](const std::string& library) {
        return application("<include file=\"" + library + "\"/>" + ten + keep + R"(<use name="twice" group="twice"/>
            <stream from="numbers.out" to="twice.x"/><stream from="twice.y" to="sum.in"/>)");
    };
    written::Kept kept;
    const auto components = written::with_keep(kept);
    Application::parse(text("library.xml"), folder + "a.xml", {.components = &components}).start(machine).finish();
    EXPECT_EQ(only(kept.values), 90);
    const auto refused =
        written::findings(text("../library.xml"), {.components = &components}, folder + "deeper/a.xml");
    EXPECT_NE(refused.find("outside the application's folder"), refused.npos) << refused;
    EXPECT_EQ(written::findings(text("../library.xml"), {.folders = {folder}, .components = &components},
                                folder + "deeper/a.xml"),
              "");
}
