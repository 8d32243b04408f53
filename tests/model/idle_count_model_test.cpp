// The shipped IdleCount: a thread that puts something into a stack, and one that is about to sleep.
#include "model.hpp"
#include "stream/run/idle_count.hpp"

namespace {

using model::Search;

template <class Weakening = model::AsShipped>
struct IdleModel : rl::test_suite<IdleModel<Weakening>, 2> {
    penstock::streaming::IdleCount<model::Atomics<Weakening>> idle;
    model::Atomic<int, model::AsShipped> there{0};  ///< as ReadyStack's size
    bool told = false, sleeps = false;

    void thread(unsigned index) {
        if (index == 0) {
            there.store(1, std::memory_order_seq_cst);
            told = idle.any();
            return;
        }
        idle.enter();
        sleeps = there.load(std::memory_order_seq_cst) == 0;
        if (!sleeps) idle.leave();
    }
    void after() { model::require(told || !sleeps, "nobody sleeps untold while something is there"); }
};

TEST(IdleCountModel, nobody_sleeps_untold) { model::expect_holds<IdleModel<>>(Search::few_switches, 3); }

template <model::Name function>
using Weakened = IdleModel<model::Relaxing<function>>;

TEST(IdleCountModel, a_look_at_the_count_that_may_be_early_is_found) {
    model::expect_finds<Weakened<"::any(">>(rl::test_result_user_assert_failed);
}
TEST(IdleCountModel, a_count_that_may_be_late_is_found) {
    model::expect_finds<Weakened<"::enter(">>(rl::test_result_user_assert_failed);
}

}  // namespace
