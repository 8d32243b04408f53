// The shipped handshake of parking.hpp: no wake-up is lost although the waker has no fence.
//
// membarrier is modelled by what it does: the caller's fence, then every other thread executes a full fence between two
// of its instructions (an interrupt, wherever the search puts it), then the caller's fence again. A futex is modelled
// by what the kernel does: compare and enqueue under the bucket's lock, dequeue under the same lock.
#include "model.hpp"
#include "penstock/detail/machine/parking.hpp"

namespace {

using model::Search;
using Word = model::Atomic<std::uint32_t, model::AsShipped>;

rl::debug_info here(const char* what) { return {what, __FILE__, __LINE__}; }
void full_fence() { rl::atomic_thread_fence(rl::mo_seq_cst, here("full_fence")); }

/// The fence that the kernel forces on one running thread.
class Interrupt {
  public:
    /// The caller's side: waits until the other thread has executed its fence.
    void ask() { asked_.store(++number_, std::memory_order_release); }
    void await() {
        while (served_.load(std::memory_order_acquire) != number_) model::idle();
    }
    /// The other side: a place between two instructions where the interrupt can fall.
    void may_fall() {
        const auto asked = asked_.load(std::memory_order_acquire);
        if (asked == known_) return;
        known_ = asked;
        full_fence();
        served_.store(asked, std::memory_order_release);
    }

  private:
    Word asked_{0};
    Word served_{0};
    std::uint32_t number_ = 0;  ///< the caller's
    std::uint32_t known_ = 0;   ///< the other side's
};

class Futex {
  public:
    explicit Futex(const Word& word) : word_(word) {}
    void sleep_while_one() {
        bucket_.lock(here("sleep"));
        const bool sleeps = word_.load(std::memory_order_relaxed) == 1;
        if (sleeps) asleep_.store(1, std::memory_order_relaxed);
        bucket_.unlock(here("sleep"));
        while (sleeps && asleep_.load(std::memory_order_relaxed) == 1) model::idle();
    }
    void wake_all() {
        bucket_.lock(here("wake"));
        asleep_.store(0, std::memory_order_relaxed);
        bucket_.unlock(here("wake"));
    }

  private:
    const Word& word_;
    rl::mutex bucket_;
    Word asleep_{0};  ///< the queue of the one sleeper
};

enum class Barrier { everywhere, parker_only, none };

/// `senders` threads publish `rounds` items each; one more consumes them and parks whenever there is none.
template <int senders, std::uint32_t rounds, Barrier barrier = Barrier::everywhere, bool rouses = true>
struct ParkingModel : rl::test_suite<ParkingModel<senders, rounds, barrier, rouses>, senders + 1> {
    Word parked{0};
    Word published[senders];
    Word finished{0};
    Interrupt interrupts[senders];
    Futex futex{parked};

    void thread(unsigned index) {
        if (index < senders) send(published[index], interrupts[index]);
        else consume();
    }

    void send(Word& mine, Interrupt& interrupt) {
        penstock::Parking bell(parked);
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            interrupt.may_fall();
            mine.store(round, std::memory_order_release);
            interrupt.may_fall();
            const bool sleeper = bell.sleeper();
            interrupt.may_fall();
            if (sleeper)
                bell.wake([&] {
                    if (rouses) futex.wake_all();
                });
        }
        // A thread that runs no more has passed the fence of its context switch.
        while (finished.load(std::memory_order_relaxed) == 0) {
            interrupt.may_fall();
            model::idle();
        }
    }

    void consume() {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            auto poll = [&] {
                for (auto& word : published)
                    if (word.load(std::memory_order_acquire) < round) return false;
                return true;
            };
            while (!poll())
                if (penstock::Parking(parked).park([&] { fence_all(); }, poll, [&] { futex.sleep_while_one(); })) break;
        }
        finished.store(1, std::memory_order_relaxed);
    }

    void fence_all() {
        if (barrier == Barrier::none) return;
        full_fence();
        if (barrier == Barrier::everywhere) {
            for (auto& interrupt : interrupts) interrupt.ask();
            for (auto& interrupt : interrupts) interrupt.await();
        }
        full_fence();
    }
};

TEST(ParkingModel, no_wake_up_is_lost) {
    model::expect_holds<ParkingModel<1, 1>>(Search::few_switches, 3);
    model::expect_holds<ParkingModel<1, 3>>(Search::random_schedules, 100'000);
}
TEST(ParkingModel, no_wake_up_of_two_senders_is_lost) {
    model::expect_holds<ParkingModel<2, 2>>(Search::random_schedules, 100'000);
}

// A sleeper that nobody wakes shows as an execution without end.
template <class Model>
void expect_loses_a_wake_up() {
    model::expect_finds<Model>(rl::test_result_livelock);
}

TEST(ParkingModel, parking_without_a_barrier_is_found) { expect_loses_a_wake_up<ParkingModel<1, 2, Barrier::none>>(); }
TEST(ParkingModel, a_barrier_of_the_parker_alone_is_found) {
    expect_loses_a_wake_up<ParkingModel<1, 2, Barrier::parker_only>>();
}
TEST(ParkingModel, clearing_the_flag_without_rousing_is_found) {
    expect_loses_a_wake_up<ParkingModel<1, 2, Barrier::everywhere, false>>();
}

}  // namespace
