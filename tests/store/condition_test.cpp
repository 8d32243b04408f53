// A condition with one partner: every notification reaches it, however often one was sent before.
#include "penstock/condition.hpp"

#include <mutex>

#include "penstock/flag.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using penstock::Condition;
using penstock::Counter;
using penstock::CounterOperations;
using penstock::Mutex;
using penstock::RemoteCounter;

class ConditionTest : public TeamTest {};

/// Rank 1 fills a slot, rank 0 empties it; each waits for the other by notify_one alone.
TEST_P(ConditionTest, notify_one_reaches_the_only_other_rank_every_time) {
    constexpr std::uint64_t rounds = 20;
    run(2, [](Rank me) {
        Mutex mutex(me, "mutex");
        Condition changed(me, "changed");
        const auto take_turns = [&](CounterOperations& slot, bool mine_is_full, std::uint64_t then) {
            for (std::uint64_t i = 1; i <= rounds; ++i) {
                {
                    std::unique_lock lock(mutex);
                    changed.wait(lock, [&] { return (slot.load() != 0) == mine_is_full; });
                    require(!mine_is_full || slot.load() == i, "numbers come in order");
                    slot.store(then == 0 ? 0 : i);
                }
                changed.notify_one();
            }
        };
        if (me.index() == 0) {
            Counter slot(me, "slot");
            slot.grant(1);
            take_turns(slot, true, 0);
        } else {
            auto slot = RemoteCounter::accept(me, 0, "slot");
            take_turns(slot, false, 1);
        }
    });
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(ConditionTest);

}  // namespace
