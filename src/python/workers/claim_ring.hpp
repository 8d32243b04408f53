// Tasks that several worker processes claim from one ring, in memory that they share with the process that issues.
//
// A task lies in a slot; a ring holds references to slots in the order in which they were published. Who is free claims
// the next by one compare-and-swap on the slot's own state word, and that word then names the claimant. So whichever
// instruction a worker is killed at, each slot says exactly whose it is: a death loses the one task that it ran, and
// nothing has to be sent again.
//
// Happens-before.
//   publish   payload -> state.store(ready) -> entry.store -> published.store -> published.load by a worker ->
//             entry.load -> the claiming exchange, which acquires what the store of `ready` released -> payload
//   complete  results -> state.store(done) -> state.load by whoever waits -> results
//   reuse     a slot is filled again only after its completion was seen, by the one issuer (a lock guards that side)
// `reached` is a hint: where the search begins. It may lag behind, be lost with a worker, or go back; entries that are
// claimed already are stepped over. An entry that was overwritten a lap later names another task of the same ring,
// which may be claimed just as well, so it need not be told apart.
//
// Sleeping: publication and completion are sequentially consistent, and so are the sleepers' count and its look at them
// (shared_event.hpp), so of a publisher and a sleeper at least one sees the other. A task in Python takes a
// microsecond; the two full exchanges that this costs are a twentieth of it.
#pragma once

#include <optional>

#include "penstock/detail/channel/channel.hpp"

namespace penstock::python {

/// What a slot is in. The word of a slot: number of the task (52 bits), phase (3), worker (9).
enum class Phase : std::uint64_t { free, ready, claimed, done, cancelled };

namespace slot_word {

inline constexpr std::uint64_t most_workers = 256;

constexpr std::uint64_t of(std::uint64_t number, Phase phase, std::uint64_t worker = 0) noexcept {
    return number << 12 | static_cast<std::uint64_t>(phase) << 9 | worker;
}
constexpr std::uint64_t number(std::uint64_t word) noexcept { return word >> 12; }
constexpr Phase phase(std::uint64_t word) noexcept { return static_cast<Phase>(word >> 9 & 7); }
constexpr std::uint64_t worker(std::uint64_t word) noexcept { return word & 511; }

}  // namespace slot_word

/// A task that was claimed.
struct Claim {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
};

/// Worker: the task has ended, and all that it wrote is to be seen.
template <class Slots>
void complete(Slots& slots, const Claim& claim, std::uint64_t worker) noexcept {
    slots.state(claim.slot).store(slot_word::of(claim.number, Phase::done, worker), std::memory_order_seq_cst);
}

/// Anybody: has this task completed, and its slot not been filled again? What it wrote is seen after `true`.
template <class Slots>
bool completed(Slots& slots, const Claim& task) noexcept {
    const auto word = slots.state(task.slot).load(std::memory_order_seq_cst);
    return slot_word::number(word) == task.number && slot_word::phase(word) == Phase::done;
}

/// The ring's shared parts, wherever they lie. `Slots::state(i)` gives the state word of slot i, for i below
/// `Slots::count()`.
template <class Slots, class Policy = StandardAtomics>
class ClaimRing {
  public:
    using Word = typename Policy::template Atomic<std::uint64_t>;

    ClaimRing() = default;
    /// `entries`: `capacity` words, a power of two.
    ClaimRing(Word* published, Word* reached, Word* entries, std::uint32_t capacity) noexcept
        : published_(published), reached_(reached), entries_(entries), mask_(capacity - 1) {}

    /// Issuer: is there room for one more entry? Entries that were never claimed keep their places.
    bool has_room() const noexcept {
        return published_->load(std::memory_order_relaxed) - reached_->load(std::memory_order_relaxed) <= mask_;
    }

    /// Issuer: lets workers find the slot, which must be filled and not ready yet.
    void publish(Slots& slots, std::uint32_t slot, std::uint64_t number) noexcept {
        slots.state(slot).store(slot_word::of(number, Phase::ready), std::memory_order_release);
        const auto place = published_->load(std::memory_order_relaxed);
        entries_[place & mask_].store(number << 16 | slot, std::memory_order_release);
        published_->store(place + 1, std::memory_order_seq_cst);
    }

    /// Worker: is there something that may be unclaimed? For the last look before sleeping.
    bool inviting() const noexcept {
        return reached_->load(std::memory_order_relaxed) < published_->load(std::memory_order_seq_cst);
    }

    /// Worker: claims the oldest task that nobody has, if there is one.
    std::optional<Claim> claim(Slots& slots, std::uint64_t worker) noexcept {
        const auto published = published_->load(std::memory_order_acquire);
        for (auto place = reached_->load(std::memory_order_relaxed); place < published; ++place) {
            const auto entry = entries_[place & mask_].load(std::memory_order_acquire);
            const Claim found{entry >> 16, static_cast<std::uint32_t>(entry & 0xffff)};
            if (found.slot >= slots.count()) continue;  // overwritten by somebody who should not have
            auto expected = slot_word::of(found.number, Phase::ready);
            const bool mine =
                slots.state(found.slot)
                    .compare_exchange_strong(expected, slot_word::of(found.number, Phase::claimed, worker),
                                             std::memory_order_acquire, std::memory_order_relaxed);
            reached_->store(place + 1, std::memory_order_relaxed);
            if (mine) return found;
        }
        return std::nullopt;
    }

  private:
    Word* published_ = nullptr;
    Word* reached_ = nullptr;
    Word* entries_ = nullptr;
    std::uint64_t mask_ = 0;
};

}  // namespace penstock::python
