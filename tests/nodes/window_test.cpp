// The window of a link between nodes, on a line and with a reader that are worked out, not run: no clock is asked.
#include "stream/far/window.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

namespace penstock::streaming {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// A writer that always has buffers, a line and a reader, step by step in time.
class Played {
  public:
    using Times = std::function<nanoseconds(nanoseconds)>;  ///< of the time now
    Played(nanoseconds line, nanoseconds firing) : Played([=](auto) { return line; }, [=](auto) { return firing; }) {}
    /// How long the line takes, one way, and how long the reader has a buffer in hand.
    Played(Times line, Times firing) : line_(std::move(line)), firing_(std::move(firing)) {}

    Window window{};
    std::uint64_t room = 12, most_room = 12, posted = 0, known = 0, taken = 0;

    void play(nanoseconds until) {
        for (; now_ < until; now_ += 10us) {
            for (; !credits_.empty() && credits_.front().at <= now_; credits_.pop_front()) {
                const auto& credit = credits_.front();
                room = window.credit(posted, known, credit.taken, credit.ran_dry, room, {12, 4'096},
                                     [&] { return Window::Time(1s + now_); });
                most_room = std::max(most_room, room);
                known = credit.taken;
            }
            while (posted - known < room) {
                ++posted;
                if (!window.measures()) window.begin_round(posted, known, Window::Time(1s + now_));
                const auto last = on_the_line_.empty() ? 0ns : on_the_line_.back();
                on_the_line_.push_back(std::max(last, now_ + line_(now_)));
            }
            read();
        }
    }

  private:
    struct Credit {
        nanoseconds at;
        std::uint64_t taken, ran_dry;
    };
    void read() {
        while (free_at_ <= now_) {
            if (std::exchange(fires_, false)) ++taken;
            if (taken - told_ >= 3) credits_.push_back({now_ + line_(now_), told_ = taken, ran_dry_});
            if (on_the_line_.empty() || on_the_line_.front() > now_) {
                if (!std::exchange(waits_, true)) ++ran_dry_;
                return;
            }
            waits_ = false;
            on_the_line_.pop_front();
            fires_ = true;
            free_at_ = now_ + firing_(now_);
        }
    }
    Times line_, firing_;
    nanoseconds now_{}, free_at_{};
    bool fires_ = false, waits_ = false;
    std::uint64_t told_ = 0, ran_dry_ = 0;
    std::deque<nanoseconds> on_the_line_{};  ///< when they arrive
    std::deque<Credit> credits_{};
};

TEST(Window, a_line_that_holds_nothing_needs_no_more_than_the_least) {
    Played played(20us, 2ms);
    played.play(2s);
    EXPECT_EQ(played.most_room, 12u);
    EXPECT_GE(played.taken, 990u);
}

TEST(Window, a_long_line_is_filled) {
    Played played(10ms, 100us);
    played.play(1s);
    const auto first = played.taken;
    played.play(11s);
    EXPECT_GE(played.most_room, 200u) << "bandwidth times delay";
    EXPECT_GE(played.taken - first, 99'500u) << "of 100,000 that the reader could take";
}

TEST(Window, falls_behind_a_line_that_was_slow_once) {
    // All is late in the first tenths of a second, so that the shortest round is one with a full queue, and the reader
    // runs dry now and then. Behind that it sets the pace.
    Played played([](auto now) { return now < 500ms ? 20ms : 20us; },
                  [](auto now) { return now < 80ms ? 100ms : 2ms; });
    played.play(500ms);
    EXPECT_GT(played.most_room, 12u);
    played.play(5s);
    EXPECT_EQ(played.room, 12u);
}

}  // namespace
}  // namespace penstock::streaming
