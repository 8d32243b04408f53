// Expected values are worked out by hand in the comments; a tick lasts 0.5 ns unless a test says otherwise.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <penstock/detail/trace/breakdown.hpp>
#include <penstock/error.hpp>
#include <random>

namespace penstock::trace {
namespace {

constexpr double half_nanosecond = 0.5;

Track initiator(std::uint32_t id, std::uint64_t started = 0) { return {Role::initiator, id, "initiator", started, 0}; }
Track target(std::uint32_t id, std::uint64_t started = 0) { return {Role::target, id, "target", started, 0}; }

std::uint64_t ticks(const Bar& bar, Part part) {
    for (const Share& share : bar.shares) {
        if (share.part == part) return share.ticks;
    }
    ADD_FAILURE() << "no share " << word(part);
    return 0;
}

void expect_shares_fill_the_wall(const Bar& bar) {
    std::uint64_t sum = 0;
    double percent = 0, seconds = 0;
    for (const Share& share : bar.shares) {
        sum += share.ticks;
        percent += share.percent;
        seconds += share.seconds;
        EXPECT_GE(share.percent, 0);
    }
    EXPECT_EQ(sum, bar.wall_ticks);
    EXPECT_NEAR(seconds, bar.wall_seconds, 1e-12 + bar.wall_seconds * 1e-12);
    if (bar.wall_ticks != 0) {
        EXPECT_NEAR(percent, 100, 1e-9);
    }
}

void count_an_initiators_work(InitiatorCounters& counters) {
    counters.calls.add(1000);
    counters.sampled_calls.add(10);
    counters.sampled_call_ticks.add(200);  // 20 a call
    counters.stalls.add(2);
    counters.stall_ticks.add(5000);
    counters.waits.add(4);
    counters.sampled_waits.add(2);
    counters.sampled_wait_ticks.add(1500);  // 750 a wait
    counters.helped.add(60);
    counters.inlined.add(40);
    counters.help_sampled.add(4);
    counters.help_ticks_sampled.add(480);  // 120 a task
}

TEST(Breakdown, an_initiators_time_is_the_sampled_means_times_the_exact_counts) {
    InitiatorCounters counters;
    count_an_initiators_work(counters);
    Snapshot snapshot(101'000, half_nanosecond);
    snapshot.add(initiator(0, 1000), counters);
    const Breakdown breakdown(snapshot);
    ASSERT_EQ(breakdown.bars().size(), 1u);
    const Bar& bar = breakdown.bars()[0];
    EXPECT_EQ(bar.wall_ticks, 100'000u);
    EXPECT_DOUBLE_EQ(bar.wall_seconds, 50e-6);
    EXPECT_EQ(ticks(bar, Part::runtime), 20'000u);
    EXPECT_EQ(ticks(bar, Part::queue_stall), 5000u);
    EXPECT_EQ(ticks(bar, Part::wait), 3000u);
    EXPECT_EQ(ticks(bar, Part::helping), 12'000u);
    EXPECT_EQ(ticks(bar, Part::application), 60'000u);
    EXPECT_EQ(bar.samples, 16u);
    EXPECT_FALSE(bar.scaled);
    ASSERT_EQ(bar.shares.size(), 5u);
    EXPECT_EQ(bar.shares[0].part, Part::application);
    EXPECT_DOUBLE_EQ(bar.shares[0].percent, 60);
    EXPECT_DOUBLE_EQ(bar.shares[0].seconds, 30e-6);
    expect_shares_fill_the_wall(bar);
}

TEST(Breakdown, a_targets_time_is_compute_transfer_idle_and_the_rest) {
    TargetCounters counters;
    counters.tasks.add(640);
    counters.sampled_tasks.add(10);
    counters.sampled_compute_ticks.add(1000);  // 100 a task: 64,000
    counters.sampled_transfer_ticks.add(50);   // 5 a task: 3,200
    counters.idle_ticks.add(26'000);
    Snapshot snapshot(100'000, half_nanosecond);
    snapshot.add(target(3), counters);
    const Bar bar = Breakdown(snapshot).bars().at(0);
    EXPECT_EQ(ticks(bar, Part::compute), 64'000u);
    EXPECT_EQ(ticks(bar, Part::idle), 26'000u);
    EXPECT_EQ(ticks(bar, Part::transfer), 3'200u);
    EXPECT_EQ(ticks(bar, Part::library), 6'800u);
    EXPECT_DOUBLE_EQ(bar.shares.at(1).percent, 3.2);
    expect_shares_fill_the_wall(bar);
}

TEST(Breakdown, a_target_that_is_idle_right_now_is_idle_and_not_in_the_library) {
    TargetCounters counters;
    counters.idle_ticks.begin(20'000);
    Snapshot snapshot(100'000, half_nanosecond);
    snapshot.add(target(0), counters);
    const Bar bar = Breakdown(snapshot).bars().at(0);
    EXPECT_EQ(ticks(bar, Part::idle), 80'000u);
    EXPECT_EQ(ticks(bar, Part::library), 20'000u);
}

TEST(Breakdown, estimates_above_the_wall_time_are_scaled_down_and_marked) {
    InitiatorCounters counters;
    count_an_initiators_work(counters);  // 5,000 measured; 20,000 + 3,000 + 12,000 estimated
    Snapshot snapshot(22'500, half_nanosecond);
    snapshot.add(initiator(0), counters);
    const Bar bar = Breakdown(snapshot).bars().at(0);
    EXPECT_TRUE(bar.scaled);  // 17,500 left for 35,000: half of each
    EXPECT_EQ(ticks(bar, Part::queue_stall), 5000u);
    EXPECT_EQ(ticks(bar, Part::runtime), 10'000u);
    EXPECT_EQ(ticks(bar, Part::wait), 1500u);
    EXPECT_EQ(ticks(bar, Part::helping), 6000u);
    EXPECT_EQ(ticks(bar, Part::application), 0u);
    expect_shares_fill_the_wall(bar);
}

TEST(Breakdown, a_track_without_time_has_shares_of_nothing) {
    InitiatorCounters counters;
    count_an_initiators_work(counters);
    Snapshot snapshot(1000, half_nanosecond);
    snapshot.add(initiator(0, 1000), counters);
    const Bar bar = Breakdown(snapshot).bars().at(0);
    EXPECT_EQ(bar.wall_ticks, 0u);
    for (const Share& share : bar.shares) {
        EXPECT_EQ(share.ticks, 0u);
        EXPECT_EQ(share.percent, 0);
    }
}

TEST(Breakdown, shares_fill_the_wall_whatever_the_counters_hold) {
    std::mt19937_64 random(20'240'229);
    auto number = [&random] { return random() >> (20 + random() % 44); };
    for (int round = 0; round < 2000; ++round) {
        InitiatorCounters first;
        TargetCounters second;
        for (Counter* counter :
             {&first.calls, &first.sampled_calls, &first.sampled_call_ticks, &first.waits, &first.sampled_waits,
              &first.sampled_wait_ticks, &first.helped, &first.inlined, &first.help_sampled, &first.help_ticks_sampled,
              &second.tasks, &second.sampled_tasks, &second.sampled_compute_ticks}) {
            counter->add(number());
        }
        first.stall_ticks.add(number());
        second.idle_ticks.add(number());
        Snapshot snapshot(number(), half_nanosecond);
        snapshot.add(initiator(0), first);
        snapshot.add(target(0), second);
        for (const Bar& bar : Breakdown(snapshot).bars()) expect_shares_fill_the_wall(bar);
    }
}

TEST(Breakdown, all_adds_up_the_tracks_of_one_role) {
    TargetCounters counters;
    counters.tasks.add(10);
    counters.sampled_tasks.add(1);
    counters.sampled_compute_ticks.add(500);  // 5,000 of each target
    counters.idle_ticks.add(1000);
    Snapshot snapshot(10'000, half_nanosecond);
    snapshot.add(target(0), counters);
    snapshot.add(target(1), counters);
    const Breakdown breakdown(snapshot);
    const Bar sum = breakdown.all(Role::target);
    EXPECT_EQ(sum.track.name, "all");
    EXPECT_EQ(sum.wall_ticks, 20'000u);
    EXPECT_EQ(ticks(sum, Part::compute), 10'000u);
    EXPECT_EQ(ticks(sum, Part::idle), 2000u);
    EXPECT_EQ(std::get<TargetTotals>(sum.totals).tasks, 20u);
    EXPECT_EQ(sum.samples, 2u);
    expect_shares_fill_the_wall(sum);
    EXPECT_TRUE(breakdown.all(Role::initiator).shares.empty());
}

TEST(Snapshot, a_difference_reports_the_phase_between_the_two) {
    InitiatorCounters counters;
    count_an_initiators_work(counters);
    Snapshot before(100'000, half_nanosecond);
    before.add(initiator(0), counters);
    counters.calls.add(100);
    counters.sampled_calls.add(2);
    counters.sampled_call_ticks.add(80);  // 40 a call in this phase: 4,000
    Snapshot after(110'000, half_nanosecond);
    after.add(initiator(0), counters);
    const Bar bar = Breakdown(after - before).bars().at(0);
    EXPECT_EQ(bar.wall_ticks, 10'000u);
    EXPECT_EQ(std::get<InitiatorTotals>(bar.totals).calls, 100u);
    EXPECT_EQ(ticks(bar, Part::runtime), 4000u);
    EXPECT_EQ(ticks(bar, Part::queue_stall), 0u);
    EXPECT_EQ(ticks(bar, Part::application), 6000u);
    EXPECT_EQ(bar.samples, 2u);
}

TEST(Snapshot, a_phase_without_a_sample_falls_back_on_the_mean_so_far) {
    InitiatorCounters counters;
    count_an_initiators_work(counters);  // 20 a call
    Snapshot before(100'000, half_nanosecond);
    before.add(initiator(0), counters);
    counters.calls.add(30);
    Snapshot after(110'000, half_nanosecond);
    after.add(initiator(0), counters);
    const Bar bar = Breakdown(after - before).bars().at(0);
    EXPECT_EQ(ticks(bar, Part::runtime), 600u);
    EXPECT_EQ(bar.samples, 0u);
}

TEST(Snapshot, an_idle_period_across_a_snapshot_is_divided_between_the_phases) {
    TargetCounters counters;
    counters.idle_ticks.begin(1000);
    Snapshot before(4000, half_nanosecond);
    before.add(target(0), counters);
    counters.idle_ticks.end(9000);
    Snapshot after(10'000, half_nanosecond);
    after.add(target(0), counters);
    EXPECT_EQ(ticks(Breakdown(before).bars().at(0), Part::idle), 3000u);
    EXPECT_EQ(ticks(Breakdown(after - before).bars().at(0), Part::idle), 5000u);
}

TEST(Snapshot, tracks_that_begin_and_end_within_a_phase_count_for_the_time_they_existed) {
    InitiatorCounters counters;
    TargetCounters idle;
    Snapshot before(1000, half_nanosecond);
    before.add(target(7), idle);
    Snapshot after(5000, half_nanosecond);
    Track brief = initiator(0, 2000);
    brief.ended = 2600;
    after.add(brief, counters);
    after.add(initiator(1, 4000), counters);
    const Breakdown breakdown(after - before);
    ASSERT_EQ(breakdown.bars().size(), 2u);  // target 7 is gone
    EXPECT_EQ(breakdown.bars()[0].wall_ticks, 600u);
    EXPECT_EQ(breakdown.bars()[1].wall_ticks, 1000u);
}

TEST(Snapshot, an_id_that_a_later_track_took_over_is_not_subtracted) {
    InitiatorCounters old, fresh;
    old.calls.add(1000);
    fresh.calls.add(3);
    Snapshot before(1000, half_nanosecond);
    before.add(initiator(0, 0), old);
    Snapshot after(5000, half_nanosecond);
    after.add(initiator(0, 3000), fresh);
    const Bar bar = Breakdown(after - before).bars().at(0);
    EXPECT_EQ(std::get<InitiatorTotals>(bar.totals).calls, 3u);
    EXPECT_EQ(bar.wall_ticks, 2000u);
}

TEST(Snapshot, orders_initiators_before_targets_and_each_by_id) {
    InitiatorCounters issuing;
    TargetCounters running;
    Snapshot snapshot(10, half_nanosecond);
    snapshot.add(target(2), running);
    snapshot.add(target(0), running);
    snapshot.add(initiator(9), issuing);
    const Breakdown breakdown(snapshot);
    EXPECT_EQ(breakdown.bars().at(0).track.id, 9u);
    EXPECT_EQ(breakdown.bars().at(1).track.id, 0u);
    EXPECT_EQ(breakdown.bars().at(2).track.id, 2u);
}

TEST(Snapshot, refuses_misuse_with_a_usage_error) {
    EXPECT_THROW(Snapshot(0, 0), UsageError);
    EXPECT_THROW(Snapshot(0, -1), UsageError);
    EXPECT_THROW(Snapshot(0, std::numeric_limits<double>::quiet_NaN()), UsageError);
    EXPECT_THROW(Snapshot(0, std::numeric_limits<double>::infinity()), UsageError);
    InitiatorCounters issuing;
    TargetCounters running;
    Snapshot early(10, half_nanosecond), late(20, half_nanosecond), coarse(30, 2.0);
    early.add(initiator(0), issuing);
    EXPECT_THROW(early.add(initiator(0), issuing), UsageError);
    EXPECT_THROW(early.add(initiator(1), running), UsageError);
    EXPECT_THROW(early - late, UsageError);
    EXPECT_THROW(coarse - early, UsageError);
    const Snapshot phase = late - early;
    EXPECT_THROW(phase - early, UsageError);
    EXPECT_THROW(late - phase, UsageError);
}

}  // namespace
}  // namespace penstock::trace
