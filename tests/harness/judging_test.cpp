// How the benchmarks judge: every standing with rounds enough for an interval, and nothing silently.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <type_traits>

#include "harness/floors.hpp"
#include "harness/report.hpp"

namespace {

using bench::Direction;
using bench::Interval;
using bench::Judged;
using bench::Ratio;
using bench::Standing;

static_assert(!std::is_convertible_v<Ratio, Interval>, "a ratio has no interval by itself: each standing has its own");

/// What a report writes of one goal.
std::string judged(const Ratio& measured, Direction direction, double goal, Judged judged) {
    const auto file = std::filesystem::path(testing::TempDir()) / "judging_test.json";
    bench::Options options;
    options.json = file;
    bench::Report report{{"test", "a test", {"test/goal"}}, options};
    report.goal("test/goal", measured, direction, goal, judged);
    EXPECT_EQ(report.finish(), 0);
    std::ifstream in{file};
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::filesystem::remove(file);
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// F1 is 50 ns for the first `near` rounds and 400 from then on; "b" takes `near_times`, then `far_times` as long as
/// "a".
bench::Result measured(int rounds, int near, double near_times, double far_times) {
    bench::Plan plan;
    plan.rounds = rounds;
    plan.attempts = 1;
    plan.settle_ms = plan.most_settle_ms = 0;
    const auto batches = std::make_shared<int>(0);
    const auto is_near = [=] { return *batches / 3 < near; };  // a, b, and a again
    const auto look = [=] { return is_near() ? 50.0 : 400.0; };
    const auto contestant = [&](const char* name, bool dear) {
        bench::Contestant made{name, [=] { return dear ? is_near() ? near_times : far_times : 1.0; }};
        made.look = [=, before = true]() mutable {
            const double seen = look();
            if (!before) ++*batches;
            before = !before;
            return seen;
        };
        made.beside = [=] { return dear ? is_near() ? 0.1 : 0.2 : 0.0; };
        return made;
    };
    return bench::measure({contestant("a", false), contestant("b", true)}, plan);
}

TEST(Judging, each_standing_must_meet_and_not_only_the_one_seen_most_often) {
    const auto result = measured(30, 20, 0.9, 1.5);
    const auto ratio = result.ratio("b", "a");
    ASSERT_EQ(ratio.standings.size(), 2u);
    EXPECT_EQ(ratio.usual.value, 0.9);
    const auto text = judged(ratio, Direction::at_most, 1, Judged::by_interval);
    EXPECT_TRUE(has(text, R"("value":1.5)") && has(text, R"("met":false)")) << text;
    EXPECT_TRUE(has(text, R"("near":{)") && has(text, R"("far":{)")) << text;
}

TEST(Judging, a_wide_interval_of_the_worse_figure_excuses_nothing) {
    const Ratio ratio{{{Standing::near, {1.20, 1.18, 1.22}, 40}, {Standing::far, {1.25, 0.9, 1.6}, 40}}};
    const auto text = judged(ratio, Direction::at_most, 1, Judged::by_interval);
    EXPECT_TRUE(has(text, R"("value":1.2,)") && has(text, R"("met":false)")) << text;
}

TEST(Judging, cases_that_are_added_are_judged_each) {
    Ratio both{{{Standing::near, {2, 1.9, 2.1}, 40}}};
    both.add(Ratio{{{Standing::near, {1.5, 1.4, 1.6}, 40}}});
    EXPECT_TRUE(has(judged(both, Direction::at_least, 1.8, Judged::by_interval), R"("value":1.5,)"));
    EXPECT_TRUE(has(judged(both, Direction::at_least, 1.8, Judged::by_interval), R"("met":false)"));
    EXPECT_TRUE(has(judged(both, Direction::at_least, 1.6, Judged::by_interval), R"("met":true)"));
}

TEST(Judging, fewer_than_six_rounds_make_no_interval) {
    EXPECT_TRUE(std::isnan(bench::median_interval({1, 2, 3, 4, 5}).low));
    EXPECT_EQ(bench::median_interval({1, 2, 3, 4, 5}).value, 3);
    EXPECT_EQ(bench::median_interval({1, 2, 3, 4, 5, 6}).low, 1);
    EXPECT_EQ(bench::median_interval({1, 2, 3, 4, 5, 6}).high, 6);
}

TEST(Judging, a_standing_of_few_rounds_is_shown_and_judges_nothing) {
    const auto ratio = measured(30, 26, 0.9, 1.5).ratio("b", "a");
    ASSERT_EQ(ratio.standings.size(), 2u);
    EXPECT_EQ(ratio.standings[1].rounds, 4u);
    const auto text = judged(ratio, Direction::at_most, 1, Judged::by_interval);
    EXPECT_TRUE(has(text, R"("value":0.9)") && has(text, R"("met":true)")) << text;
    EXPECT_TRUE(has(text, R"("far_not_judged":{"value":1.5,"low":null,"high":null,"rounds":4})")) << text;
}

TEST(Judging, a_goal_without_rounds_enough_is_not_met_and_says_why) {
    const auto text = judged(measured(5, 5, 0.5, 0.5).ratio("b", "a"), Direction::at_most, 1, Judged::by_value);
    EXPECT_TRUE(has(text, R"("met":false)") && has(text, R"("why":"fewerthan6rounds")")) << text;
}

TEST(Judging, the_noise_is_the_farther_end_of_the_floor_over_itself) {
    EXPECT_NEAR(bench::noise_of({1.0, 0.9, 1.05}), 0.1, 1e-9);
    EXPECT_NEAR(bench::noise_of({1.0, 0.99, 1.2}), 0.2, 1e-9);
    EXPECT_TRUE(std::isinf(bench::noise_of({1.0, std::nan(""), std::nan("")}))) << "too few rounds to tell";
}

/// A floor whose two measurements of a round differ in the standing seen less often.
TEST(Judging, a_standing_that_is_noisy_voids_the_run_though_the_usual_one_is_quiet) {
    for (const double off : {1.0, 1.5}) {
        int batch = 0;
        // Twenty rounds of two batches each: F1 says far in the last seven.
        const auto far = [&batch] { return batch / 2 >= 13; };
        const bench::Contestant floor{"floor",
                                      [&] {
                                          const bool again = batch % 2 == 1;
                                          const double time = far() && again ? 10 * off : 10;
                                          ++batch;
                                          return time;
                                      },
                                      {},
                                      {},
                                      [&] { return far() ? 300.0 : 50.0; }};
        const auto result = bench::measure({floor}, {.rounds = 20, .attempts = 1, .settle_ms = 0, .most_settle_ms = 0});
        ASSERT_EQ(result.standings().size(), 2u);
        EXPECT_EQ(result.is_void({}), off != 1.0);
    }
}

TEST(Floors, a_passing_look_leaves_no_thread_behind) {
    const auto threads = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                             std::filesystem::directory_iterator());
    };
    const auto before = threads();
    EXPECT_GT(bench::passing_look(), 0);
    EXPECT_EQ(threads(), before);
}

TEST(Judging, a_second_figure_of_a_batch_has_its_standings) {
    const auto overhead = measured(30, 20, 1, 1).beside("b");
    ASSERT_EQ(overhead.standings.size(), 2u);
    EXPECT_EQ(overhead.standings[0].interval.value, 0.1);
    EXPECT_EQ(overhead.standings[1].interval.value, 0.2);
}

}  // namespace
