// The way from one copy of a filter to one copy of another: how many buffers are under way on it, counted at both ends.
//
// The buffers themselves travel as mail (mail.hpp), or in the lane of the target that runs the sink. A link is credits
// only: the producer counts what it sent, the consumer what it took; the producer looks at the consumer's line when its
// credits seem to be used up, and starves (starvation.hpp) when they are.
#pragma once

#include "penstock/stream_options.hpp"
#include "stream/run/recycled.hpp"
#include "stream/run/starvation.hpp"

namespace penstock::streaming {

/// Counts what one thread at a time counts and any thread reads: not by a read-modify-write.
inline void tally(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

struct Inlet;
struct Loop;
struct Outlet;
class Station;

struct alignas(128) Link : Recycled<Link> {
    // Written while both ends are held, read by both.
    Station* sink = nullptr;  ///< that of `to`, whose line the producer need not touch
    Outlet* from = nullptr;
    Inlet* to = nullptr;
    bool local = false;                      ///< one target's thread runs both ends
    bool side_by_side = false;               ///< of copies in pairs, of which each thread has one
    std::uint64_t stream = 0;                ///< its number in the model
    std::atomic<std::uint64_t> capacity{0};  ///< buffers. The producer's, where it is automatic
    std::uint64_t most_capacity = 0;         ///< where it is automatic, else 0
    std::uint64_t least_capacity = 0;
    std::uint64_t many_bytes = 0;      ///< a queue that holds more is long
    std::uint64_t capacity_bytes = 0;  ///< beyond the first free_of_bytes buffers; 0: no limit
    std::uint64_t free_of_bytes = 1;
    /// Of the sink's whole queue, for links that drop the oldest. Changed at the source,
    std::atomic<std::uint64_t> queue_limit{0};
    std::atomic<WhenStreamFull> when_full{WhenStreamFull::wait};  ///< and this too, while the sink fires
    bool feedback = false;
    bool enters_loop = false;  ///< from outside the cycle
    Loop* loop = nullptr;      ///< the cycle that the sink is in, or null
    Mail closing{.from = this, .kind = MailKind::close};

    // The producer's.
    alignas(128) std::uint64_t sent = 0;  ///< mail, closing included
    std::uint64_t sent_bytes = 0;
    std::uint64_t seen_taken = 0;
    std::uint64_t seen_taken_bytes = 0;
    std::atomic<std::uint64_t> dropped{0};  ///< the newest, for lack of room
    bool closed = false;
    /// Buffers that are posted before the sink is asked again whether it can fire at once
    std::uint32_t until_claim = 0;
    std::atomic<std::uint64_t> announced{0};  ///< `sent`, for other threads
    std::uint64_t seen_dry = 0;               ///< how often the sink had run dry when there was no room last
    std::uint32_t turns = 0;                  ///< times in a row that it had since the time before
    std::uint32_t full_in_a_row = 0;          ///< times that it had not
    std::uint32_t patience = 64;              ///< so many make the queue shorter
    bool shrunk = false;                      ///< the last change made it shorter

    // The consumer's.
    alignas(128) std::atomic<std::uint64_t> taken{0};  ///< buffers, read or dropped
    std::atomic<std::uint64_t> taken_bytes{0};
    std::atomic<std::uint64_t> accepted{0};         ///< mail that has arrived, closing included
    std::atomic<std::uint64_t> bytes_through{0};    ///< of buffers that have arrived
    std::atomic<std::uint64_t> buffers_through{0};  ///< of which
    std::atomic<std::uint64_t> posted{0};           ///< came from another thread's station, or one without a place
    std::atomic<std::uint64_t> right_behind{0};     ///< not among these: handed to the sink in its writer's firing
    std::atomic<std::uint64_t> displaced{0};        ///< the oldest, for lack of room

    alignas(128) Starvation<> starvation;                  ///< producer waits for room
    Mail room_mail{.from = this, .kind = MailKind::room};  ///< consumer to producer

    /// Producer: is there room for a buffer of so many bytes?
    bool has_room(std::uint64_t bytes) noexcept {
        if (fits(bytes)) [[likely]]
            return true;
        refresh();
        return fits(bytes);
    }
    /// Producer: looks at the consumer's line.
    void refresh() noexcept {
        seen_taken = taken.load(std::memory_order_acquire);
        seen_taken_bytes = taken_bytes.load(std::memory_order_relaxed);
    }
    /// Producer: waits for room from now on. True when there is some after all.
    bool starve(std::uint64_t bytes) noexcept {
        if (most_capacity != 0) had_no_room();
        return starvation.starve([&] {
            seen_taken = taken.load(std::memory_order_seq_cst);
            seen_taken_bytes = taken_bytes.load(std::memory_order_relaxed);
            return fits(bytes);
        });
    }
    /// Consumer: a buffer has left the queue. True: the producer must be told.
    bool take(std::uint64_t bytes) noexcept {
        taken_bytes.store(taken_bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
        const auto now = taken.load(std::memory_order_relaxed) + 1;
        if (local) taken.store(now, std::memory_order_relaxed);
        else taken.store(now, std::memory_order_seq_cst);
        return starvation.must_tell();
    }
    /// Producer: buffers that the consumer has not taken yet, as far as the producer knows.
    std::uint64_t outstanding() const noexcept { return sent - seen_taken; }

  private:
    void had_no_room() noexcept;
    bool fits(std::uint64_t bytes) const noexcept {
        const auto under_way = sent - seen_taken;
        if (under_way >= capacity.load(std::memory_order_relaxed)) return false;
        return capacity_bytes == 0 || under_way < free_of_bytes ||
               sent_bytes - seen_taken_bytes + bytes <= capacity_bytes;
    }
};

}  // namespace penstock::streaming
