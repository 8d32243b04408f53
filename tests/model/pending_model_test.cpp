// The shipped PendingRing: an owner that appends, two claimants that race for its tasks, slots used again and again.
#include "model.hpp"
#include "penstock/detail/channel/pending.hpp"

namespace {

using model::Search;

struct Payload {
    model::Plain<int> argument;
};

template <int tasks, std::uint32_t capacity, std::uint32_t most, std::uint32_t share,
          class Weakening = model::AsShipped, std::uint32_t least = 1>
struct PendingModel : rl::test_suite<PendingModel<tasks, capacity, most, share, Weakening, least>, 3> {
    using Ring = penstock::PendingRing<Payload, model::Atomics<Weakening>>;

    typename Ring::RecordType slots[capacity];
    typename Ring::DoneType done[capacity];
    typename Ring::CompletedType completed[2];
    typename Ring::ReturnedType returned[1];
    Ring ring{slots, done, capacity, completed, 2, returned};
    model::Plain<int> output[tasks + 1];  ///< what each task writes, once
    model::Atomic<std::uint32_t, model::AsShipped> finished{0};
    std::uint64_t claimed_end =
        0;  ///< not shared in the model's sense: claims must follow one another without gap or overlap
    int runs[tasks + 1] = {};

    void thread(unsigned index) {
        if (index == 0) own();
        else help(index - 1);
    }

    void own() {
        for (int number = 1; number <= tasks; ++number) {
            auto* record = ring.reserve();
            for (; !record; record = ring.reserve()) model::idle();
            record->payload.argument.write(number);
            model::require(ring.append() == static_cast<std::uint64_t>(number), "tasks are numbered in order");
        }
        while (!ring.drained()) model::idle();
        for (int number = 1; number <= tasks; ++number)
            model::require(output[number].read() == -number, "a drained ring shows what every task wrote");
        model::require(ring.known_empty(), "a drained ring knows that it is empty");
        finished.store(1, std::memory_order_relaxed);  // relaxed: it must not hide an order that the ring lacks
    }

    void help(std::uint32_t claimant) {
        while (finished.load(std::memory_order_relaxed) == 0) {
            const auto claim = ring.claim(most, share, least);
            if (claim.count == 0) {
                model::idle();
                continue;
            }
            model::require(claim.count <= most, "no more is claimed than was asked for");
            for (std::uint32_t i = 0; i < claim.count; ++i) {
                const auto number = claim.first + i;
                const int argument = ring.record(number).payload.argument.read();
                model::require(argument == static_cast<int>(number),
                               "a claimed task is the one appended under its number");
                model::require(++runs[number] == 1, "a task is claimed once");
                output[number].write(-argument);
                ring.complete(number);
            }
            ring.complete_claim(claim, claimant);
        }
    }

    void after() {
        for (int number = 1; number <= tasks; ++number) model::require(runs[number] == 1, "no task is lost");
    }
};

/// A third party waits for one task by its number alone while the ring goes on over its slot.
template <int tasks, std::uint32_t capacity, class Weakening = model::AsShipped>
struct WaitByNumberModel : rl::test_suite<WaitByNumberModel<tasks, capacity, Weakening>, 3> {
    using Ring = penstock::PendingRing<Payload, model::Atomics<Weakening>>;

    typename Ring::RecordType slots[capacity];
    typename Ring::DoneType done[capacity];
    typename Ring::CompletedType completed[1];
    typename Ring::ReturnedType returned[1];
    Ring ring{slots, done, capacity, completed, 1, returned};
    model::Plain<int> output;  ///< what task 1 writes

    void thread(unsigned index) {
        if (index == 0) {
            for (int number = 1; number <= tasks; ++number) {
                auto* record = ring.reserve();
                for (; !record; record = ring.reserve()) model::idle();
                record->payload.argument.write(number);
                ring.append();
            }
        } else if (index == 1) {
            for (int left = tasks; left != 0;) {
                const auto claim = ring.claim(2, 1);
                if (claim.count == 0) model::idle();
                for (auto number = claim.first; number < claim.first + claim.count; ++number, --left) {
                    if (ring.record(number).payload.argument.read() == 1) output.write(42);
                    ring.complete(number);
                }
                if (claim.count != 0) ring.complete_claim(claim, 0);
            }
        } else {
            while (!ring.completed(1)) model::idle();
            model::require(output.read() == 42, "a completed task shows what it wrote");
        }
    }
};

/// A claimant that gives back all of a claim but its first task, beside one that takes `wanted` alone before it claims
/// anything else.
template <int tasks, std::uint32_t capacity, int wanted, class Weakening = model::AsShipped>
struct ReturnModel : rl::test_suite<ReturnModel<tasks, capacity, wanted, Weakening>, 3> {
    using Ring = penstock::PendingRing<Payload, model::Atomics<Weakening>>;

    typename Ring::RecordType slots[capacity];
    typename Ring::DoneType done[capacity];
    typename Ring::CompletedType completed[3];
    typename Ring::ReturnedType returned[1];
    Ring ring{slots, done, capacity, completed, 3, returned};
    model::Plain<int> output[tasks + 1];
    model::Atomic<std::uint32_t, model::AsShipped> finished{0};
    int runs[tasks + 1] = {};

    void thread(unsigned index) {
        if (index == 0) own();
        else if (index == 1) give_back();
        else take_exactly();
    }
    void own() {
        for (int number = 1; number <= tasks; ++number) {
            auto* record = ring.reserve();
            for (; !record; record = ring.reserve()) model::idle();
            record->payload.argument.write(number);
            ring.append();
        }
        while (!ring.drained()) model::idle();
        for (int number = 1; number <= tasks; ++number)
            model::require(output[number].read() == -number, "a drained ring shows what every task wrote");
        finished.store(1, std::memory_order_relaxed);
    }
    void run(typename Ring::Claim claim, std::uint32_t claimant) {
        if (claim.count == 0) return model::idle();
        const int argument = ring.record(claim.first).payload.argument.read();
        model::require(argument == static_cast<int>(claim.first),
                       "a claimed task is the one appended under its number");
        model::require(++runs[argument] == 1, "a task is claimed once");
        output[argument].write(-argument);
        ring.complete(claim.first);
        ring.complete_claim({claim.first, 1}, claimant);
    }
    void give_back() {
        while (finished.load(std::memory_order_relaxed) == 0) {
            const auto claim = ring.claim(3, 1);
            if (claim.count > 1) ring.give_back(claim.first + 1, claim.first + claim.count);
            run(claim, 0);
        }
    }
    void take_exactly() {
        while (!ring.completed(wanted)) {
            const auto claim = ring.claim_exactly(wanted);
            model::require(claim.count == 0 || claim.first == wanted, "the task that was asked for");
            run(claim, 2);  // counted together with others, if there were any
        }
        while (finished.load(std::memory_order_relaxed) == 0) run(ring.claim(1, 1), 1);
    }
    void after() {
        for (int number = 1; number <= tasks; ++number) model::require(runs[number] == 1, "no task is lost");
    }
};

/// Two tasks in every execution with one forced switch, all `tasks` in many drawn ones.
template <int tasks, std::uint32_t capacity, std::uint32_t most, std::uint32_t share, std::uint32_t least = 1>
void expect_ring_holds() {
    model::expect_holds<PendingModel<2, 1, most, share, model::AsShipped, least>>(Search::few_switches, 1);
    model::expect_holds<PendingModel<tasks, capacity, most, share, model::AsShipped, least>>(Search::random_schedules,
                                                                                             40'000);
}

TEST(PendingModel, two_claimants_share_a_ring_that_wraps) { expect_ring_holds<6, 2, 1, 1>(); }
TEST(PendingModel, claims_of_several_tasks_never_overlap) { expect_ring_holds<8, 4, 4, 1>(); }
TEST(PendingModel, claims_of_a_share_never_overlap) { expect_ring_holds<8, 4, 2, 2>(); }
TEST(PendingModel, claims_of_more_than_a_share_never_overlap) { expect_ring_holds<8, 4, 3, 4, 2>(); }
TEST(PendingModel, a_look_past_the_ring_claims_nothing_twice) { expect_ring_holds<6, 2, 4, 2>(); }
TEST(PendingModel, a_task_is_awaited_by_its_number) {
    model::expect_holds<WaitByNumberModel<4, 2>>(Search::random_schedules, 60'000);
}

TEST(PendingModel, what_is_given_back_is_run_once) {
    model::expect_holds<ReturnModel<2, 2, 2>>(Search::few_switches, 1);
    model::expect_holds<ReturnModel<6, 4, 3>>(Search::random_schedules, 40'000);
    model::expect_holds<ReturnModel<8, 4, 7>>(Search::random_schedules, 40'000);
}
TEST(PendingModel, taking_what_was_given_back_without_acquire_is_found) {
    // The number in the slot may then be an older one, and the task is lost: nobody comes to an end.
    model::expect_finds<ReturnModel<6, 4, 3, model::Relaxing<"::take_returned(">>>(rl::test_result_livelock);
}

TEST(PendingModel, taking_one_task_without_acquire_is_found) {
    model::expect_finds<ReturnModel<6, 4, 3, model::Relaxing<"::claim_exactly(">>>(rl::test_result_data_race);
}

template <model::Name function>
using Weakened = PendingModel<4, 2, 2, 1, model::Relaxing<function>>;

TEST(PendingModel, appending_without_release_is_found) {
    model::expect_finds<Weakened<"::append(">>(rl::test_result_data_race);
}
TEST(PendingModel, claiming_without_acquire_is_found) {
    model::expect_finds<Weakened<"::claim(">>(rl::test_result_data_race);
}
TEST(PendingModel, completing_without_release_is_found) {
    model::expect_finds<Weakened<"::complete_claim(">>(rl::test_result_data_race);
}
TEST(PendingModel, draining_without_acquire_is_found) {
    model::expect_finds<Weakened<"::drained(">>(rl::test_result_data_race);
}
TEST(PendingModel, reusing_a_slot_without_acquire_is_found) {
    model::expect_finds<Weakened<"::completed(">>(rl::test_result_data_race);
}
TEST(PendingModel, waiting_by_number_without_acquire_is_found) {
    model::expect_finds<WaitByNumberModel<3, 2, model::Relaxing<"::completed(">>>(rl::test_result_data_race);
}

}  // namespace
