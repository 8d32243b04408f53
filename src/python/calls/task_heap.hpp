// What travels with calls of Python bodies, in the machine's shared heap: blocks for arguments, results and copies of
// arrays.
//
// Calls come by the microsecond and most need little, so small blocks are kept in lists by size. Of large ones the last
// few are kept, up to 32 MiB, because the heap gives the memory of its holes back to the system, and new pages cost
// more than what is copied into them. The parent alone gives out and takes back: a worker that dies cannot harm the
// books.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "penstock/heap.hpp"
#include "process/fork.hpp"
#include "python/calls/task_board.hpp"

namespace penstock::python {

/// Memory that was given out. Nothing for `bytes` 0.
struct Block {
    HeapPlace place = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;  ///< what was given, at least what was asked for
};

class TaskHeap {
  public:
    explicit TaskHeap(std::shared_ptr<SharedHeap> heap) : heap_(std::move(heap)) {}
    ~TaskHeap();

    /// At least `bytes`, whatever was there before. Throws SystemError when there is no more memory. Any thread.
    Block allocate(std::size_t bytes);
    /// Does nothing in a child of fork: the block is still its parent's.
    void free(const Block& block) noexcept;
    /// Where this memory lies, or 0 when not all of it is the heap's.
    HeapPlace place_of(const std::byte* data, std::size_t bytes) const noexcept {
        return heap_->contains(data, bytes) ? static_cast<HeapPlace>(data - heap_->base()) + 1 : 0;
    }
    int descriptor() const { return heap_->descriptor(); }

  private:
    static constexpr std::size_t smallest = 256, largest_small = std::size_t{64} << 10,
                                 run_bytes = std::size_t{256} << 10;
    static constexpr std::size_t classes = 9;  // 256 B to 64 KiB
    static constexpr std::size_t most_kept = std::size_t{32} << 20;

    Block take_kept(std::size_t bytes);

    const unsigned made_after_ = forks();
    std::shared_ptr<SharedHeap> heap_;
    std::mutex mutex_;
    std::array<std::vector<std::byte*>, classes> lists_;
    std::vector<std::byte*> runs_;
    std::multimap<std::size_t, std::byte*> kept_;  ///< large blocks that nobody uses, by their size
    std::size_t kept_bytes_ = 0;
};

}  // namespace penstock::python
