#include "apps/gallery.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "penstock/machine.hpp"

namespace {

using namespace penstock::apps;
using penstock::Machine;

Settings small(const std::string& app) {
    Settings settings;
    if (app == "edge") settings.block_rows = 4;  // angles
    settings.rows = 70;
    settings.columns = 90;
    if (app == "likelihood") settings.rows = 12;  // sequences
    if (app == "fft6") settings.rows = 256;       // a power of four
    settings.repetitions = 2;
    settings.keep_arrays = true;
    return settings;
}

// Of what is kept, what cannot be given.
bool is_output(const std::string& name) {
    static const std::set<std::string> names{
        "result",   "sum",      "LU",       "dense",   "statistics",           "tiles",
        "starts",   "features", "overview", "weights", "site log-likelihoods", "decoded",
        "carriers", "whole"};
    return names.contains(name);
}

class Gallery : public testing::TestWithParam<std::string> {
  protected:
    Machine machine_{{.targets = 1}};
};

TEST_P(Gallery, every_check_of_every_application_holds) {
    const RunResult result = run(find_app(GetParam()), machine_, small(GetParam()));
    EXPECT_EQ(result.app, GetParam());
    EXPECT_EQ(result.workers, 2);
    EXPECT_GT(result.tasks, 0u);
    EXPECT_GE(result.checks.size(), 3u);
    for (const Check& check : result.checks) {
        EXPECT_TRUE(check.ok()) << check.name << ": " << check.actual << " instead of " << check.expected << " +- "
                                << check.tolerance;
    }
    EXPECT_TRUE(result.ok());
}

TEST_P(Gallery, each_way_is_timed_as_often_as_was_asked) {
    const RunResult result = run(find_app(GetParam()), machine_, small(GetParam()));
    for (const std::string& way : find_app(GetParam()).ways) {
        EXPECT_EQ(result.timing(way).seconds.size(), 2u) << way;
        EXPECT_GT(result.timing(way).median(), 0.0) << way;
    }
    EXPECT_EQ(result.timings.size(), find_app(GetParam()).ways.size());
    EXPECT_THROW(result.timing("sideways"), penstock::UsageError);
}

TEST_P(Gallery, progress_grows_to_one) {
    std::vector<double> fractions{0};
    const auto told = [&](double fraction) {
        EXPECT_GT(fraction, fractions.back());
        fractions.push_back(fraction);
    };
    run(find_app(GetParam()), machine_, small(GetParam()), {.done = told, .timed = {}});
    EXPECT_DOUBLE_EQ(fractions.back(), 1.0);
}

TEST_P(Gallery, tells_when_each_timed_run_begins_and_when_it_is_over) {
    std::vector<std::string> told, expected;
    const auto timed = [&](const std::string& way, bool over) { told.push_back(way + (over ? " over" : " begins")); };
    const RunResult result = run(find_app(GetParam()), machine_, small(GetParam()), {.done = {}, .timed = timed});
    for (std::size_t run = 0; run < result.timings.front().seconds.size(); ++run) {
        for (const Timing& timing : result.timings)
            expected.insert(expected.end(), {timing.way + " begins", timing.way + " over"});
    }
    EXPECT_EQ(told, expected);
}

TEST_P(Gallery, what_came_in_can_be_given_again_and_gives_the_same_result) {
    const RunResult first = run(find_app(GetParam()), machine_, small(GetParam()));
    Settings again = small(GetParam());
    again.seed = 99;
    for (const Array& array : first.arrays) {
        if (!is_output(array.name)) again.inputs.push_back(array);
    }
    const RunResult second = run(find_app(GetParam()), machine_, again);
    EXPECT_TRUE(second.ok());
    EXPECT_EQ(first.arrays.back().values, second.arrays.back().values);
    EXPECT_TRUE(second.settings.inputs.empty());
}

TEST_P(Gallery, an_unknown_input_and_an_impossible_size_are_refused_and_the_machine_still_works) {
    Settings settings = small(GetParam());
    settings.inputs = {{"nonsense", {1}, std::vector<float>{1}}};
    EXPECT_THROW(run(find_app(GetParam()), machine_, settings), SettingError);
    settings = small(GetParam());
    settings.repetitions = 0;
    EXPECT_THROW(run(find_app(GetParam()), machine_, settings), SettingError);
    settings = small(GetParam());
    settings.columns = settings.rows = std::size_t{1} << 40;
    EXPECT_THROW(run(find_app(GetParam()), machine_, settings), SettingError);
    EXPECT_TRUE(run(find_app(GetParam()), machine_, small(GetParam())).ok());
}

TEST_P(Gallery, a_setting_that_the_application_does_not_have_is_refused_with_those_that_it_has) {
    Settings settings = small(GetParam());
    settings.texts["nonsense"] = "1";
    try {
        run(find_app(GetParam()), machine_, settings);
        FAIL() << "not refused";
    } catch (const SettingError& error) {
        EXPECT_EQ(error.app(), GetParam());
        EXPECT_EQ(error.setting(), "nonsense");
        EXPECT_NE(std::string(error.what()).find("block_columns"), std::string::npos) << error.what();
        for (const App::Text& own : find_app(GetParam()).texts)
            EXPECT_NE(std::string(error.what()).find(own.name), std::string::npos) << error.what();
    }
}

std::vector<std::string> names() {
    std::vector<std::string> result;
    for (const App& app : gallery()) result.push_back(app.name);
    return result;
}

INSTANTIATE_TEST_SUITE_P(apps, Gallery, testing::ValuesIn(names()), [](const auto& tested) { return tested.param; });

TEST(FindApp, tells_the_names_when_there_is_none_of_that_name) {
    try {
        find_app("lo");
        FAIL() << "found an application called lo";
    } catch (const penstock::UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("lu"), std::string::npos);
    }
}

TEST(Inputs, of_the_wrong_type_shape_or_size_are_refused_by_name) {
    Machine machine{{.targets = 1}};
    const auto refused = [&](const char* app, Array input) {
        Settings settings;
        settings.repetitions = 1;
        settings.inputs = {std::move(input)};
        try {
            run(find_app(app), machine, settings);
        } catch (const SettingError& error) {
            return error.setting();
        }
        return std::string("nothing");
    };
    EXPECT_EQ(refused("saxpy", {"x", {3}, std::vector<double>(3)}), "input x");
    EXPECT_EQ(refused("radix", {"keys", {3}, std::vector<float>(3)}), "input keys");
    EXPECT_EQ(refused("motion", {"frames", {1, 16, 16}, std::vector<std::uint8_t>(256)}), "input frames");
    EXPECT_EQ(refused("jacobi", {"start", {3}, std::vector<double>(3)}), "input start");
    EXPECT_EQ(refused("saxpy", {"x", {0}, std::vector<float>()}), "input x");
    EXPECT_EQ(refused("fft6", {"x", {16}, std::vector<float>(16)}), "input x");
    EXPECT_EQ(refused("lu", {"A", {3, 4}, std::vector<double>(12)}), "input A");
    EXPECT_EQ(refused("lu", {"A", {3, 3}, std::vector<double>(8)}), "input A");
    EXPECT_EQ(refused("conv2d", {"filter", {2, 3}, std::vector<float>(6)}), "input filter");
    EXPECT_EQ(refused("synthetic", {"table", {3}, std::vector<float>(3)}), "input table");
    EXPECT_EQ(refused("synthetic", {"blocks", {8}, std::vector<std::uint32_t>(8)}), "input blocks");
    EXPECT_EQ(refused("pipeline", {"second", {4}, std::vector<float>(4)}), "input second");
    EXPECT_EQ(refused("pipeline", {"filter", {5, 5}, std::vector<float>(25)}), "input filter");
    EXPECT_EQ(refused("pipeline", {"map", {2, 3}, std::vector<double>(6, std::nan(""))}), "input map");
    EXPECT_EQ(refused("edge", {"pictures", {4, 4}, std::vector<float>(16)}), "input pictures");
    EXPECT_EQ(refused("conv2d", {"image", {4}, std::vector<float>(4)}), "input image");
    EXPECT_EQ(refused("colour", {"image", {4, 4}, std::vector<std::uint8_t>(16)}), "input image");
}

TEST(Conv2dApp, filters_each_plane_of_a_colour_image_like_a_grey_one) {
    Machine machine{{.targets = 1}};
    Settings settings;
    settings.repetitions = 1;
    settings.keep_arrays = true;
    std::vector<float> pixels(3 * 20 * 30);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 97);
    settings.inputs = {{"image", {3, 20, 30}, pixels}};
    const RunResult colour = run(find_app("conv2d"), machine, settings);
    EXPECT_TRUE(colour.ok());
    const auto& filtered = std::get<std::vector<float>>(colour.array("result").values);
    settings.inputs = {{"image", {20, 30}, std::vector<float>(pixels.begin() + 600, pixels.begin() + 1200)}};
    const RunResult grey = run(find_app("conv2d"), machine, settings);
    const auto& plane = std::get<std::vector<float>>(grey.array("result").values);
    EXPECT_TRUE(std::equal(plane.begin(), plane.end(), filtered.begin() + 600));
}

TEST(Checks, fail_for_what_is_not_a_number) {
    EXPECT_FALSE((Check{"", 0, std::nan(""), 1, ""}).ok());
    EXPECT_TRUE((Check{"", 1, 1.5, 0.5, ""}).ok());
    EXPECT_FALSE((Check{"", 1, 1.6, 0.5, ""}).ok());
}

}  // namespace
