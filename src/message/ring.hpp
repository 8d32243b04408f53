// message layer: the ring of bytes, homed at the receiver, through which a message travels that does not fit its
// header.
//
// It lies beside a channel (channel.hpp) of the same two ranks: the record in the channel is the message's header and
// says where in the ring the message begins. Positions count bytes since the ring was made and never wrap in practice.
//
// Happens-before. Release stores read by acquire loads, no read-modify-writes, no fences.
//   a short message   the sender writes all its bytes -> the header's sequence.store(release) -> sequence.load(acquire)
//                     by the receiver -> its reads of the bytes
//   a long message    the header first, then piece by piece: bytes -> filled.store(release) -> filled.load(acquire) by
//                     the receiver -> its reads of the piece
//   room              the receiver's reads -> freed.store(release) -> freed.load(acquire) by the sender -> its next
//                     writes there
//
// Neither side believes the other: a counter that moved backwards or too far leaves the half `broken` (contract 19).
//
// Templates over the cell and the atomic type: tests/model checks this very code. `./bench messages` prints what it
// carries.
#pragma once

#include <cstdint>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

/// How far the ring has been written. Homed at the receiver, written by the sender alone.
template <class Policy = StandardAtomics>
struct alignas(128) RingFilled {
    typename Policy::template Atomic<std::uint64_t> filled{0};
};

/// How far the ring has been read. Homed at the sender, written by the receiver alone.
template <class Policy = StandardAtomics>
struct alignas(128) RingFreed {
    typename Policy::template Atomic<std::uint64_t> freed{0};
};

/// The shared parts of a ring, wherever they lie.
template <class Cell, class Policy = StandardAtomics>
struct RingParts {
    Cell* cells = nullptr;
    std::uint64_t capacity = 0;  ///< a power of two
    RingFilled<Policy>* filled = nullptr;
    RingFreed<Policy>* freed = nullptr;
};

namespace message_ring {

/// Calls `piece(cell, offset, count)` for each contiguous part of `count` cells from `position` on: one, or two at the
/// wrap.
template <class Cell, class Piece>
void each_piece(Cell* cells, std::uint64_t capacity, std::uint64_t position, std::uint64_t count, Piece&& piece) {
    const auto start = position & (capacity - 1);
    const auto first = count < capacity - start ? count : capacity - start;
    piece(cells + start, std::uint64_t{0}, first);
    if (first != count) piece(cells, first, count - first);
}

}  // namespace message_ring

/// The sender's half. Used by one thread.
template <class Cell, class Policy = StandardAtomics>
class RingWriter {
  public:
    RingWriter() = default;
    explicit RingWriter(RingParts<Cell, Policy> parts) : parts_(parts) {}

    /// Where the next cell goes.
    std::uint64_t position() const noexcept { return position_; }
    std::uint64_t capacity() const noexcept { return parts_.capacity; }
    /// The receiver claims to have read what was never written.
    bool broken() const noexcept { return broken_; }

    /// How many cells can be written now. Looks at the receiver's counter only when fewer than `wanted` are known to be
    /// free.
    std::uint64_t room(std::uint64_t wanted) noexcept {
        if (known_room() < wanted) look_for_room();
        return known_room();
    }

    /// Writes `count` <= room() cells by `piece(cell, offset, count)`. Not yet visible.
    template <class Piece>
    void write(std::uint64_t count, Piece&& piece) {
        message_ring::each_piece(parts_.cells, parts_.capacity, position_, count, piece);
        position_ += count;
    }

    /// Makes all that was written visible to available(). Not needed where a header is published behind it.
    void publish_filled() noexcept { parts_.filled->filled.store(position_, std::memory_order_release); }

  private:
    std::uint64_t known_room() const noexcept { return broken_ ? 0 : parts_.capacity - (position_ - freed_); }
    void look_for_room() noexcept {
        const auto seen = parts_.freed->freed.load(std::memory_order_acquire);
        if (seen - freed_ <= position_ - freed_) freed_ = seen;
        else broken_ = true;
    }

    RingParts<Cell, Policy> parts_;
    std::uint64_t position_ = 0;
    std::uint64_t freed_ = 0;  ///< what this half knows
    bool broken_ = false;
};

/// The receiver's half. Used by one thread.
template <class Cell, class Policy = StandardAtomics>
class RingReader {
  public:
    RingReader() = default;
    explicit RingReader(RingParts<Cell, Policy> parts) : parts_(parts) {}

    /// Where the next cell comes from.
    std::uint64_t position() const noexcept { return position_; }
    std::uint64_t capacity() const noexcept { return parts_.capacity; }
    /// The sender claims to have written more than the ring holds, or takes back what it has written.
    bool broken() const noexcept { return broken_; }

    /// How many cells of a long message can be read now.
    std::uint64_t available() noexcept {
        const auto seen = parts_.filled->filled.load(std::memory_order_acquire) - position_;
        if (seen <= parts_.capacity) return seen;
        broken_ = true;
        return 0;
    }

    /// Reads `count` cells by `piece(cell, offset, count)`: no more than available(), or a short message whose header
    /// was seen.
    template <class Piece>
    void read(std::uint64_t count, Piece&& piece) {
        message_ring::each_piece(parts_.cells, parts_.capacity, position_, count, piece);
        position_ += count;
    }

    /// Gives the sender room: everything read so far may be overwritten.
    void publish_freed() noexcept { parts_.freed->freed.store(position_, std::memory_order_release); }

  private:
    RingParts<Cell, Policy> parts_;
    std::uint64_t position_ = 0;
    bool broken_ = false;
};

}  // namespace penstock
