// task layer: a handle stands for one issued task: {ring, generation, number}. Cheap, copyable, safe after its machine
// is gone.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

/// Passed to wait(): the waiter runs tasks of its own deque meanwhile.
struct Help {
    explicit Help() = default;
};
inline constexpr Help help{};

class Initiator;
class Ring;

/// 16 bytes, no allocation. A default-constructed handle stands for no task and is complete.
///
/// Any thread may wait; only the issuer can help (contract 11, 13). Waiting twice is legal: the second wait returns (or
/// throws) the same. After its failure was delivered by a barrier, a handle counts as complete.
class Handle {
  public:
    Handle() = default;
    Handle(std::uint32_t ring, std::uint32_t generation, Ticket ticket) noexcept
        : ring_(ring), generation_(generation),
          word_(ticket.number << 11 | static_cast<std::uint64_t>(ticket.slot & 1023) << 1 | (ticket.in_slot ? 1 : 0)) {}

    /// Returns when the task has completed. Runs nothing meanwhile, except inside a task: there it runs this task, when
    /// nobody has begun it, what that one comes after, and the waiting task's own children. Throws TaskFailed with the
    /// task's exception, TaskCancelled, MachineGone when the machine no longer exists, WouldDeadlock when the wait
    /// could never end, NestingTooDeep.
    void wait() const;
    /// The same, running tasks of this thread's own deque meanwhile.
    void wait(Help) const;
    /// Has the task completed (or its machine gone)? Never blocks, never throws.
    bool ready() const noexcept;
    /// Asks that the task be skipped if it has not started. False when it has completed already. A skipped task's
    /// wait() throws TaskCancelled; a barrier takes no notice of it.
    bool cancel() const;

    /// `name`: what Ring::name() gives.
    Handle(std::uint64_t name, Ticket ticket) noexcept
        : Handle(static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32), ticket) {}

    friend bool operator==(const Handle&, const Handle&) = default;
    /// The same task, whether or not both know where its completion appears.
    bool same_task(const Handle& other) const noexcept {
        return ring_ == other.ring_ && generation_ == other.generation_ && number_of(word_) == number_of(other.word_);
    }

    std::size_t hash_of_task() const noexcept {
        return static_cast<std::size_t>((std::uint64_t{ring_} << 32 ^ generation_) * 0x9e3779b97f4a7c15 ^
                                        number_of(word_));
    }

    // ---- for the task layer ----

    bool none() const noexcept { return word_ == 0; }
    static constexpr std::uint64_t number_of(std::uint64_t word) noexcept { return word >> 11; }
    std::uint64_t number() const noexcept { return number_of(word_); }
    Ticket ticket() const noexcept {
        return {number_of(word_), static_cast<std::uint32_t>(word_ >> 1 & 1023), (word_ & 1) != 0};
    }
    /// The ring, or null when it has changed hands since.
    Ring* ring() const noexcept;
    bool complete(const Ring& ring) const noexcept;

  private:
    friend class Circles;
    friend class Initiator;
    friend std::size_t wait_any(std::span<const Handle> handles);
    void wait(bool helping) const;
    /// The calling thread's initiator of the ring's machine, or null.
    Initiator* my_initiator(const Ring& ring) const noexcept;

    std::uint32_t ring_ = 0;
    std::uint32_t generation_ = 0;
    /// Number of the record (53 bits: two years of null tasks), its slot (10), completes in slot (1)
    std::uint64_t word_ = 0;
};

static_assert(sizeof(Handle) == 16);

/// Waits for all of these. Helps. The first failure is thrown when all have completed.
void wait_all(std::span<const Handle> handles);
inline void wait_all(std::initializer_list<Handle> handles) { wait_all(std::span{handles.begin(), handles.size()}); }
/// Waits until one of these has completed and returns its index. Helps. Throws UsageError for an empty list, and what
/// wait() would throw for the one that it returns.
std::size_t wait_any(std::span<const Handle> handles);
inline std::size_t wait_any(std::initializer_list<Handle> handles) {
    return wait_any(std::span{handles.begin(), handles.size()});
}

}  // namespace penstock
