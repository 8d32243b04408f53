// The shipped journalled claims: two worker processes that claim from one deque, one of which dies at any of its steps,
// and a supervisor that settles what it left and lets another worker take its seat.
//
// A death is simulated by a thread whose operations on shared memory have no effect from some point on. That it has
// ended becomes known with all that it stored, as the kernel makes it known.
#include "model.hpp"
#include "task/isolated/journalled_claim.hpp"

namespace {

using model::Search;

/// The worker that may die: how many operations on shared memory it has left.
struct Mortal {
    static constexpr unsigned thread = 1;
    static inline unsigned operations_left = 0;

    static bool dead() { return operations_left == 0; }
    /// Has the calling thread died before its next operation?
    static bool ends_here() {
        if (rl::thread_index() != thread || dead()) return rl::thread_index() == thread;
        return --operations_left == 0;
    }
};

template <class T, class Weakening>
class MortalAtomic : public model::Atomic<T, Weakening> {
    using Base = model::Atomic<T, Weakening>;

  public:
    using Base::Base;
    /// A look of the test's own, which is no step of a worker.
    T look() const { return Base::load(std::memory_order_relaxed); }
    T load(std::memory_order order, std::source_location at = std::source_location::current()) const {
        return Mortal::ends_here() ? T{} : Base::load(order, at);
    }
    void store(T value, std::memory_order order, std::source_location at = std::source_location::current()) {
        if (!Mortal::ends_here()) Base::store(value, order, at);
    }
    bool compare_exchange_strong(T& expected, T value, std::memory_order order, std::memory_order failure,
                                 std::source_location at = std::source_location::current()) {
        return !Mortal::ends_here() && Base::compare_exchange_strong(expected, value, order, failure, at);
    }
};

template <class Weakening>
struct MortalAtomics {
    template <class T>
    using Atomic = MortalAtomic<T, Weakening>;
};

/// What a supervisor could get wrong about an intended claim.
enum class Burial { as_shipped, believes_all_intents, believes_no_intent, forgets_the_holder };

/// Thread 0 appends the tasks, waits for the end of thread 1 and takes over its seat; thread 2 lives.
template <int tasks, std::uint32_t most, Burial burial = Burial::as_shipped, class Weakening = model::AsShipped>
struct JournalModel : rl::test_suite<JournalModel<tasks, most, burial, Weakening>, 3> {
    using Policy = MortalAtomics<Weakening>;
    using Note = penstock::ClaimNote<Policy>;
    template <class T>
    using Sound = MortalAtomic<T, model::AsShipped>;
    static constexpr std::uint32_t ring = 5;

    penstock::Claims<Policy> claims;
    Note notes[2];
    Sound<std::uint64_t> running[2];  ///< number of the task that a seat's worker runs now
    Sound<std::uint32_t> done[tasks + 1];
    model::Atomic<std::uint64_t, model::AsShipped> sequence[tasks + 2];
    model::Plain<int> argument[tasks + 1];
    model::Atomic<std::uint32_t, model::AsShipped> ended{0};
    int runs[tasks + 1] = {};
    int failed = 0;

    void before() {
        // Steps of one claim and of one task each, and some in which it finds nothing; mostly it lives.
        Mortal::operations_left = 1 + rl::rand(40);
    }

    void thread(unsigned index) {
        if (index == 0) {
            for (int number = 1; number <= tasks; ++number) {
                argument[number].write(number);
                sequence[number].store(static_cast<std::uint64_t>(number), std::memory_order_release);
            }
            while (ended.load(std::memory_order_acquire) == 0) model::idle();
            bury();
            work(0);
        } else if (index == 1) {
            work(0);
            ended.store(1, std::memory_order_release);
        } else {
            work(1);
        }
    }

    void work(unsigned seat) {
        finish_claim(seat);
        while (!all_done() && !gone()) {
            const bool claimed =
                penstock::claim_with_journal(claims, notes[seat], seat + 1, ring, most, 1, [&](std::uint64_t number) {
                    return number <= tasks && sequence[number].load(std::memory_order_acquire) == number;
                });
            if (gone()) return;
            if (claimed) finish_claim(seat);
            else model::idle();
        }
    }

    void finish_claim(unsigned seat) {
        auto& note = notes[seat];
        if (note.state.load(std::memory_order_acquire) != Note::owned || gone()) return;
        model::require(note.ring.load(std::memory_order_relaxed) == ring || gone(), "a claim names its deque");
        const auto end = note.end.load(std::memory_order_relaxed);
        for (auto number = note.first.load(std::memory_order_relaxed); number < end && !gone(); ++number) {
            running[seat].store(number, std::memory_order_release);
            running[seat].load(std::memory_order_relaxed);  // a step of the task's own, at which it may die too
            if (gone()) return;
            model::require(argument[number].read() == static_cast<int>(number),
                           "a claimed task is the one appended under its number");
            model::require(++runs[number] == 1, "a task is run once");
            done[number].store(1, std::memory_order_release);
            running[seat].store(0, std::memory_order_release);
        }
        note.state.store(Note::none, std::memory_order_release);
    }

    /// As the supervisor does: fails the task that ran, settles the claim, leaves what was claimed to the next worker.
    void bury() {
        auto& note = notes[0];
        const auto ran = running[0].load(std::memory_order_acquire);
        if (ran != 0 && done[ran].load(std::memory_order_acquire) == 0) {
            ++failed;
            done[ran].store(1, std::memory_order_release);
        }
        const auto state = note.state.load(std::memory_order_acquire);
        const bool intended = state == Note::intended;
        if (burial == Burial::believes_all_intents && intended)
            note.state.store(Note::owned, std::memory_order_release);
        if (burial == Burial::believes_no_intent && intended) note.state.store(Note::none, std::memory_order_release);
        if (burial != Burial::forgets_the_holder) penstock::settle_claim_of_the_dead(claims, note, 1u, ring);
        if (note.state.load(std::memory_order_acquire) == Note::intended)
            note.state.store(Note::none, std::memory_order_release);
        if (note.state.load(std::memory_order_acquire) != Note::owned) return;
        auto first = note.first.load(std::memory_order_relaxed);
        while (first < note.end.load(std::memory_order_relaxed) && done[first].load(std::memory_order_acquire) != 0)
            ++first;
        note.first.store(first, std::memory_order_relaxed);
    }

    /// Only the mortal thread ends; its successor and the other worker live.
    static bool gone() { return rl::thread_index() == Mortal::thread && Mortal::dead(); }
    bool all_done() {
        for (int number = 1; number <= tasks; ++number)
            if (done[number].look() == 0) return false;
        return true;
    }

    void after() {
        int lost = tasks;
        for (const int each : runs) lost -= each;
        // The one that the dead was about to begin counts as failed too.
        model::require(lost == 0 || (failed == 1 && lost == 1), "no task is lost but the one that its worker died of");
        model::require(failed <= 1, "a death fails one task at most");
    }
};

template <Burial burial, class Weakening = model::AsShipped>
using Twin = JournalModel<4, 2, burial, Weakening>;

TEST(JournalModel, a_death_at_any_step_loses_no_task_and_runs_none_twice) {
    model::expect_holds<JournalModel<1, 1>>(Search::few_switches, 1);
    model::expect_holds<JournalModel<4, 2>>(Search::random_schedules, 30'000);
}
TEST(JournalModel, single_claims_survive_a_death_too) {
    model::expect_holds<JournalModel<3, 1>>(Search::random_schedules, 30'000);
}
TEST(JournalModel, taking_every_intent_for_a_claim_is_found) {
    model::expect_finds<Twin<Burial::believes_all_intents>>(rl::test_result_user_assert_failed);
}
TEST(JournalModel, taking_no_intent_for_a_claim_is_found) {
    model::expect_finds<Twin<Burial::believes_no_intent>>(rl::test_result_livelock);
}
TEST(JournalModel, leaving_the_dead_as_holder_is_found) {
    model::expect_finds<Twin<Burial::forgets_the_holder>>(rl::test_result_livelock);
}
TEST(JournalModel, claiming_without_order_is_found) {
    model::expect_finds<Twin<Burial::as_shipped, model::Relaxing<"claim_with_journal(">>>(
        rl::test_result_user_assert_failed);
}
TEST(JournalModel, freeing_a_deque_of_the_dead_without_release_is_found) {
    using Weakened = model::Relaxing<"settle_claim_of_the_dead(">;
    model::expect_finds<Twin<Burial::as_shipped, Weakened>>(rl::test_result_user_assert_failed);
}

}  // namespace
