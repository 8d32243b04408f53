#include "penstock/mutex.hpp"

#include "store/parts.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kind = 0x5854554d;  // "MUTX"

}  // namespace

Mutex::Mutex(Rank me, std::string_view name)
    : me_(me), memory_(me.exchange(name, sizeof(Part), kind)), parts_(parts_in<Part>(memory_)) {
    for (auto* part : parts_) nodes_.push_back(&part->node);
    queue_ = QueueLock<>(&parts_.front()->tail, nodes_.data(), me.index());
}

void Mutex::lock() {
    if (held_) throw UsageError("this rank holds the mutex already, so locking it again would never end");
    if (lost_) {  // it stands in the queue since the mutex broke
        if (const int by = broken_by(); by >= 0) me_.throw_lost(by);
    }
    lost_ = true;
    queue_.lock([this](auto&& poll) { me_.wait_unless(poll, [this] { return broken_by(); }); });
    lost_ = false;
    held_ = true;
}

bool Mutex::try_lock() {
    if (held_) throw UsageError("this rank holds the mutex already");
    if (lost_) return false;
    return held_ = queue_.try_lock();
}

void Mutex::unlock() {
    if (!held_) throw UsageError("this rank does not hold the mutex that it unlocks");
    held_ = false;
    queue_.unlock(
        [this](auto&& poll) {
            // A successor that died between two instructions never shows itself: the others find the mutex broken.
            bool shown = false;
            try {
                me_.wait_unless([&] { return shown = poll(); }, [this] { return broken_by(); });
            } catch (const RankLost&) {
                lost_ = true;
            }
            return shown;
        },
        [this](int next) { me_.ring(next); });
}

int Mutex::broken_by() const {
    int left = -1;
    for (int rank = 0; rank < me_.size(); ++rank) {
        if (rank == me_.index() || !me_.gone(rank)) continue;
        if (parts_[static_cast<std::size_t>(rank)]->node.queued.load(std::memory_order_acquire) == 0) continue;
        if (me_.dead(rank)) return rank;
        if (left < 0) left = rank;
    }
    return left;
}

}  // namespace penstock
