// task layer: the shared heap of a machine. Memory in it is used in place by every target, also by one in another
// process (contract 10).
//
// The heap is one memfd, sealed against changes of its size and far larger than what is in it: pages are taken when
// memory is asked for, so that a lack of memory is an error there. It is mapped once, in a window of the addresses that
// launch() reserved, and every process forked from the one that launch() started maps it at the same place: a plain
// pointer into the heap means the same in all of them. A process that cannot count on that takes the descriptor and the
// place in it. What is free is noted outside the heap, where no other process can write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace penstock {

/// Memory that lies at the same address in the program and in all its worker processes.
class SharedHeap {
  public:
    /// Of every block.
    static constexpr std::size_t alignment = 128;

    /// Where a byte of the heap lies, for processes that have it mapped elsewhere.
    struct Place {
        std::uint32_t segment = 0;  ///< a heap has one segment so far, number 0
        std::uint64_t offset = 0;   ///< from base()
    };

    /// A heap without anything in it. Its addresses cost nothing, its memory is taken as it is asked for. `addresses`:
    /// how many bytes it can ever hold, a power of two; 0: as many as there is memory. Throws SystemError where there
    /// are no addresses or descriptors left.
    static std::shared_ptr<SharedHeap> create(std::size_t addresses = 0);
    ~SharedHeap();
    SharedHeap(const SharedHeap&) = delete;
    SharedHeap& operator=(const SharedHeap&) = delete;

    /// `bytes` > 0 bytes of what was there before, or zeros. Throws SystemError (ENOMEM) when there is not that much
    /// memory. Any thread; about a microsecond, and a page fault for each fresh page. Throws MachineGone in a child
    /// that was forked since: the memory is the parent's too, and the child's notes of what is free are a copy.
    std::byte* allocate(std::size_t bytes);
    /// Null does nothing. Blocks from a mebibyte on go back to the system. Does nothing in a child that was forked
    /// since.
    void release(void* block) noexcept;

    /// Do these bytes lie in the heap? Free of any lock.
    bool contains(const void* address, std::size_t bytes) const noexcept {
        const auto from = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_);
        return from < size_ && bytes <= size_ - from;
    }
    /// Throws UsageError for an address outside the heap.
    Place place_of(const void* address) const;
    /// Of a segment's memory; stays the heap's. Throws UsageError for a segment that does not exist.
    int descriptor(std::uint32_t segment = 0) const;

    /// Where it begins.
    std::byte* base() const noexcept { return base_; }
    /// Bytes that a segment's mapping spans, most of them without memory behind them.
    std::size_t size() const noexcept { return size_; }
    /// Bytes handed out.
    std::size_t used() const noexcept;

  private:
    SharedHeap() = default;
    void give_memory(std::size_t offset, std::size_t bytes) const;

    std::byte* base_ = nullptr;
    std::size_t size_ = 0;
    int descriptor_ = -1;
    int process_ = 0;  ///< whose heap this is
    mutable std::mutex mutex_;
    std::map<std::size_t, std::size_t> free_;  ///< offset to bytes; neighbours are joined
    std::map<std::size_t, std::size_t> used_;  ///< the same
    std::size_t used_bytes_ = 0;
};

/// `n` elements in a machine's shared heap, zeroed; what machine.array<T>(n) returns. A contiguous range, moved and not
/// copied. Keeps its heap alive, so it may outlive its machine.
template <class T>
class SharedArray {
    static_assert(std::is_trivially_copyable_v<T>,
                  "penstock: elements that processes share must be trivially copyable");
    static_assert(alignof(T) <= SharedHeap::alignment,
                  "penstock: elements of a shared array need at most 128-byte alignment");

  public:
    using value_type = T;

    SharedArray() noexcept = default;
    /// Throws SystemError (ENOMEM), std::bad_array_new_length. An empty array takes no memory.
    SharedArray(std::shared_ptr<SharedHeap> heap, std::size_t n) : heap_(std::move(heap)), size_(n) {
        if (n == 0) return;
        if (n > heap_->size() / sizeof(T)) throw std::bad_array_new_length();
        data_ = reinterpret_cast<T*>(heap_->allocate(n * sizeof(T)));
        std::uninitialized_value_construct_n(data_, n);
    }
    ~SharedArray() {
        if (data_ != nullptr) heap_->release(data_);
    }
    SharedArray(SharedArray&& other) noexcept
        : heap_(std::move(other.heap_)), data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    SharedArray& operator=(SharedArray&& other) noexcept {
        SharedArray taken(std::move(other));
        heap_.swap(taken.heap_);
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        return *this;
    }

    T* data() noexcept { return data_; }
    const T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }
    const T* begin() const noexcept { return data_; }
    const T* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t i) noexcept { return data_[i]; }
    const T& operator[](std::size_t i) const noexcept { return data_[i]; }

    /// Where the array lies.
    const std::shared_ptr<SharedHeap>& heap() const noexcept { return heap_; }

  private:
    std::shared_ptr<SharedHeap> heap_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace penstock
