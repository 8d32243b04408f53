// The memory that a rank makes for its messages: who writes what stands beside each word. Standard layout, offsets
// only, so that threads and processes share one code. Rank r's mailbox holds, for each peer p:
//
//   inward    how far p has got with what it sends to r                       written by p, read by r
//   outward   how far p has got with taking what r sends to it                written by p, read by r
//   slots     the headers of messages from p to r (with pure pull: of messages from r to p)
//   ring      the bytes of messages from p to r
//   exchange  the bytes of a message from p to r that r may answer where it lies, and those of the answer (answer.hpp)
//
// So r, waiting for either, polls memory of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "message/answer.hpp"
#include "message/claim.hpp"
#include "message/ring.hpp"
#include "penstock/detail/channel/channel.hpp"
#include "penstock/message.hpp"
#include "store/far/far_team.hpp"

namespace penstock::message {

inline constexpr std::uint64_t mailbox_kind = 0x324c49414d4e5350;  // "PSNMAIL2"
inline constexpr std::uint32_t slots_a_lane = 64;
inline constexpr std::uint64_t smallest_ring = 4096;
inline constexpr std::uint64_t largest_ring = std::uint64_t{1} << 30;

/// How one message travels. Its sender decides.
enum class Way : std::uint8_t {
    none,
    inside,       ///< in the header
    ring_whole,   ///< in the ring, all of it there when the header is
    ring_pieces,  ///< in the ring, piece by piece behind the header
    pull,         ///< the receiver fetches it from words[0]
    segment,      ///< the receiver copies it from segment words[0], byte words[1] on (segments.hpp); processes only
    push,         ///< the receiver answers where it wants it
    parcel,       ///< words[0] is a Parcel that goes over to the receiver; threads only
    asking,       ///< in the header or the exchange buffer; its receiver may answer there (answer.hpp)
    answer,       ///< written by the receiver over what was `asking`: a message that goes the other way
    halves,       ///< the receiver fetches the second half while the sender, if it waits, stores the first
};

/// The header of a message, as it stands in a record of the channel. Written by the sender, and over it, where that was
/// invited, the receiver's answer.
struct Envelope {
    std::uint64_t bytes;  ///< of the whole message
    std::uint32_t tag;
    Way way;
    std::uint8_t reserved;
    std::uint16_t before;  ///< answers: how many messages their sender had sent through its channel, modulo 2^16
    std::array<std::uint64_t, 4> words;  ///< the bytes themselves; or words[0]: position in the ring, address

    bool is_answer() const noexcept { return way == Way::answer; }
};
static_assert(sizeof(Envelope) == 48 && sizeof(Record<Envelope>) == 64);
inline constexpr std::size_t bytes_inside = sizeof(Envelope::words);
/// Longer ones, up to here, may be answered in the exchange buffer.
inline constexpr std::size_t exchange_bytes = 4096;

/// Written by the sender, homed at the receiver.
struct Inward {
    RingCount<> filled;
    alignas(128) std::atomic<std::uint64_t> pushed{0};  ///< number of the last message whose sender has stored its part
};

/// Written by the receiver, homed at the sender. Numbers are those of records in the channel.
struct Outward {
    Credits<> credits;
    RingCount<> freed;
    alignas(128) FetchClaim<> fetch;  ///< written by both
    PlaceClaim<> place;               ///< written by both
};

/// What owner and peer write for each other in the owner's mailbox.
struct Lane {
    Inward inward;
    Outward outward;
    alignas(128) std::atomic<std::uint32_t> can_fetch{
        0};  ///< owner: 1 when it can read the memory of this peer's process
    /// Owner: 1 once it takes nothing more of this peer, sends it nothing more and touches no memory of its user any
    /// more: its messenger is gone, or it has broken off with this peer.
    std::atomic<std::uint32_t> closed{0};
};

/// Whom the owner has waited for for long (standstill.hpp). One line that is written only while it waits.
struct alignas(128) StandstillWords {
    std::atomic<std::uint64_t> waits{0};     ///< owner: whom it waits for, and since which movement; 0: nobody
    std::atomic<std::uint64_t> asked{0};     ///< others: counts questions whether it really finds nothing
    std::atomic<std::uint64_t> answered{0};  ///< owner: the questions that were there before a look that found nothing
};

/// What a mailbox starts with. Written by the owner before anybody else sees it, but for the atomics.
struct alignas(128) MailboxHeader {
    std::uint64_t size = 0;  ///< of the whole mailbox
    std::uint64_t ring_bytes = 0;
    std::uint32_t ranks = 0;
    std::uint32_t owner = 0;
    std::uint32_t slots = slots_a_lane;
    Protocol protocol = Protocol::automatic;
    std::uint64_t address = 0;  ///< of this header in the owner's process, for finding out what may be fetched
    alignas(128) std::atomic<std::uint32_t> holders{1};  ///< messengers that have it; the last one empties it (threads)
    StandstillWords standstill;
};

/// A mailbox as one of the ranks sees it.
class Mailbox {
  public:
    Mailbox() = default;
    /// A new one in zeroed memory.
    static Mailbox create(std::byte* memory, Rank owner, const MessengerOptions& options);
    /// One that `owner` made, after looking whether it can be what it claims. Throws InvalidMessage.
    static Mailbox open(std::byte* memory, std::size_t size, Rank me, int owner, const MessengerOptions& options);
    static std::size_t size_of(int ranks, std::uint64_t ring_bytes);
    /// What a rank of another node may write of such memory: counts of its ring and of what it took, its headers, its
    /// ring. Nothing else is for it: nobody fetches from another node's memory, or stores into it (check_far).
    static std::vector<team::MemoryPart> parts_of(std::uint64_t bytes, int ranks, int writer);
    /// Its header, for the description of the memory: other nodes see no more of it.
    static std::string described(Rank owner, const MessengerOptions& options);
    /// Writes such a header into a shadow. Throws InvalidMessage.
    static void adopt(std::byte* memory, int owner, const std::string& description);

    explicit operator bool() const noexcept { return memory_ != nullptr; }
    MailboxHeader& header() const noexcept { return *reinterpret_cast<MailboxHeader*>(memory_); }
    Lane& lane(int peer) const noexcept { return reinterpret_cast<Lane*>(memory_ + sizeof(MailboxHeader))[peer]; }
    Record<Envelope>* slots(int peer) const noexcept {
        return reinterpret_cast<Record<Envelope>*>(memory_ + slots_at(ranks_)) +
               std::size_t{slots_a_lane} * static_cast<unsigned>(peer);
    }
    /// Written by whichever of the two has the message, or the answer, in its hands.
    std::byte* exchange(int peer) const noexcept {
        return memory_ + exchanges_at(ranks_) + exchange_bytes * static_cast<unsigned>(peer);
    }
    std::byte* ring(int peer) const noexcept {
        return memory_ + rings_at(ranks_) + ring_bytes_ * static_cast<unsigned>(peer);
    }
    std::uint64_t ring_bytes() const noexcept { return ring_bytes_; }
    /// Deletes parcels that nobody took. Only when nobody else uses the mailbox.
    void empty(const std::function<bool(int)>& is_near) const;

  private:
    static void fill(MailboxHeader& header, Rank owner, const MessengerOptions& options);
    Mailbox(std::byte* memory, int ranks, std::uint64_t ring_bytes)
        : memory_(memory), ranks_(ranks), ring_bytes_(ring_bytes) {}
    static std::size_t slots_at(int ranks) noexcept {
        return sizeof(MailboxHeader) + sizeof(Lane) * static_cast<unsigned>(ranks);
    }
    static std::size_t exchanges_at(int ranks) noexcept {
        return slots_at(ranks) + sizeof(Record<Envelope>) * slots_a_lane * static_cast<unsigned>(ranks);
    }
    static std::size_t rings_at(int ranks) noexcept {
        return exchanges_at(ranks) + exchange_bytes * static_cast<unsigned>(ranks);
    }

    std::byte* memory_ = nullptr;
    int ranks_ = 0;
    std::uint64_t ring_bytes_ = 0;
};

}  // namespace penstock::message
