#include "penstock/detail/machine/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "penstock/detail/machine/relax.hpp"

namespace {

using penstock::Clock;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

double seconds_of(steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

// The ratio of both clocks over a stretch of time, once it was measured without an interruption at its ends.
double ratio_to_steady(std::chrono::milliseconds length) {
    const auto begin = steady_clock::now();
    const auto first = Clock::ticks();
    while (steady_clock::now() - begin < length) penstock::relax();
    const auto end = steady_clock::now();
    const auto last = Clock::ticks();
    return Clock::seconds(last - first) / seconds_of(end - begin);
}

TEST(Clock, never_goes_back_on_one_thread) {
    auto before = Clock::ticks();
    for (int i = 0; i < 200'000; ++i) {
        const auto now = Clock::ticks();
        ASSERT_GE(now, before);
        before = now;
    }
}

TEST(Clock, agrees_with_the_steady_clock_within_one_percent) {
    double best = 0;
    for (int i = 0; i < 5 && std::abs(best - 1) > 0.01; ++i) best = ratio_to_steady(100ms);
    EXPECT_NEAR(best, 1.0, 0.01);
}

TEST(Clock, calibrates_in_milliseconds_and_only_once) {
    const auto begin = steady_clock::now();
    const double first = Clock::nanoseconds_per_tick();
    EXPECT_LT(seconds_of(steady_clock::now() - begin), 0.2);  // 5 ms, on a machine that may be busy
    EXPECT_GT(first, 0);
    EXPECT_EQ(Clock::nanoseconds_per_tick(), first);
}

TEST(Clock, has_one_rate_for_all_threads) {
    std::vector<double> rates(8);
    std::vector<std::thread> threads;
    for (auto& rate : rates) threads.emplace_back([&rate] { rate = Clock::nanoseconds_per_tick(); });
    for (auto& thread : threads) thread.join();
    for (const double rate : rates) EXPECT_EQ(rate, rates.front());
}

TEST(Clock, ticks_of_a_time_last_that_time) {
    EXPECT_NEAR(Clock::seconds(Clock::ticks_of(2s)), 2.0, 1e-6);
    EXPECT_NEAR(Clock::nanoseconds(Clock::ticks_of(1ms)), 1e6, 1e3);
    EXPECT_NE(Clock::source(), Clock::Source::unknown);
}

TEST(Deadlines, later_than_the_clock_can_say_are_the_end_of_time) {
    EXPECT_EQ(penstock::deadline_after(std::chrono::nanoseconds::max()), steady_clock::time_point::max());
    EXPECT_EQ(penstock::deadline_after(1h, steady_clock::time_point::max() - 1min), steady_clock::time_point::max());
    const steady_clock::time_point moment(5s);
    EXPECT_EQ(penstock::deadline_after(3s, moment), moment + 3s);
    EXPECT_EQ(penstock::deadline_after(-3s, moment), moment - 3s);
    EXPECT_GT(Clock::ticks() + Clock::ticks_of(std::chrono::nanoseconds::max()),
              Clock::ticks() + Clock::ticks_of(std::chrono::hours(24 * 365)));
}

TEST(Relax, and_prefetches_take_any_address) {
    int word = 7;
    penstock::relax();
    penstock::prefetch_read(&word);
    penstock::prefetch_write(&word);
    penstock::prefetch_read(nullptr);
    penstock::prefetch_write(reinterpret_cast<const void*>(~0ul));
    EXPECT_EQ(word, 7);
}

}  // namespace
