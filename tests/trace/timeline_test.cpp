#include <gtest/gtest.h>

#include <atomic>
#include <penstock/detail/trace/timeline.hpp>
#include <penstock/error.hpp>
#include <thread>

namespace penstock::trace {
namespace {

/// An event all of whose fields follow from one number, so that a torn one shows.
Event numbered(std::uint64_t n) {
    const auto word = static_cast<std::uint32_t>(n);
    return {.begin = n,
            .end = n + 1,
            .id = word,
            .kind = EventKind::task,
            .issuer = word + 2,
            .target = word + 3,
            .issued = n + 4,
            .bytes_in = n + 5,
            .bytes_out = n + 6};
}

void expect_numbered(const Event& event) {
    const std::uint64_t n = event.begin;
    const auto word = static_cast<std::uint32_t>(n);
    ASSERT_EQ(event.end, n + 1);
    ASSERT_EQ(event.id, word);
    ASSERT_EQ(event.kind, EventKind::task);
    ASSERT_EQ(event.issuer, word + 2);
    ASSERT_EQ(event.target, word + 3);
    ASSERT_EQ(event.issued, n + 4);
    ASSERT_EQ(event.bytes_in, n + 5);
    ASSERT_EQ(event.bytes_out, n + 6);
}

TEST(Timeline, records_nothing_until_it_is_started) {
    Timeline timeline;
    EXPECT_FALSE(timeline.enabled());
    timeline.record(numbered(1));
    EXPECT_TRUE(timeline.snapshot().events.empty());
    EXPECT_EQ(timeline.snapshot().dropped, 0u);
}

TEST(Timeline, gives_back_every_field_in_the_order_recorded) {
    Timeline timeline;
    timeline.start(8);
    EXPECT_TRUE(timeline.enabled());
    for (std::uint64_t n = 10; n < 15; ++n) timeline.record(numbered(n));
    const Recording recording = timeline.snapshot();
    ASSERT_EQ(recording.events.size(), 5u);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(recording.events[i].begin, 10 + i);
        expect_numbered(recording.events[i]);
    }
    EXPECT_EQ(recording.dropped, 0u);
}

TEST(Timeline, a_full_ring_drops_the_oldest_and_counts_them) {
    Timeline timeline;
    timeline.start(8);
    for (std::uint64_t n = 0; n < 21; ++n) timeline.record(numbered(n));
    const Recording recording = timeline.snapshot();
    ASSERT_EQ(recording.events.size(), 8u);
    EXPECT_EQ(recording.events.front().begin, 13u);
    EXPECT_EQ(recording.events.back().begin, 20u);
    EXPECT_EQ(recording.dropped, 13u);
}

TEST(Timeline, a_capacity_is_rounded_up_to_a_power_of_two) {
    Timeline timeline;
    timeline.start(5);
    for (std::uint64_t n = 0; n < 8; ++n) timeline.record(numbered(n));
    EXPECT_EQ(timeline.snapshot().events.size(), 8u);
}

TEST(Timeline, refuses_a_capacity_that_makes_no_sense_and_stays_off) {
    Timeline timeline;
    EXPECT_THROW(timeline.start(0), UsageError);
    EXPECT_THROW(timeline.start(Timeline::max_capacity + 1), UsageError);
    EXPECT_FALSE(timeline.enabled());
}

TEST(Timeline, can_be_read_after_it_was_stopped) {
    Timeline timeline;
    timeline.start(8);
    timeline.record(numbered(1));
    timeline.stop();
    timeline.record(numbered(2));
    const Recording recording = timeline.snapshot();
    ASSERT_EQ(recording.events.size(), 1u);
    EXPECT_EQ(recording.events[0].begin, 1u);
}

TEST(Timeline, starting_again_forgets_the_recording_before) {
    Timeline timeline;
    for (const std::size_t capacity : {8u, 8u, 32u, 8u}) {
        timeline.start(capacity);
        EXPECT_TRUE(timeline.snapshot().events.empty());
        for (std::uint64_t n = 0; n < 11; ++n) timeline.record(numbered(n));
        timeline.stop();
        const Recording recording = timeline.snapshot();
        EXPECT_EQ(recording.events.size(), capacity == 8 ? 8u : 11u);
        EXPECT_EQ(recording.dropped, capacity == 8 ? 3u : 0u);
    }
}

// The window of a torn read is a few cycles wide; the thread sanitizer stretches it, and finds a missing second look at
// once.
TEST(Timeline, a_reader_never_sees_a_torn_event_while_the_writer_laps_the_ring) {
    for (const std::size_t capacity : {1u, 2u, 16u}) {  // the smaller, the more often reader and writer meet in a slot
        Timeline timeline;
        timeline.start(capacity);
        std::atomic<bool> done{false};
        std::thread writer([&] {
            for (std::uint64_t n = 1; !done.load(std::memory_order_relaxed); ++n) timeline.record(numbered(n));
        });
        std::uint64_t seen = 0, lapped = 0;
        for (int round = 0; round < 100'000 || seen == 0 || lapped == 0; ++round) {
            const Recording recording = timeline.snapshot();
            EXPECT_LE(recording.events.size(), capacity);
            std::uint64_t before = 0;
            for (const Event& event : recording.events) {
                expect_numbered(event);
                EXPECT_GT(event.begin, before);
                before = event.begin;
            }
            if (HasFailure()) break;
            seen += recording.events.size();
            lapped = recording.dropped;
        }
        done = true;
        writer.join();
        ASSERT_FALSE(HasFailure());
        const Recording last = timeline.snapshot();
        EXPECT_EQ(last.events.size() + last.dropped, last.events.back().begin);  // events are numbered from 1
    }
}

TEST(Timeline, can_be_switched_on_and_off_while_the_writer_writes) {
    Timeline timeline;
    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (std::uint64_t n = 1; !done.load(std::memory_order_relaxed); ++n) timeline.record(numbered(n));
    });
    std::uint64_t seen = 0;
    for (int round = 0; (round < 300 || seen == 0) && !HasFailure(); ++round) {
        timeline.start(round % 2 == 0 ? 64 : 256);
        std::this_thread::yield();
        for (const Event& event : timeline.snapshot().events) expect_numbered(event);
        timeline.stop();
        const Recording recording = timeline.snapshot();
        for (const Event& event : recording.events) expect_numbered(event);
        seen += recording.events.size();
    }
    done = true;
    writer.join();
    EXPECT_FALSE(timeline.enabled());
}

}  // namespace
}  // namespace penstock::trace
