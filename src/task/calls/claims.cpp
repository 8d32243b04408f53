// What a runner claims from a deque: it runs the tasks one by one, fetches the arguments of those behind, and lets
// others have what it has not begun.
#include <algorithm>
#include <utility>

#include "penstock/detail/machine/clock.hpp"
#include "task/calls/running.hpp"
#include "task/calls/target.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {

/// Asks for the arguments of tasks of a claim, and, during its last task, claims on and asks for those of the first one
/// of the next claim: else one task of each would find nothing near.
class Runner::ClaimAhead final : public FetchAhead {
  public:
    ClaimAhead(Runner& runner, Ring& ring, OpenClaim<Ring>* open, Claim claim, const ClaimSize& size) noexcept
        : end(claim.first + claim.count), runner_(runner), ring_(ring), open_(open), size_(size),
          fetched_(claim.first) {}
    void look_behind(std::uint64_t number) noexcept {
        number_ = number;
        runner_.fetch_behind(ring_.pending().record(number).payload, *this);
    }
    void fetch_ahead() noexcept override {
        if (number_ + 1 < end) end = runner_.look_ahead(ring_, *open_, number_, fetched_, end);
        else if (next.count == 0 && size_.goes_on && claims_ < most_claims &&
                 runner_.may_claim_on(ring_, ring_.pending().record(number_).payload.entry))
            claim_on();
    }

    std::uint64_t end;  ///< of the claim, which others may shorten
    Claim next;         ///< the one behind it, open in its place; empty: none

  private:
    static constexpr int most_claims = 4;  ///< before the thread looks at whatever else it serves

    /// Of the claim that ends nothing is left that others could take.
    void claim_on() noexcept {
        next = size_.claim(ring_);
        if (next.count == 0) return;
        ++claims_;
        ring_.pending().fetch(next);
        open_->close();
        open_->open(ring_, next.first, next.first + next.count);
        runner_.prefetch(ring_, next.first);
        fetched_ = next.first;
        open_->announce_again(next.first - 1);
    }

    Runner& runner_;
    Ring& ring_;
    OpenClaim<Ring>* open_;
    const ClaimSize& size_;
    std::uint64_t number_ = 0, fetched_;
    int claims_ = 1;
};

/// Its arguments would be fetched, more waits than the others will ask for soon, others could take what is claimed, and
/// nothing that this thread alone can do waits. The deque is looked at before the lanes: these then show all that was
/// issued before.
bool Runner::may_claim_on(Ring& ring, std::uint32_t entry) noexcept {
    return depth_ == 1 && can_take_ && !ring.urgent && prefetcher_.fetches(entry_of(entry), entry) &&
           ring.pending().unclaimed() > core_.workers() && !named_.inviting() &&
           (self_.notices() == nullptr || !self_.notices()->mail()) &&
           (target_ < 0 || !core_.target(target_).has_mail());
}

void Runner::run_claimed(Ring& ring, Claim claim, trace::Counter& ran, const ClaimSize& size) noexcept {
    auto& pending = ring.pending();
    OpenClaim<Ring>* open = nullptr;
    bool looks = false;
    if (claim.count > 1) {
        open = open_claim(ring, claim);
        pending.fetch(claim);
        const auto first = pending.record(claim.first).payload.entry;
        if (!looks_ahead_) looks_ahead_ = prefetcher_.may_pay(entry_of(first));
        looks = looks_ahead_ && open != nullptr && !prefetcher_.passes_over(first, claim.count - 1);
    }
    std::uint64_t number = claim.first;
    ClaimAhead ahead(*this, ring, open, claim, size);
    {
        Inside inside(*this, &ring, number);
        for (;;) {
            if (looks) ahead.look_behind(number);
            const auto notice =
                run_one(ring, pending.record(number).payload, &ring.extensions()[pending.slot(number)], number);
            if (looks) forget_behind();
            pending.complete(number);
            if (notice != 0) [[unlikely]]
                notify(ring, notice);
            penstock::wake_at(ring.owner_bell());
            const bool goes_on = ++number == ahead.end;
            if (goes_on && ahead.next.count == 0) break;
            if (core_.board().urgent.load(std::memory_order_relaxed) != 0 && must_give_way(ring)) [[unlikely]] {
                give_back(open->withdraw(waiting::yield));
                break;
            }
            const auto coming = goes_on ? ahead.next.first : number;
            auto end = goes_on ? coming + ahead.next.count : ahead.end;
            open->announce(coming);
            if (!open->unchanged()) [[unlikely]] {
                end = open->settle(waiting::yield);
                if (coming >= end) break;
            }
            if (goes_on) {  // one of this ring is outstanding still: nobody's barrier ends here
                end_claim(ring, claim.first, number, ran);
                claim = std::exchange(ahead.next, {});
                number = coming;
            }
            ahead.end = end;
            inside.task.number = number;
        }
    }
    if (open != nullptr) close_claim();
    end_claim(ring, claim.first, number, ran);
}

/// The tasks from `first` on, up to before `end`, have run: counted, once for all of them.
void Runner::end_claim(Ring& ring, std::uint64_t first, std::uint64_t end, trace::Counter& ran) noexcept {
    if (ring.cancels()) [[unlikely]]
        ring.forget_cancellations(first - 1, end - 1);  // asked for too late
    const auto count = static_cast<std::uint32_t>(end - first);
    ran.add(count);
    counters_.tasks.add_release(count);
    ring.pending().complete_claim({first, count}, claimant_in(ring));
    penstock::wake_at(ring.owner_bell());
}

/// Where there is no room for one more that others can take from, only its first task is kept.
OpenClaim<Ring>* Runner::open_claim(Ring& ring, Claim& claim) noexcept {
    const auto level = open_claims_.load(std::memory_order_relaxed);
    if (level == most_open_claims) [[unlikely]] {
        ring.pending().give_back(claim.first + 1, claim.first + claim.count);
        core_.tell_of_returned(ring, std::exchange(claim.count, 1) - 1);
        return nullptr;
    }
    open_[level].claim.open(ring, claim.first, claim.first + claim.count);
    open_claims_.store(level + 1, std::memory_order_release);
    return &open_[level].claim;
}

/// Fetches the arguments of those that come next. Nobody may take (and run, and end) a task whose record is looked at,
/// so each is announced as if it began. Returns the end of the claim.
std::uint64_t Runner::look_ahead(Ring& ring, OpenClaim<Ring>& open, std::uint64_t number, std::uint64_t& fetched,
                                 std::uint64_t end) noexcept {
    for (fetched = std::max(fetched, number); fetched + 1 < end && fetched < number + ahead(); ++fetched) {
        open.announce(fetched + 1);
        if (!open.unchanged()) [[unlikely]] {
            end = open.settle(waiting::yield);
            if (fetched + 1 >= end) break;
        }
        prefetch(ring, fetched + 1);
    }
    open.announce_again(number);
    return end;
}

void Runner::close_claim() noexcept {
    const auto level = open_claims_.load(std::memory_order_relaxed) - 1;
    open_[level].claim.close();
    open_claims_.store(level, std::memory_order_relaxed);
}

void Runner::give_back(const OpenClaim<Ring>::Rest& rest) noexcept {
    if (rest.empty()) return;
    rest.where->pending().give_back(rest.first, rest.end);
    core_.tell_of_returned(*rest.where, static_cast<std::uint32_t>(rest.end - rest.first));
}

void Runner::give_back_all() noexcept {
    for (std::uint32_t level = open_claims_.load(std::memory_order_relaxed); level-- > 0;)
        give_back(open_[level].claim.withdraw(waiting::yield));
}

void Runner::give_back_if_held_up(const Initiator& taker) noexcept {
    const auto levels = open_claims_.load(std::memory_order_acquire);
    if (levels == 0 || !can_take_) return;
    for (std::uint32_t level = 0; level < levels; ++level) {
        auto& [claim, seen, since] = open_[level];
        const auto next = claim.next();
        if (next == 0) continue;
        const auto now = Clock::ticks();
        const auto task = next ^ static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(claim.where())) << 16;
        if (seen.load(std::memory_order_acquire) != task) {
            since.store(now, std::memory_order_relaxed);
            seen.store(task, std::memory_order_release);
        } else if (Clock::nanoseconds(now - since.load(std::memory_order_relaxed)) > held_up_after) {
            give_back(claim.take(&taker, waiting::process_wide_barrier));
        }
    }
}

/// Between two tasks of a claim, outside of waits: is there a task of high priority that may run here?
bool Runner::must_give_way(const Ring& ring) const noexcept {
    if (ring.urgent || depth_ != 1) return false;
    if (target_ < 0) return self_.deque().inviting(target_, Deque::Look::urgent) != nullptr;
    bool waits = false;
    core_.each_initiator(
        [&](Initiator& other) { waits = waits || other.deque().inviting(target_, Deque::Look::urgent) != nullptr; });
    return waits;
}

}  // namespace penstock
