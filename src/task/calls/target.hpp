// task layer: a target on a thread of its own: serves the lanes that end here, claims from deques when they are empty,
// and sleeps when there is nothing at all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/initiator.hpp"
#include "penstock/detail/task/ring.hpp"
#include "task/calls/posting.hpp"
#include "task/calls/runner.hpp"

namespace penstock {

class Core;

class Target {
  public:
    /// Tasks of one lane before the next lane is looked at, so that no initiator starves the others.
    static constexpr int lane_share = 64;
    /// Rounds of lanes in a row after which the deques are looked at, so that a lane that never runs dry does not
    /// starve them.
    static constexpr int lane_rounds_in_a_row = 64;
    /// Most tasks claimed at once from a deque.
    static constexpr std::uint32_t most_claimed = 16;
    /// Claims of tasks of high priority in a row before one of normal ones.
    static constexpr std::uint32_t most_urgent_in_a_row = 15;
    /// Looks at the lanes behind a task from one, with a pause behind each, before the deques are looked at, where
    /// those had nothing behind the last such task: about as long as it takes to issue the next one. Else they are
    /// looked at after the first. A look in vain takes a line from the initiator, which writes it with its next call.
    static constexpr int most_lane_looks = 12;
    /// Rounds of looks before the clock is read and the idle period begins: most gaps are shorter.
    static constexpr std::uint32_t looks_before_idle = 64;
    /// A gap between two tasks that is longer than so many times MachineOptions::spin is slept through.
    static constexpr int longest_awake = 10;

    Target(Core& core, int index, int processor, std::uint32_t most_lanes);
    ~Target();

    /// Starts the thread. Throws SystemError.
    void start();
    /// Lets the thread end once it finds nothing to do, and waits for it.
    void stop() noexcept;

    /// For this target's own thread: has `to` run it. False when that cannot be now.
    bool post(int to, const Posting& posting) noexcept;

    /// Adds the end of a lane. Called under the machine's lock, once by each initiator; the thread sees it at its next
    /// look.
    void add_lane(Ring& ring, Initiation initiation) noexcept;

    /// For this target's own thread: has something been sent to it alone?
    bool has_mail() noexcept;

    int processor() const noexcept { return processor_; }
    template <class Visit>
    void each_lane(Visit&& visit) const {
        const auto count = lane_count_.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; i < count; ++i) visit(*lanes_[i].ring);
    }
    Waiter& waiter() noexcept { return waiter_; }
    Initiator& initiator() noexcept { return *initiator_; }
    Runner& runner() noexcept { return *runner_; }
    /// It sleeps because it found nothing to do; not: inside a task, waiting for another, where it would run nothing
    /// else.
    bool sleeps_idle() const noexcept { return idle_.load(std::memory_order_acquire) && waiter_.parked(); }
    /// It has found nothing to do for about a microsecond.
    bool is_idle() const noexcept { return idle_.load(std::memory_order_relaxed); }
    /// Its tasks, which run in another process, wait for none.
    void always_sleeps_idle() noexcept { idle_.store(true, std::memory_order_relaxed); }

  private:
    struct LaneInbox {
        Consumer<TaskPayload> consumer;
        Ring* ring = nullptr;
        std::uint64_t fetched = 0;  ///< number of the last record whose arguments were fetched ahead
    };

    void serve();
    bool serve_lanes() noexcept;
    void serve_lane(LaneInbox& inbox, TaskRecord* record) noexcept;
    bool serve_postings() noexcept;
    void serve_sender(Consumer<Posting>& consumer, const Record<Posting>* record) noexcept;
    PostingLane* make_posting_lane(int to) noexcept;
    bool claim_from_deques() noexcept;
    bool claim_urgent() noexcept;
    using Look = Deque::Look;
    bool claim_from_any(Look look) noexcept;
    bool claim_from(Initiator& initiator, Look look, bool in_turn) noexcept;
    bool in_lane_of(const Initiator& initiator) noexcept;
    bool run_ready() noexcept;
    bool something_waits() noexcept;
    bool invited() const noexcept;
    void idle();
    void expect_gap_like(std::chrono::nanoseconds gap) noexcept;
    void begin_work() noexcept {
        if (woken_) [[unlikely]]
            pass_on();
    }
    void pass_on() noexcept;

    Core& core_;
    int index_;
    int processor_;
    std::unique_ptr<LaneInbox[]> lanes_;
    std::atomic<std::uint32_t> lane_count_{0};
    std::unique_ptr<Consumer<Posting>[]> postings_;  ///< one at most for each other target
    std::atomic<std::uint32_t> posting_count_{0};
    std::vector<std::unique_ptr<PostingLane>> outgoing_;  ///< by receiver; this thread's own
    std::atomic<bool> stopping_{false};
    std::uint32_t next_victim_ = 0;
    std::uint32_t next_part_ = 0;  ///< of a deque
    Ring* claimed_from_ = nullptr;
    std::uint32_t claims_ = 0;
    std::uint32_t urgent_in_a_row_ = 0;
    bool woken_ = false;       ///< and has not begun to work since
    std::uint32_t looks_ = 0;  ///< for something to do
    std::atomic<bool> idle_{false};
    Waiter waiter_;
    std::unique_ptr<Initiator> initiator_;
    Runner* runner_ = nullptr;
    std::thread thread_;
};

}  // namespace penstock
