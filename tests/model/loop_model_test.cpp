// The shipped Offer and Share: each piece of a loop runs once, and a target that begins late touches nothing of a loop
// that is gone.
#include "model.hpp"
#include "task/calls/loop_shares.hpp"

namespace {

using model::Search;
using penstock::loop::Range;

/// Two loops one after the other ask in one record, the second only where the first took back what it had asked for;
/// the target comes by once, at any time.
template <class Weakening = model::AsShipped>
struct OfferModel : rl::test_suite<OfferModel<Weakening>, 2> {
    struct Loop {
        model::Plain<int> body;  ///< what the target must find written
        int ran = 0;
    };
    Loop loops[2];
    penstock::loop::Winner<model::Atomics<Weakening>> winner;
    penstock::loop::Offer<Loop, model::Atomics<Weakening>> offer;
    model::Atomic<int, model::AsShipped> done{0};

    void thread(unsigned index) {
        if (index == 0) return call();
        if (Loop* const loop = offer.begin(winner)) {
            loop->body.write(loop->body.read() + 1);
            ++loop->ran;
        }
        done.store(1, std::memory_order_release);
    }
    void call() {
        std::uint64_t number = 0;
        for (Loop& loop : loops) {
            loop.body.write(1);
            offer.make(loop, ++number);
            if (winner.win(number, false)) {
                ++loop.ran;
                loop.body.write(3);  // the loop may be gone
                continue;
            }
            while (done.load(std::memory_order_acquire) == 0) model::idle();
            model::require(loop.body.read() == 2, "what the target wrote has come");
            return;
        }
    }
    void after() {
        model::require(loops[0].ran == 1, "the first loop is run here or there");
        model::require(loops[1].ran <= 1, "the second loop is run at most once");
    }
};

TEST(LoopModel, what_is_asked_for_runs_once_here_or_there) {
    model::expect_holds<OfferModel<>>(Search::few_switches, 4);
}

/// Two threads with a share each, which take from their own and then from the other's.
template <class Weakening = model::AsShipped>
struct ShareModel : rl::test_suite<ShareModel<Weakening>, 2> {
    static constexpr std::uint32_t pieces = 4;
    penstock::loop::Share<model::Atomics<Weakening>> shares[2];
    int runs[pieces] = {};

    void before() {
        shares[0].give({0, 2});
        shares[1].give({2, 4});
    }
    void thread(unsigned index) {
        do {
            for (;;) {
                const Range taken = shares[index].take([](std::uint32_t) { return 1U; });
                if (taken.size() == 0) break;
                ++runs[taken.first];
            }
        } while (steal(index));
    }
    bool steal(unsigned index) {
        const Range stolen = shares[1 - index].steal();
        if (stolen.size() != 0) shares[index].give(stolen);
        return stolen.size() != 0;
    }
    void after() {
        for (const int count : runs) model::require(count == 1, "a piece runs once");
    }
};

TEST(LoopModel, each_piece_of_a_share_runs_once_whoever_steals) {
    model::expect_holds<ShareModel<>>(Search::few_switches, 3);
}

template <model::Name function>
using Weakened = OfferModel<model::Relaxing<function>>;

TEST(LoopModel, an_offer_whose_loop_may_come_late_is_found) {
    model::expect_finds<Weakened<"::make(">>(rl::test_result_data_race);
}
TEST(LoopModel, a_begin_that_may_be_early_is_found) {
    model::expect_finds<Weakened<"::begin(">>(rl::test_result_data_race);
}

}  // namespace
