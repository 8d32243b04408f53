#include <gtest/gtest.h>

#include <penstock/detail/trace/counters.hpp>
#include <thread>

namespace penstock::trace {
namespace {

TEST(Counter, adds_up_and_starts_at_zero) {
    Counter counter;
    EXPECT_EQ(counter.value(), 0u);
    counter.add();
    counter.add(41);
    EXPECT_EQ(counter.value(), 42u);
}

TEST(Counter, a_reader_sees_it_grow_while_the_writer_writes) {
    Counter counter;
    constexpr std::uint64_t last = 200'000;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < last; ++i) counter.add();
    });
    std::uint64_t seen = 0;
    while (seen < last) {
        const std::uint64_t now = counter.value();
        ASSERT_GE(now, seen);
        ASSERT_LE(now, last);
        seen = now;
    }
    writer.join();
}

TEST(Stopwatch, counts_periods_that_are_over) {
    Stopwatch watch;
    watch.begin(1000);
    watch.end(1300);
    watch.begin(2000);
    watch.end(2050);
    watch.add(7);
    EXPECT_FALSE(watch.running());
    EXPECT_EQ(watch.value(99'999), 357u);
}

TEST(Stopwatch, counts_the_period_that_lasts_up_to_now) {
    Stopwatch watch;
    watch.add(10);
    watch.begin(1000);
    EXPECT_TRUE(watch.running());
    EXPECT_EQ(watch.value(1000), 10u);
    EXPECT_EQ(watch.value(1500), 510u);
}

TEST(Stopwatch, reads_as_no_time_when_the_readers_clock_lags_behind) {
    Stopwatch watch;
    watch.begin(1000);
    EXPECT_EQ(watch.value(999), 0u);
}

TEST(Stopwatch, works_for_ticks_that_fill_62_bits) {
    const std::uint64_t start = (std::uint64_t{1} << 62) + 12'345;
    Stopwatch watch;
    watch.begin(start);
    EXPECT_EQ(watch.value(start + 5), 5u);
    watch.end(start + 9);
    EXPECT_EQ(watch.value(0), 9u);
}

TEST(Stopwatch, a_reader_never_sees_half_a_period) {
    Stopwatch watch;
    std::thread writer([&] {
        for (std::uint64_t tick = 0; tick < 400'000; tick += 20) {
            watch.begin(tick);
            watch.end(tick + 10);
        }
    });
    // Read at a tick after all of them, a running watch shows at most the whole time, a stopped one at most half of it.
    while (watch.value(400'000) < 200'000) {
    }
    for (int i = 0; i < 1000; ++i) ASSERT_LE(watch.value(400'000), 400'000u);
    writer.join();
    EXPECT_EQ(watch.value(400'000), 200'000u);
}

}  // namespace
}  // namespace penstock::trace
