#include "penstock/condition.hpp"

#include "store/team/team.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t condition_kind = 0x444e4f43;  // "COND"

}  // namespace

Condition::Condition(Rank me, std::string_view name)
    : me_(team::on_one_node(me, "a Condition")), words_(me, name, condition_kind), turn_(me.index()) {}

void Condition::wait(std::unique_lock<Mutex>& lock) {
    auto& own = words_[me_.index()].waiting;
    own.store(1, std::memory_order_relaxed);  // published by the unlocking
    lock.unlock();
    try {
        me_.wait([&] { return own.load(std::memory_order_acquire) == 0; }, Awaited::anybody());
    } catch (...) {
        own.store(0, std::memory_order_relaxed);
        throw;
    }
    lock.lock();
}

bool Condition::notify(int rank) {
    auto& waiting = words_[rank].waiting;
    std::uint32_t expected = 1;
    if (waiting.load(std::memory_order_relaxed) == 0 ||
        !waiting.compare_exchange_strong(expected, 0, std::memory_order_acq_rel))
        return false;
    me_.wake(rank);
    return true;
}

void Condition::notify_one() {
    for (int step = 0; step < me_.size(); ++step) {
        turn_ = (turn_ + 1) % me_.size();
        if (turn_ != me_.index() && !me_.gone(turn_) && notify(turn_)) return;
    }
}

void Condition::notify_all() {
    for (int rank = 0; rank < me_.size(); ++rank)
        if (rank != me_.index()) notify(rank);
}

}  // namespace penstock
