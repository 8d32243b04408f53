// The memory that a machine shares with its Python workers: what stands where, who writes it, who reads it.
//
// One piece of shared memory, made at the first call of a Python body. It holds the slots of tasks, the rings in which
// workers find them, for each worker a ring of what it has completed, and the table of functions.
#pragma once

#include "penstock/detail/machine/memory.hpp"
#include "python/workers/claim_ring.hpp"
#include "python/workers/shared_event.hpp"

namespace penstock::python {

/// How a task ended. The first three are written by the worker, the others by its parent.
enum class Outcome : std::uint8_t { nothing, value, raised, died, time_limit, cancelled, predecessor, lost };

/// Where bytes lie in the machine's shared heap: offset + 1. 0: nowhere.
using HeapPlace = std::uint64_t;

/// One task. 256 bytes: what every task needs in the first line, arguments and result of up to 192 bytes behind it.
struct alignas(64) TaskSlot {
    static constexpr std::size_t inline_bytes = 192;

    std::atomic<std::uint64_t> state{0};  ///< see claim_ring.hpp
    std::uint32_t function = 0;           ///< issuer: its place in the table of functions
    std::uint32_t size = 0;               ///< issuer: bytes of the packed arguments
    std::uint64_t function_serial = 0;    ///< issuer
    HeapPlace block = 0;                  ///< issuer: where these lie, and then the result; 0: in `bytes`
    std::uint32_t room = 0;               ///< issuer: bytes at `block`
    std::uint32_t result_size = 0;        ///< worker
    HeapPlace result_block = 0;           ///< worker: where the result lies; 0: in `bytes`
    std::uint64_t limit = 0;              ///< issuer: longest run in ns, 0 for none
    Outcome outcome = Outcome::nothing;   ///< worker
    bool kept = false;                    ///< worker: something there still uses the task's blocks
    std::byte bytes[inline_bytes];        ///< issuer, then worker
};
static_assert(sizeof(TaskSlot) == 256 && offsetof(TaskSlot, bytes) <= 64);

/// The clock of time limits.
inline std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// One worker's own part. Its place is kept by whoever takes over after a death.
struct alignas(128) WorkerBoard {
    std::atomic<std::uint64_t> published{0};  ///< issuer: the ring of tasks for this worker alone
    std::atomic<std::uint64_t> reached{0};    ///< worker

    alignas(128) std::atomic<std::uint64_t> completed{0};  ///< worker: entries in its ring of completions
    std::atomic<std::uint32_t> serving{0};                 ///< worker: 1 once it claims tasks

    /// For the task that has a time limit: 2 x its number, + 1 once its time is up. Worker sets and clears it, the
    /// keeper adds the one, each by compare-and-swap, so that a task that ended in time is never what a kill is for.
    std::atomic<std::uint64_t> limited{0};
    std::atomic<std::uint64_t> since{0};  ///< worker: steady clock in ns at the task's begin
    std::atomic<std::uint64_t> limit{0};  ///< worker

    /// Asks the keeper for room for a large result: worker writes the bytes, keeper answers with a place and clears
    /// them.
    std::atomic<std::uint64_t> wanted{0};
    std::atomic<HeapPlace> granted{0};

    /// Numbers of tasks whose blocks it had kept and does not use any more; entry k at k % releases. The worker counts
    /// what it has written, the issuer what it has taken.
    static constexpr std::uint64_t releases = 256;
    std::atomic<std::uint64_t> released{0};
    std::atomic<std::uint64_t> taken{0};
    std::atomic<std::uint64_t> release[releases]{};
};

/// A function that was carried over: pickled bytes in the heap.
struct FunctionPlace {
    std::uint64_t serial = 0;  ///< tells who lay here before
    HeapPlace block = 0;
    std::uint64_t size = 0;
};

struct alignas(128) BoardHeader {
    static constexpr std::uint64_t expected_magic = 0x3144524f42594e50;  // "PNYBORD1"
    static constexpr std::uint32_t levels = 2;                           ///< of priority; 0 goes first

    std::uint64_t magic = expected_magic;
    std::uint32_t workers = 0;
    std::uint32_t parent = 0;  ///< process number
    std::uint64_t spin = 0;    ///< ns that an idle worker looks before it sleeps

    alignas(128) std::atomic<std::uint64_t> published[levels]{};  ///< issuer: polled by workers
    std::atomic<std::uint32_t> stop{0};                           ///< issuer
    alignas(128) std::atomic<std::uint64_t> reached[levels]{};    ///< workers
    /// Who waits in an event loop sets it, who tells him clears it
    alignas(128) std::atomic<std::uint32_t> armed{0};
    SharedEvent work;        ///< workers sleep for it
    SharedEvent completion;  ///< callers sleep for it
    SharedEvent grant;       ///< workers sleep for it
};

/// The board as one process has it mapped.
class TaskBoard {
  public:
    static constexpr std::uint32_t slots = 1u << 14;
    static constexpr std::uint32_t named_capacity = 1u << 10;
    static constexpr std::uint32_t functions = 1u << 12;
    static constexpr int everybody = -1;

    /// A new one.
    explicit TaskBoard(std::uint32_t workers);
    /// The parent's, by its descriptor, which is taken over. Throws InvalidSharedMemory, Error where it is no board of
    /// this version.
    static TaskBoard adopt(int descriptor);

    BoardHeader& header() const noexcept { return *header_; }
    std::uint32_t workers() const noexcept { return workers_; }
    WorkerBoard& worker(std::uint32_t w) const noexcept { return worker_boards_[w]; }
    TaskSlot& slot(std::uint32_t s) const noexcept { return slots_[s]; }
    FunctionPlace& function(std::uint32_t f) const noexcept { return functions_[f]; }
    /// Entry k of what worker w completed: number of the task << 16 | slot.
    std::atomic<std::uint64_t>& completion(std::uint32_t w, std::uint64_t k) const noexcept {
        return completions_[std::size_t{w} * slots + (k & (slots - 1))];
    }
    std::atomic<std::uint64_t>& state(std::uint32_t s) const noexcept { return slots_[s].state; }
    static constexpr std::uint32_t count() noexcept { return slots; }

    /// The ring of a level of priority, or of one worker.
    ClaimRing<TaskBoard> ring(std::uint32_t level) const noexcept {
        return {&header_->published[level], &header_->reached[level], entries_ + std::size_t{level} * slots, slots};
    }
    ClaimRing<TaskBoard> ring_of(std::uint32_t worker) const noexcept {
        auto& own = worker_boards_[worker];
        return {&own.published, &own.reached, named_entries_ + std::size_t{worker} * named_capacity, named_capacity};
    }

    int descriptor() const noexcept { return memory_.descriptor(); }

  private:
    TaskBoard(SharedMemory memory, std::uint32_t workers);
    static std::size_t bytes(std::uint32_t workers) noexcept;

    SharedMemory memory_;
    std::uint32_t workers_ = 0;
    BoardHeader* header_ = nullptr;
    WorkerBoard* worker_boards_ = nullptr;
    TaskSlot* slots_ = nullptr;
    FunctionPlace* functions_ = nullptr;
    std::atomic<std::uint64_t>* entries_ = nullptr;
    std::atomic<std::uint64_t>* named_entries_ = nullptr;
    std::atomic<std::uint64_t>* completions_ = nullptr;
};

}  // namespace penstock::python
