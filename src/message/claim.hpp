// message layer: who may touch memory of the other rank's user, and until when (pull and push).
//
// A sender that leaves must take back its offers, or the receiver would read memory that is used for something else; a
// receiver that leaves must take back its places. Both sides of each claim change one word by read-modify-write, so
// exactly one of "begun" and "taken back" comes first, and whoever takes back too late waits for the copy to end.
//
// Happens-before.
//   pull   the receiver's begin() (acquire-release) -> it reads the memory -> it completes the message
//          the sender's take_back() gives the last message begun: all up to it are waited for by their completion
//          (release -> acquire); a begin() after it fails, so nothing is read any more.
//   push   the receiver's offer(): address, bytes -> place.store(release) -> place.load(acquire) by the sender
//          the sender's begin() marks the place -> it stores -> pushed.store(release); a receiver whose take_back()
//          finds the mark waits for `pushed`, and a begin() after take_back() fails.
//   halves both claims. The receiver begins to fetch, offers the place of the first half, fetches the second, and takes
//          the place back; if it finds the mark it waits for `pushed`, and reads nothing of the sender any more. So a
//          sender that has begun may go when it finds the place taken back (acquire) or the message complete. A place
//          is offered again with the next message: address and bytes are read behind begin(), whose mark keeps the
//          receiver from writing them. offer() may be a plain store: what is left of earlier messages in the place is
//          no number that a begin() expects, for a sender begins at most once with each.
//
// Templates over the atomic type: tests/model checks this very code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

namespace message_claim {
inline constexpr std::uint64_t taken_back = ~std::uint64_t{0};
inline constexpr std::uint64_t begun = std::uint64_t{1} << 63;
}  // namespace message_claim

/// Pull: which messages the receiver has begun to fetch, by the numbers of their headers. Homed at the sender.
template <class Policy = StandardAtomics>
struct FetchClaim {
    typename Policy::template Atomic<std::uint64_t> fetching{0};

    /// Receiver: may the memory of this message be read? `before`: the number of the last one that was begun, 0 at
    /// first. False when the sender has taken its offers back.
    bool begin(std::uint64_t before, std::uint64_t number) noexcept {
        return fetching.compare_exchange_strong(before, number, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    /// Sender: no message is begun any more. Gives the number of the last one that was: its completion is to be waited
    /// for.
    std::uint64_t take_back() noexcept {
        return fetching.exchange(message_claim::taken_back, std::memory_order_acq_rel);
    }
};

/// Push: the place that the receiver has for a message. Homed at the sender.
template <class Policy = StandardAtomics, class Word = std::uint64_t>
struct PlaceClaim {
    typename Policy::template Atomic<std::uint64_t> place{0};
    Word address{};  ///< valid with `place`
    Word bytes{};    ///< valid with `place`

    /// Receiver: message `number` may be stored to address and bytes, which were written before.
    void offer(std::uint64_t number) noexcept { place.store(number, std::memory_order_release); }
    /// Sender: is there a place for this message?
    bool offered(std::uint64_t number) const noexcept { return place.load(std::memory_order_acquire) == number; }
    /// Sender: it begins to store, and may read address and bytes. False when the receiver has taken the place back.
    bool begin(std::uint64_t number) noexcept {
        return place.compare_exchange_strong(number, number | message_claim::begun, std::memory_order_acq_rel,
                                             std::memory_order_acquire);
    }
    /// Sender: the receiver has taken the place back, and has read what it fetches.
    bool is_taken_back() const noexcept { return place.load(std::memory_order_acquire) == message_claim::taken_back; }
    /// Receiver: nothing may be stored any more. True when the sender has begun with this message: wait until it says
    /// that all is there.
    bool take_back(std::uint64_t number) noexcept {
        return place.exchange(message_claim::taken_back, std::memory_order_acq_rel) == (number | message_claim::begun);
    }
};

}  // namespace penstock
