// stream layer: a buffer, the unit of data that travels in streams. The runtime owns its memory; whoever holds the
// handle may use it.
//
// A block is the envelope: a header of its own for each reader, with the tags, and a place in one mail box at a time.
// The values lie in storage, which several envelopes share when a buffer was broadcast; the last reader gives it back
// to the pool that it came from. A wrapped buffer's values lie in the program's own memory instead: `data` points
// there, and the storage stands by for whoever edits it.
//
// Happens-before. The writer fills storage and header before it hands the block on (mail.hpp: a release); the reader
// finds the block by the acquire on the other side. Readers that share storage only read; each one's reads come before
// its decrement (acq_rel), and the last decrement before the storage is used again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "penstock/detail/stream/mail.hpp"
#include "penstock/error.hpp"
#include "penstock/view.hpp"

namespace penstock {

/// What travels with a buffer beside its values. A filter that writes a buffer without having set them passes on those
/// of the first buffer that it read in this firing.
struct Tags {
    std::uint64_t sequence = 0;           ///< number in the stream of the source: 0, 1, 2... unless the source sets it
    std::uint64_t time = 0;               ///< time stamp, in whatever unit the source uses
    std::array<std::uint64_t, 2> user{};  ///< the program's own
    friend bool operator==(const Tags&, const Tags&) = default;
};

/// A buffer was appended to beyond what it was made for, or more was extracted than is in it.
struct BufferOverrun : UsageError {
    using UsageError::UsageError;
};

namespace streaming {

class Pool;

struct Block;

/// Where values lie that are not on the program's own heap. Any thread.
struct BlockMemory {
    virtual ~BlockMemory() = default;
    /// At least so many bytes; `bytes` becomes how many. Never null. Throws std::bad_alloc, SystemError.
    virtual std::byte* take(std::size_t& bytes) = 0;
    virtual void give(std::byte* values) noexcept = 0;
};

/// The values of one or more blocks.
struct Storage {
    std::atomic<std::uint32_t> readers{1};
    std::size_t capacity = 0;
    std::byte* data = nullptr;
    Block* owner = nullptr;                 ///< the block that it is part of
    std::shared_ptr<BlockMemory> memory{};  ///< null: the cache of blocks, or malloc
    /// What keeps the values alive that the last reader still reads, if somebody must
    std::shared_ptr<const void> wrapped{};
};

/// The envelope.
struct alignas(64) Block : Mail {
    static constexpr std::size_t max_rank = 3;
    // What changes from hop to hop stands in the first line, what travels along in the second.
    bool tagged = false;  ///< the writer has set the tags
    std::uint32_t rank = 1;
    std::uint64_t written = 0;  ///< number among the buffers that its writer wrote there
    std::uint64_t order = 0;    ///< among the buffers of the last filter that ran as one copy
    std::byte* data = nullptr;  ///< storage->data, unless it is wrapped
    std::size_t bytes = 0;      ///< of values
    Tags tags;
    std::array<std::size_t, max_rank> extents{};
    Storage* storage = nullptr;
    Pool* pool = nullptr;     ///< where the block goes when its reader is done
    std::size_t counted = 0;  ///< bytes of a budget that it takes, and that target's
    int counted_at = -1;
    Storage own;  ///< storage->..., unless the block reads another's

    bool is_wrapped() const noexcept { return data != storage->data; }
    std::size_t capacity() const noexcept { return is_wrapped() ? bytes : storage->capacity; }
};

/// `bytes` of values in a block of `pool`'s, or of nobody's (null: for buffers that were made outside a graph). Throws
/// std::bad_alloc.
Block* make_block(Pool* pool, std::size_t bytes);
/// Makes the values of a fresh block these, which stay where they are; `holder` is let go when its last reader is done.
/// Nothing of them is written: whoever edits the block gets a copy.
void wrap(Block& block, std::span<const std::byte> values, std::shared_ptr<const void> holder) noexcept;
/// The reader is done.
void give_back(Block* block) noexcept;
struct GiveBack {
    void operator()(Block* block) const noexcept { give_back(block); }
};
/// Gives a block values of its own, if others read them too or they are wrapped. Throws std::bad_alloc.
void own_values(Block* block);

[[noreturn]] void throw_gone(const char* what);
[[noreturn]] void throw_overrun(bool appending, std::size_t asked, std::size_t there);

}  // namespace streaming

/// A move-only handle of a buffer with `size()` values of type T. Made by Output<T>::make(), got by Input<T>::read();
/// dropped, the buffer goes back to where it came from. After it was written to a stream or moved the handle holds
/// nothing, and its use throws UsageError.
template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>, "penstock: what a buffer holds must be trivially copyable");

  public:
    using value_type = T;

    Buffer() noexcept = default;
    /// A buffer that belongs to no stream, with `n` values that are not initialised. Throws std::bad_alloc.
    explicit Buffer(std::size_t n) : Buffer(streaming::make_block(nullptr, bytes_of(n))) {}
    explicit Buffer(streaming::Block* block) noexcept : block_(block) {}
    /// Nothing for null.
    static std::optional<Buffer> if_any(streaming::Block* block) noexcept {
        return block == nullptr ? std::nullopt : std::optional<Buffer>(Buffer(block));
    }

    /// Is there a buffer?
    explicit operator bool() const noexcept { return block_ != nullptr; }
    /// Lets go of it.
    void reset() noexcept { block_.reset(); }

    std::size_t size() const { return block().bytes / sizeof(T); }
    bool empty() const { return block().bytes == 0; }
    /// The values, to be read.
    std::span<const T> span() const { return {reinterpret_cast<const T*>(block().data), size()}; }
    const T& operator[](std::size_t i) const { return reinterpret_cast<const T*>(block().data)[i]; }
    /// The values, to be written. A buffer that others read too (broadcast), or that is wrapped, is copied first.
    /// Throws std::bad_alloc.
    std::span<T> edit() {
        streaming::Block& own = block();
        if (own.storage->readers.load(std::memory_order_acquire) != 1 || own.is_wrapped()) streaming::own_values(&own);
        return {reinterpret_cast<T*>(own.data), size()};
    }

    /// Number of dimensions that it was made with, and their extents.
    std::size_t rank() const { return block().rank; }
    /// Elements along a dimension.
    std::size_t extent(std::size_t dimension) const { return block().extents[dimension]; }
    /// The values as rows and columns (or rows, columns and channels). Throws UsageError for another number of
    /// dimensions than it was made with.
    template <std::size_t Rank = 2>
    view<const T, Rank> image() const {
        return {reinterpret_cast<const T*>(block().data), extents<Rank>()};
    }
    /// The same, to be written.
    template <std::size_t Rank = 2>
    view<T, Rank> edit_image() {
        return {edit().data(), extents<Rank>()};
    }

    /// Adds values at the end. Throws BufferOverrun beyond capacity().
    void append(std::span<const T> values) {
        streaming::Block& own = block();
        if (values.size_bytes() > own.capacity() - own.bytes)
            streaming::throw_overrun(true, values.size_bytes(), own.capacity() - own.bytes);
        (void)edit();
        if (!values.empty()) std::memcpy(own.data + own.bytes, values.data(), values.size_bytes());
        own.bytes += values.size_bytes();
        own.extents[0] = size();
    }
    void append(const T& value) { append(std::span<const T>(&value, 1)); }
    /// The bytes of a value of another type, for buffers of bytes. Throws BufferOverrun.
    template <class U>
        requires(std::is_trivially_copyable_v<U> && !std::is_same_v<U, T> && sizeof(T) == 1)
    void append(const U& value) {
        append(std::span<const T>(reinterpret_cast<const T*>(&value), sizeof(U)));
    }
    /// The next value (of any trivially copyable type where this is a buffer of bytes), and steps behind it. Throws
    /// BufferOverrun when fewer bytes are left.
    template <class U = T>
        requires(std::is_same_v<U, T> || (std::is_trivially_copyable_v<U> && sizeof(T) == 1))
    U extract() {
        U value;
        std::memcpy(static_cast<void*>(&value), take(sizeof(U)), sizeof(U));
        return value;
    }
    /// The next `n` values, in place.
    std::span<const T> extract(std::size_t n) { return {reinterpret_cast<const T*>(take(bytes_of(n))), n}; }
    /// Bytes that extract() has not come to yet.
    std::size_t left() const { return block().bytes - taken_; }
    /// Values that fit.
    std::size_t capacity() const { return block().capacity() / sizeof(T); }
    /// Makes it shorter, or longer up to capacity(), as one dimension. Throws BufferOverrun.
    void resize(std::size_t n) {
        streaming::Block& own = block();
        if (bytes_of(n) > own.capacity()) streaming::throw_overrun(true, bytes_of(n), own.capacity());
        own.bytes = bytes_of(n);
        own.rank = 1;
        own.extents[0] = n;
    }

    /// What travels with the values.
    const Tags& tags() const { return block().tags; }
    /// The tags, to be written; then they are not those of what the filter read.
    Tags& edit_tags() {
        block().tagged = true;
        return block_->tags;
    }

    /// For the layer itself: the block, which is the caller's from now on.
    streaming::Block* release() {
        (void)block();
        return block_.release();
    }

  private:
    static std::size_t bytes_of(std::size_t n) {
        if (n > ~std::size_t{0} / 2 / sizeof(T)) throw std::bad_array_new_length();
        return n * sizeof(T);
    }
    streaming::Block& block() const {
        if (block_ == nullptr) [[unlikely]]
            streaming::throw_gone("use a buffer");
        return *block_;
    }
    template <std::size_t Rank>
    std::array<std::size_t, Rank> extents() const {
        static_assert(Rank >= 1 && Rank <= streaming::Block::max_rank);
        if (block().rank != Rank)
            throw UsageError("this buffer was made with " + std::to_string(block().rank) +
                             " dimensions; it is no image of " + std::to_string(Rank));
        std::array<std::size_t, Rank> result;
        std::copy_n(block_->extents.begin(), Rank, result.begin());
        return result;
    }
    const std::byte* take(std::size_t bytes) {
        if (bytes > left()) streaming::throw_overrun(false, bytes, left());
        return block_->data + std::exchange(taken_, taken_ + bytes);
    }

    std::unique_ptr<streaming::Block, streaming::GiveBack> block_;
    std::size_t taken_ = 0;  ///< bytes extracted
};

}  // namespace penstock
