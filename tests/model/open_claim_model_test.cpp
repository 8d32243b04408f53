// The shipped OpenClaim: each task of a claim runs once, whoever takes what has not begun, and although its runner has
// no fence.
//
// The process-wide barrier is modelled as in parking_model_test.cpp: a fence of the runner between two of its
// instructions, wherever the search puts it.
#include "model.hpp"
#include "task/calls/open_claim.hpp"

namespace {

using model::Search;
using Word = model::Atomic<std::uint32_t, model::AsShipped>;

enum class Barrier { everywhere, taker_only };

/// A runner with two claims of `tasks`, one after the other, in different places, and `takers` threads that take what
/// they can. Of the runner at the task behind the one that it is about to run
enum class Looks { none, announced, unannounced };

/// When the runner makes its next claim: behind the one before, in another place, or before it runs the last task of
/// that, in the same place, among numbers that need not be higher, to look at the first task of it.
enum class Next { behind, before_the_last };

template <int takers, int tasks, Barrier kind = Barrier::everywhere, bool withdraws = false, Looks looks = Looks::none,
          Next next = Next::behind, class Weakening = model::AsShipped>
struct OpenClaimModel
    : rl::test_suite<OpenClaimModel<takers, tasks, kind, withdraws, looks, next, Weakening>, takers + 1> {
    static constexpr int claims = 3;  ///< in one place
    struct Place {
        int runs[claims * tasks + 1] = {};
        model::Plain<int> ran[claims * tasks + 1];  ///< stands for the record, which is overwritten once it has run
    };
    Place places[2];
    penstock::OpenClaim<Place, model::Atomics<Weakening>> claim;
    Word asked[takers], served[takers], finished{0};
    std::uint32_t known[takers] = {};
    char marks[takers] = {};

    void thread(unsigned index) {
        if (index < takers) take(index);
        else if (next == Next::behind) run();
        else run_on();
    }

    static void fence() { rl::atomic_thread_fence(rl::mo_seq_cst, {"fence", __FILE__, __LINE__}); }

    void may_fall() {
        for (int taker = 0; taker < takers; ++taker) {
            const auto number = asked[taker].load(std::memory_order_acquire);
            if (number == known[taker]) continue;
            known[taker] = number;
            fence();
            served[taker].store(number, std::memory_order_release);
        }
    }

    static void run_one(Place& place, std::uint64_t number) {
        model::require(++place.runs[number] == 1, "a task runs once");
        place.ran[number].write(1);
    }

    /// What the runner does while it waits for a taker.
    auto pause() {
        return [this] {
            may_fall();
            model::idle();
        };
    }
    /// It begins this task, if it lies before what this returns: the end of the claim.
    std::uint64_t begin(std::uint64_t number, std::uint64_t end) {
        claim.announce(number);
        may_fall();
        const bool unchanged = claim.unchanged();
        may_fall();
        return unchanged ? end : claim.settle(pause());
    }

    void before() {
        for (auto& place : places)
            for (auto& ran : place.ran) ran.write(0);
    }

    /// At the record of the next task, which must not be run, and so perhaps overwritten, before the look has ended.
    std::uint64_t look_ahead(Place& place, std::uint64_t number, std::uint64_t end) {
        if (number + 1 >= end) return end;
        if (looks == Looks::announced) end = begin(number + 1, end);
        if (number + 1 < end) {
            may_fall();
            model::require(place.ran[number + 1].read() == 0, "what is looked at has not run");
        }
        may_fall();
        if (looks == Looks::announced) claim.announce_again(number);
        return end;
    }

    void run() {
        for (auto& place : places) {
            std::uint64_t end = tasks + 1;
            claim.open(place, 1, end);
            may_fall();
            for (std::uint64_t number = 1;;) {
                if (looks != Looks::none) end = look_ahead(place, number, end);
                run_one(place, number);
                if (++number == end) break;
                // a task that waits twice: what it gives back is run by whoever comes, here at once
                if (withdraws && number == tasks)
                    for (int waits = 0; waits < 2; ++waits) {
                        const auto rest = claim.withdraw(pause());
                        for (auto n = rest.first; n < rest.end; ++n) run_one(*rest.where, n);
                    }
                may_fall();
                end = begin(number, end);
                if (number >= end) break;
            }
            may_fall();
            claim.close();
            may_fall();
        }
        outlive_takers();
    }

    /// A thread that runs no more has passed the fence of its context switch.
    void outlive_takers() {
        while (finished.load(std::memory_order_relaxed) != takers) {
            may_fall();
            model::idle();
        }
    }

    void run_on() {
        constexpr std::uint64_t firsts[claims] = {tasks + 1, 1, 2 * tasks + 1};
        Place& place = places[0];
        int which = 0;
        std::uint64_t number = firsts[0], end = number + tasks;
        claim.open(place, number, end);
        may_fall();
        for (;;) {
            bool opens = false;
            if (number + 1 < end) {
                if (looks != Looks::none) end = look_ahead(place, number, end);
            } else if (which + 1 < claims) {
                opens = true;
                const auto first = firsts[++which];
                claim.close();
                may_fall();
                claim.open(place, first, first + tasks);
                may_fall();
                model::require(place.ran[first].read() == 0, "what is looked at has not run");
                may_fall();
                claim.announce_again(first - 1);
                may_fall();
            }
            run_one(place, number);
            if (withdraws && opens) {  // it waits
                const auto rest = claim.withdraw(pause());
                for (auto n = rest.first; n < rest.end; ++n) run_one(*rest.where, n);
            }
            may_fall();
            if (opens || number + 1 < end) {
                number = opens ? firsts[which] : number + 1;
                if (opens) end = number + tasks;
                end = begin(number, end);
                if (number < end) continue;
            }
            // What is left of this claim is others', so that nothing was opened behind it.
            claim.close();
            may_fall();
            if (++which == claims) break;
            number = firsts[which];
            end = number + tasks;
            claim.open(place, number, end);
            may_fall();
        }
        outlive_takers();
    }

    void take(unsigned taker) {
        for (std::uint32_t turn = 1; turn <= 2; ++turn) {
            const auto rest = claim.take(&marks[taker], [&] {
                fence();
                if (kind == Barrier::everywhere) {
                    asked[taker].store(turn, std::memory_order_release);
                    while (served[taker].load(std::memory_order_acquire) != turn) model::idle();
                }
                fence();
                return true;
            });
            for (auto number = rest.first; number < rest.end; ++number) run_one(*rest.where, number);
        }
        for (auto done = finished.load(std::memory_order_relaxed);
             !finished.compare_exchange_strong(done, done + 1, std::memory_order_relaxed, std::memory_order_relaxed);) {
        }
    }

    void after() {
        for (int place = 0; place < (next == Next::behind ? 2 : 1); ++place)
            for (int number = 1; number <= (next == Next::behind ? tasks : claims * tasks); ++number)
                model::require(places[place].runs[number] == 1, "no task is lost");
    }
};

TEST(OpenClaimModel, each_task_runs_once_whoever_takes_the_rest) {
    model::expect_holds<OpenClaimModel<1, 2>>(Search::few_switches, 2);
    model::expect_holds<OpenClaimModel<1, 3>>(Search::random_schedules, 60'000);
}
TEST(OpenClaimModel, two_takers_share_nothing) {
    model::expect_holds<OpenClaimModel<2, 3>>(Search::random_schedules, 60'000);
}
TEST(OpenClaimModel, what_is_withdrawn_is_taken_by_nobody_else) {
    model::expect_holds<OpenClaimModel<2, 3, Barrier::everywhere, true>>(Search::random_schedules, 60'000);
}
TEST(OpenClaimModel, what_the_runner_looks_at_ahead_of_time_nobody_has_run) {
    model::expect_holds<OpenClaimModel<1, 3, Barrier::everywhere, false, Looks::announced>>(Search::random_schedules,
                                                                                            60'000);
    model::expect_holds<OpenClaimModel<2, 4, Barrier::everywhere, false, Looks::announced>>(Search::random_schedules,
                                                                                            60'000);
}
template <int takers, int tasks, bool withdraws, Looks looks, class Weakening = model::AsShipped>
using ClaimsOn = OpenClaimModel<takers, tasks, Barrier::everywhere, withdraws, looks, Next::before_the_last, Weakening>;
TEST(OpenClaimModel, the_next_claim_may_be_opened_before_the_last_task_of_this_one_runs) {
    model::expect_holds<ClaimsOn<1, 2, false, Looks::none>>(Search::few_switches, 2);
    model::expect_holds<ClaimsOn<1, 3, false, Looks::announced>>(Search::random_schedules, 60'000);
    model::expect_holds<ClaimsOn<2, 2, false, Looks::announced>>(Search::random_schedules, 60'000);
    model::expect_holds<ClaimsOn<2, 2, true, Looks::none>>(Search::random_schedules, 60'000);
}
TEST(OpenClaimModel, a_look_that_is_not_published_before_others_may_have_the_task_is_found) {
    model::expect_finds<ClaimsOn<1, 2, false, Looks::none, model::Relaxing<"::announce_again(">>>(
        rl::test_result_data_race);
}
TEST(OpenClaimModel, a_look_without_an_announcement_is_found) {
    model::expect_finds<OpenClaimModel<1, 3, Barrier::everywhere, false, Looks::unannounced>>(
        rl::test_result_data_race);
}
TEST(OpenClaimModel, a_taker_without_a_barrier_is_found) {
    model::expect_finds<OpenClaimModel<1, 3, Barrier::taker_only>>(rl::test_result_user_assert_failed);
}

}  // namespace
