// The full record, on request: every task, wait and stall of one thread with its begin and end.
//
// A timeline is off until start(), and while it is off a record costs one load and one branch. While it is on, a record
// is nine stores into one cache line and one for the count. It can be switched on and off by any thread, at any time,
// without stopping the writer, and read while the writer writes.
//
// Why a reader never sees a torn event. A slot holds a sequence word and seven words of event. To write the event
// number n, the writer stores 2n+1, then the words (release), then 2n+2 (release). A reader loads the sequence word
// (acquire), the words (acquire), and the sequence word again: if one word came from a later event, that acquire makes
// the odd number visible, and the second look differs from 2n+2. All of it is atomics, no fence.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::trace {

/// What an event says its thread was doing.
enum class EventKind : std::uint32_t { task, wait, stall, idle, fetch, write_back, late, firing };

/// One period of one thread. The tasks among them hold enough for a model of another machine to replay them: who issued
/// which task when, where it ran, and how much data went in and out.
struct Event {
    std::uint64_t begin = 0;  ///< tick at which it began
    std::uint64_t end = 0;    ///< tick at which it ended
    /// Which procedure (of the task that ran, was waited for, stalled or was fetched for) or filter; the caller's own
    /// number, turned into a name only when a report is written.
    std::uint32_t id = 0;
    EventKind kind = EventKind::task;
    std::uint32_t issuer = 0;  ///< track of the initiator that issued the task
    std::uint32_t target = 0;  ///< track of the thread that ran it
    /// Tick at which it was issued, 0 when unknown; a wait holds that of the task waited for.
    std::uint64_t issued = 0;
    std::uint64_t bytes_in = 0;   ///< bytes that the task reads
    std::uint64_t bytes_out = 0;  ///< bytes that the task writes
};
static_assert(sizeof(Event) == 56, "an event and its sequence word fill one line");

/// A copy of what a timeline held.
struct Recording {
    std::vector<Event> events;  ///< in the order in which they were recorded, that is, by their end
    std::uint64_t dropped = 0;  ///< older events of the same recording that the ring no longer held
};

/// The events of one thread: a bounded ring that keeps the newest. One writer; any thread may start, stop and read.
class Timeline {
  public:
    static constexpr std::size_t default_capacity = std::size_t{1} << 16;  ///< events; 4 MiB
    static constexpr std::size_t max_capacity = std::size_t{1} << 26;      ///< events; 4 GiB

    Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;
    ~Timeline();  ///< the writer must be done

    /// Begins a new recording and forgets the one before. `capacity` is in events and is rounded up to a power of two.
    /// Memory is taken here, never in record(), and kept until the timeline is destroyed.
    /// Throws UsageError when capacity is 0 or above max_capacity, std::bad_alloc when there is no memory.
    void start(std::size_t capacity = default_capacity);

    /// Ends the recording; it can still be read. An event that the writer is recording right now may still come in.
    void stop() noexcept;

    /// Whether events are recorded now; ask before reading the clock for one.
    bool enabled() const noexcept { return active_.load(std::memory_order_relaxed) != nullptr; }

    /// Records one event; by the writer only. When the ring is full the oldest is dropped.
    void record(const Event& event) noexcept {
        if (Ring* ring = active_.load(std::memory_order_acquire)) write(*ring, event);
    }

    /// What the latest recording holds, while it goes on or after it. Events that the writer overtakes meanwhile count
    /// as dropped.
    Recording snapshot() const;

  private:
    struct Ring;

    static void write(Ring& ring, const Event& event) noexcept;

    std::atomic<Ring*> active_{nullptr};        ///< where the writer writes; null while off
    mutable std::mutex control_;                ///< start, stop and snapshot; the writer never takes it
    std::vector<std::unique_ptr<Ring>> rings_;  ///< one a capacity ever asked for: a late writer may still be in any
    Ring* latest_ = nullptr;                    ///< what snapshot() reads
};

}  // namespace penstock::trace
