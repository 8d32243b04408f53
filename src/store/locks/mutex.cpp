#include "penstock/mutex.hpp"

#include "store/team/team.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t mutex_kind = 0x5854554d;  // "MUTX"

/// How long the first waiter lets the owner come back. Long against handing over (some ways of a line, up to 2 us),
/// short against sleeping. Each look takes the line away from the owner, so they become rare soon.
constexpr double patience = 30'000;  // ns
constexpr int longest_pause = 7;     // 2 to this power breaths between two looks

}  // namespace

Mutex::Mutex(Rank me, std::string_view name) : me_(team::on_one_node(me, "a Mutex")), parts_(me, name, mutex_kind) {
    for (int rank = 0; rank < me.size(); ++rank) nodes_.push_back(&parts_[rank].node);
    queue_ = QueueLock<>(&parts_[0].head, nodes_.data(), me.index(), me.size());
}

void Mutex::lock() {
    if (held_) throw UsageError("this rank holds the mutex already, so locking it again would never end");
    if (lost_) {  // it stands in the queue since the mutex broke
        if (const int by = broken_by(); by >= 0) me_.throw_lost(by);
    }
    lost_ = true;
    Clock::Ticks begin = 0;
    queue_.lock(
        [&begin](int looks) {
            if (looks == 1) begin = Clock::ticks();
            for (int breath = 0; breath < 1 << std::min(looks, longest_pause); ++breath) relax();
            return Clock::nanoseconds(Clock::ticks() - begin) < patience;
        },
        [this](auto&& poll) { me_.wait_unless(poll, [this] { return broken_by(); }); },
        [this](int next) { me_.wake(next); });
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
    queue_.unlock([this](int next) { me_.wake(next); });
}

int Mutex::broken_by() const {
    int left = -1;
    for (int rank = 0; rank < me_.size(); ++rank) {
        if (rank == me_.index() || !me_.gone(rank)) continue;
        if (parts_[rank].node.queued.load(std::memory_order_acquire) == 0) continue;
        if (me_.dead(rank)) return rank;
        if (left < 0) left = rank;
    }
    return left;
}

}  // namespace penstock
