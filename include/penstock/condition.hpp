// store layer: a condition variable of a team; each waiter spins on a word of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "penstock/mutex.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// A condition of all ranks of a team, used with one Mutex. Made by all of them together, under one name; used by one
/// thread of each rank. Whoever notifies need not hold the mutex, but what the condition speaks of must be changed
/// under it.
///
/// Happens-before: through the mutex, as with std::condition_variable. A waiter announces itself before it unlocks, so
/// a notification by whoever locks next cannot miss it.
class Condition {
  public:
    /// Throws as Rank::exchange.
    Condition(Rank me, std::string_view name);
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    /// Unlocks, waits for a notification, locks again. Throws RankDied or RankLeft when somebody died or failed
    /// meanwhile (it may have been the one to notify) or all others have left; `lock` is not held then.
    void wait(std::unique_lock<Mutex>& lock);
    /// Waits until `holds()`, which is asked with the mutex held.
    template <class Holds>
    void wait(std::unique_lock<Mutex>& lock, Holds&& holds) {
        while (!holds()) wait(lock);
    }

    /// Wakes one waiter, if there is one; each in turn. Costs a look at each rank's word until one is found.
    void notify_one();
    /// Wakes all ranks that wait.
    void notify_all();

  private:
    struct alignas(128) Word {
        std::atomic<std::uint32_t> waiting{0};  ///< own rank: 1 while it waits; who notifies: 0
    };

    bool notify(int rank);

    Rank me_;
    team::Parts<Word> words_;
    int turn_;
};

}  // namespace penstock
