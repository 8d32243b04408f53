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

/// When the runner makes its second claim: behind the first, or before it runs the last task of it, to look at the
/// first task of the second.
enum class Second { behind, before_the_last };

template <int takers, int tasks, Barrier kind = Barrier::everywhere, bool withdraws = false, Looks looks = Looks::none,
          Second second = Second::behind>
struct OpenClaimModel : rl::test_suite<OpenClaimModel<takers, tasks, kind, withdraws, looks, second>, takers + 1> {
    struct Place {
        int runs[tasks + 1] = {};
        Word ran[tasks + 2];
    };
    Place places[2];
    penstock::OpenClaim<Place, model::Atomics<model::AsShipped>> claim;
    Word asked[takers], served[takers], finished{0};
    std::uint32_t known[takers] = {};
    char marks[takers] = {};

    void thread(unsigned index) {
        if (index < takers) take(index);
        else if (second == Second::behind) run();
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
        place.ran[number].store(1, std::memory_order_relaxed);
    }

    void before() {
        for (auto& place : places)
            for (auto& ran : place.ran) ran.store(0, std::memory_order_relaxed);
    }

    /// At the record of the next task, which must not be run, and so perhaps overwritten, before the look has ended.
    template <class Pause>
    std::uint64_t look_ahead(Place& place, std::uint64_t number, std::uint64_t end, Pause&& pause) {
        if (number + 1 >= end) return end;
        if (looks == Looks::announced) {
            claim.announce(number + 1);
            may_fall();
            if (!claim.unchanged()) {
                may_fall();
                end = claim.settle(pause);
            }
        }
        if (number + 1 < end) {
            may_fall();
            model::require(place.ran[number + 1].load(std::memory_order_relaxed) == 0, "what is looked at has not run");
        }
        may_fall();
        if (looks == Looks::announced) claim.announce_again(number);
        return end;
    }

    void run() {
        const auto pause = [this] {
            may_fall();
            model::idle();
        };
        for (auto& place : places) {
            std::uint64_t end = tasks + 1;
            claim.open(place, 1, end);
            may_fall();
            for (std::uint64_t number = 1;;) {
                if (looks != Looks::none) end = look_ahead(place, number, end, pause);
                run_one(place, number);
                if (++number == end) break;
                // a task that waits twice: what it gives back is run by whoever comes, here at once
                if (withdraws && number == tasks)
                    for (int waits = 0; waits < 2; ++waits) {
                        const auto rest = claim.withdraw(pause);
                        for (auto n = rest.first; n < rest.end; ++n) run_one(*rest.where, n);
                    }
                may_fall();
                claim.announce(number);
                may_fall();
                const bool unchanged = claim.unchanged();
                may_fall();
                if (unchanged) continue;
                end = claim.settle(pause);
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
        const auto pause = [this] {
            may_fall();
            model::idle();
        };
        claim.open(places[0], 1, tasks + 1);
        may_fall();
        std::uint64_t end = tasks + 1;
        bool first_place = true;
        for (std::uint64_t number = 1;;) {
            Place& place = places[first_place ? 0 : 1];
            const bool opens = first_place && number + 1 == end;
            if (opens) {
                claim.close();
                may_fall();
                claim.open(places[1], 1, tasks + 1);
                may_fall();
                model::require(places[1].ran[1].load(std::memory_order_relaxed) == 0, "what is looked at has not run");
                may_fall();
                claim.announce_again(0);
                may_fall();
            }
            run_one(place, number);
            if (withdraws && opens) {  // it waits
                const auto rest = claim.withdraw(pause);
                for (auto n = rest.first; n < rest.end; ++n) run_one(*rest.where, n);
            }
            may_fall();
            if (!opens && number + 1 == end) break;
            number = opens ? 1 : number + 1;
            if (opens) first_place = false, end = tasks + 1;
            claim.announce(number);
            may_fall();
            const bool unchanged = claim.unchanged();
            may_fall();
            if (unchanged) continue;
            const auto settled = claim.settle(pause);
            if (number < settled) {
                end = settled;
                continue;
            }
            // The rest is others'. Of the first place it may be all but the task that runs last of it.
            if (!first_place) break;
            first_place = false;
            number = 1;
            end = tasks + 1;
            claim.close();
            may_fall();
            claim.open(places[1], 1, end);
            may_fall();
        }
        may_fall();
        claim.close();
        may_fall();
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
        for (const auto& place : places)
            for (int number = 1; number <= tasks; ++number) model::require(place.runs[number] == 1, "no task is lost");
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
TEST(OpenClaimModel, the_next_claim_may_be_opened_before_the_last_task_of_this_one_runs) {
    constexpr auto early = Second::before_the_last;
    model::expect_holds<OpenClaimModel<1, 2, Barrier::everywhere, false, Looks::none, early>>(Search::few_switches, 2);
    model::expect_holds<OpenClaimModel<1, 3, Barrier::everywhere, false, Looks::none, early>>(Search::random_schedules,
                                                                                              60'000);
    model::expect_holds<OpenClaimModel<2, 3, Barrier::everywhere, false, Looks::none, early>>(Search::random_schedules,
                                                                                              60'000);
    model::expect_holds<OpenClaimModel<2, 3, Barrier::everywhere, true, Looks::none, early>>(Search::random_schedules,
                                                                                             60'000);
}
TEST(OpenClaimModel, a_look_without_an_announcement_is_found) {
    model::expect_finds<OpenClaimModel<1, 3, Barrier::everywhere, false, Looks::unannounced>>(
        rl::test_result_user_assert_failed);
}
TEST(OpenClaimModel, a_taker_without_a_barrier_is_found) {
    model::expect_finds<OpenClaimModel<1, 3, Barrier::taker_only>>(rl::test_result_user_assert_failed);
}

}  // namespace
