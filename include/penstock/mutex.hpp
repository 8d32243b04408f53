// store layer: a mutex of a team, a queue lock (queue_lock.hpp) with the death of its members told to the others.
#pragma once

#include <string_view>
#include <vector>

#include "penstock/detail/store/queue_lock.hpp"
#include "penstock/rank.hpp"

namespace penstock {

namespace team {

/// What all ranks of a team have of one object: a part at each of them, mapped by all. Each part is constructed before
/// anybody is granted it, by being all zeroes.
template <class Part>
class Parts {
  public:
    /// Throws as Rank::exchange.
    Parts(Rank me, std::string_view name, std::uint64_t kind) : memory_(me.exchange(name, sizeof(Part), kind)) {}
    Part& operator[](int rank) const noexcept {
        return *reinterpret_cast<Part*>(memory_[static_cast<std::size_t>(rank)].data());
    }

  private:
    std::vector<RankMemory> memory_;
};

}  // namespace team

/// A mutex of all ranks of a team. Whoever finds it free takes it; the first that waits is passed over for about 30
/// microseconds at most, and those who wait are served in the order in which they asked. Made by all of them together,
/// under one name; used by one thread of each rank; `std::unique_lock` and `std::lock_guard` take it.
///
/// When a rank dies (or leaves) while it holds the mutex, the mutex is broken for good: lock() throws RankDied (or
/// RankLeft) in all others, within about 20 ms, and what the dead one was changing is as it left it. When it dies while
/// it waits, lock() throws in all that wait too, then and later; who finds the mutex free may still take it, for what
/// it guards is whole. A rank that dies outside harms nobody. Make new state and a new mutex to go on.
class Mutex {
  public:
    /// Throws as Rank::exchange.
    Mutex(Rank me, std::string_view name);
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    /// Throws RankDied or RankLeft when the mutex is broken, UsageError when this rank holds it already.
    void lock();
    /// False when somebody holds it. Throws UsageError when this rank does. A broken mutex is never free.
    bool try_lock();
    /// Throws UsageError when this rank does not hold it.
    void unlock();

  private:
    friend class Condition;
    /// Each rank's part. The head of rank 0 is the one that is used.
    struct Part {
        QueueNode<> node;
        QueueHead<> head;
    };

    /// A rank that is gone and was in the queue, or -1. The dead before those that left.
    int broken_by() const;

    Rank me_;
    team::Parts<Part> parts_;
    std::vector<QueueNode<>*> nodes_;
    QueueLock<> queue_;
    bool held_ = false;
    bool lost_ = false;  ///< this rank is in the queue of a broken mutex and stays there
};

}  // namespace penstock
