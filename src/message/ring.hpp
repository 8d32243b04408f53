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

/// How far the ring has been written (homed at the receiver, written by the sender alone), or how far it has been read
/// (homed at the sender, written by the receiver alone).
template <class Policy = StandardAtomics>
struct alignas(128) RingCount {
    typename Policy::template Atomic<std::uint64_t> cells{0};
};

/// The shared parts of a ring, wherever they lie.
template <class Cell, class Policy = StandardAtomics>
struct RingParts {
    Cell* cells = nullptr;
    std::uint64_t capacity = 0;           ///< a power of two
    RingCount<Policy>* filled = nullptr;  ///< how far it has been written
    RingCount<Policy>* freed = nullptr;   ///< how far it has been read
};

/// What both halves have.
template <class Cell, class Policy>
class RingHalf {
  public:
    RingHalf() = default;
    explicit RingHalf(RingParts<Cell, Policy> parts) : parts_(parts) {}

    /// The next cell to be written or read.
    std::uint64_t position() const noexcept { return position_; }
    std::uint64_t capacity() const noexcept { return parts_.capacity; }
    /// The receiver claims to have read what was never written; the sender to have written more than the ring holds, or
    /// takes back what it has written.
    bool broken() const noexcept { return broken_; }

  protected:
    /// Calls `piece(cell, offset, count)` for each contiguous part of the next `count` cells (one, or two at the wrap),
    /// and passes over them.
    template <class Piece>
    void each_piece(std::uint64_t count, Piece&& piece) {
        const auto start = position_ & (parts_.capacity - 1);
        const auto first = count < parts_.capacity - start ? count : parts_.capacity - start;
        piece(parts_.cells + start, std::uint64_t{0}, first);
        if (first != count) piece(parts_.cells, first, count - first);
        position_ += count;
    }

    RingParts<Cell, Policy> parts_;
    std::uint64_t position_ = 0;
    bool broken_ = false;
};

/// The sender's half: position() is where the next cell goes. Used by one thread.
template <class Cell, class Policy = StandardAtomics>
class RingWriter : public RingHalf<Cell, Policy> {
  public:
    using RingHalf<Cell, Policy>::RingHalf;

    /// How many cells can be written now. Looks at the receiver's counter only when fewer than `wanted` are known to be
    /// free.
    std::uint64_t room(std::uint64_t wanted) noexcept {
        if (known_room() < wanted) look_for_room();
        return known_room();
    }

    /// Writes `count` <= room() cells by `piece(cell, offset, count)`. Not yet visible.
    template <class Piece>
    void write(std::uint64_t count, Piece&& piece) {
        this->each_piece(count, piece);
    }

    /// Makes all that was written visible to available(). Not needed where a header is published behind it.
    void publish_filled() noexcept { parts_.filled->cells.store(position_, std::memory_order_release); }

  private:
    using RingHalf<Cell, Policy>::parts_, RingHalf<Cell, Policy>::position_, RingHalf<Cell, Policy>::broken_;

    std::uint64_t known_room() const noexcept { return broken_ ? 0 : parts_.capacity - (position_ - freed_); }
    void look_for_room() noexcept {
        const auto seen = parts_.freed->cells.load(std::memory_order_acquire);
        if (seen - freed_ <= position_ - freed_) freed_ = seen;
        else broken_ = true;
    }

    std::uint64_t freed_ = 0;  ///< what this half knows
};

/// The receiver's half: position() is where the next cell comes from. Used by one thread.
template <class Cell, class Policy = StandardAtomics>
class RingReader : public RingHalf<Cell, Policy> {
  public:
    using RingHalf<Cell, Policy>::RingHalf;

    /// How many cells of a long message can be read now.
    std::uint64_t available() noexcept {
        const auto seen = parts_.filled->cells.load(std::memory_order_acquire) - position_;
        if (seen <= parts_.capacity) return seen;
        broken_ = true;
        return 0;
    }

    /// Reads `count` cells by `piece(cell, offset, count)`: no more than available(), or a short message whose header
    /// was seen.
    template <class Piece>
    void read(std::uint64_t count, Piece&& piece) {
        this->each_piece(count, piece);
    }

    /// Gives the sender room: everything read so far may be overwritten.
    void publish_freed() noexcept { parts_.freed->cells.store(position_, std::memory_order_release); }

  private:
    using RingHalf<Cell, Policy>::parts_, RingHalf<Cell, Policy>::position_, RingHalf<Cell, Policy>::broken_;
};

}  // namespace penstock
