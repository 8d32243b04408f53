// The shipped ClaimRing: an issuer that fills slots again and again, two workers that race for what lies in them.
#include "../../src/python/workers/claim_ring.hpp"
#include "model.hpp"

namespace {

using model::Search;
namespace python = penstock::python;

/// Slots as a board has them: a state word and a payload each.
template <std::uint32_t capacity, class Weakening>
struct Slots {
    model::Atomic<std::uint64_t, Weakening> states[capacity];
    model::Plain<int> arguments[capacity];
    model::Plain<int> results[capacity];

    auto& state(std::uint32_t slot) { return states[slot]; }
    static constexpr std::uint32_t count() { return capacity; }
};

template <int tasks, std::uint32_t capacity, class Weakening = model::AsShipped>
struct ClaimModel : rl::test_suite<ClaimModel<tasks, capacity, Weakening>, 3> {
    using Board = Slots<capacity, Weakening>;
    using Ring = python::ClaimRing<Board, model::Atomics<Weakening>>;

    Board board;
    typename Ring::Word published{0}, reached{0}, entries[capacity];
    Ring ring{&published, &reached, entries, capacity};
    model::Atomic<std::uint32_t, model::AsShipped> finished{0};
    int runs[tasks + 1] = {};

    void thread(unsigned index) {
        if (index == 0) issue();
        else work(index);
    }

    void issue() {
        std::uint64_t in_slot[capacity] = {};
        for (int number = 1; number <= tasks; ++number) {
            std::uint32_t slot = 0;
            while (!(free(in_slot, slot) && ring.has_room())) {
                slot = (slot + 1) % capacity;
                model::idle();
            }
            board.arguments[slot].write(number);
            in_slot[slot] = static_cast<std::uint64_t>(number);
            ring.publish(board, slot, in_slot[slot]);
        }
        for (std::uint32_t slot = 0; slot < capacity; ++slot)
            while (!free(in_slot, slot)) model::idle();
        finished.store(1, std::memory_order_relaxed);  // relaxed: it must not hide an order that the ring lacks
    }

    bool free(std::uint64_t (&in_slot)[capacity], std::uint32_t slot) {
        if (in_slot[slot] == 0) return true;
        if (!python::completed(board, {in_slot[slot], slot})) return false;
        model::require(board.results[slot].read() == -static_cast<int>(in_slot[slot]),
                       "a completed task shows its result");
        in_slot[slot] = 0;
        return true;
    }

    void work(unsigned worker) {
        while (finished.load(std::memory_order_relaxed) == 0) {
            const auto claim = ring.claim(board, worker);
            if (!claim) {
                model::idle();
                continue;
            }
            const int argument = board.arguments[claim->slot].read();
            model::require(argument == static_cast<int>(claim->number),
                           "a claimed task has the arguments of its number");
            model::require(++runs[argument] == 1, "a task is claimed once");
            board.results[claim->slot].write(-argument);
            python::complete(board, *claim, worker);
        }
    }

    void after() {
        for (int number = 1; number <= tasks; ++number) model::require(runs[number] == 1, "no task is lost");
    }
};

TEST(ClaimModel, two_workers_share_a_ring_that_wraps) {
    model::expect_holds<ClaimModel<2, 1>>(Search::few_switches, 1);
    model::expect_holds<ClaimModel<5, 2>>(Search::random_schedules, 30'000);
}
TEST(ClaimModel, publishing_without_release_is_found) {
    model::expect_finds<ClaimModel<4, 2, model::Relaxing<"::publish(">>>(rl::test_result_data_race);
}
TEST(ClaimModel, claiming_without_acquire_is_found) {
    model::expect_finds<ClaimModel<4, 2, model::Relaxing<"::claim(">>>(rl::test_result_data_race);
}
TEST(ClaimModel, completing_without_release_is_found) {
    model::expect_finds<ClaimModel<4, 2, model::Relaxing<"::complete(">>>(rl::test_result_data_race);
}
TEST(ClaimModel, looking_for_completion_without_acquire_is_found) {
    model::expect_finds<ClaimModel<4, 2, model::Relaxing<"::completed(">>>(rl::test_result_data_race);
}

}  // namespace
