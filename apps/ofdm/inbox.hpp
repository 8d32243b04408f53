// A ring of pieces at the rank that reads them, which one other rank stores into: only what a piece has is stored, and
// the reader tells, by a counter at the writer, how many it has done with.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "apps/ofdm/pieces.hpp"
#include "penstock/flag.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"

namespace penstock::apps::ofdm {

/// A piece with its samples.
struct PieceAndSamples {
    SamplePiece piece;
    std::array<Sample, piece_run> samples;
};
static_assert(offsetof(PieceAndSamples, piece) == 0 && offsetof(SamplePiece, head) == 0 &&
              offsetof(SoftPiece, head) == 0);

/// So many bytes of this, from its beginning.
inline std::span<const std::byte> bytes_of(const void* what, std::size_t count) noexcept {
    return {static_cast<const std::byte*>(what), count};
}

/// What is to be stored of a piece: visits each stretch of bytes, with its offset in the slot.
template <class Visit>
void for_each_part(const SamplePiece& piece, std::span<const Sample> samples, Visit&& visit) {
    visit(0, bytes_of(&piece, piece.head.first == 0 ? sizeof(piece) : sizeof(piece.head)));
    visit(offsetof(PieceAndSamples, samples), std::as_bytes(samples));
}
template <class Visit>
void for_each_part(const SoftPiece& piece, Visit&& visit) {
    const FrameHead& frame = piece.head.frame;
    visit(0, bytes_of(&piece, offsetof(SoftPiece, soft) +
                                  piece.head.count * 2 * Format::of(frame.size).data_bits(rates[frame.rate])));
}
/// What a frame has.
inline std::span<const std::byte> bytes_of(const Frame& frame) noexcept {
    return bytes_of(&frame, offsetof(Frame, octets) + frame.head.octets);
}

/// Pieces that are on their way.
inline constexpr std::size_t ring_pieces = 16;

/// The reader's end. A piece whose count is 0 says that there are no more.
template <class Slot>
class Inbox {
  public:
    Inbox(Rank me, int writer)
        : me_{me}, writer_{writer}, slots_{me, "pieces", ring_pieces * sizeof(Slot)}, stored_{me, "stored"} {
        slots_.grant(writer);
        stored_.grant(writer);
    }
    /// When the writer has made its end.
    void open() { done_.emplace(RemoteCounter::accept(me_, writer_, "done by " + std::to_string(me_.index()))); }

    /// Waits for the next piece, which stays until take() is called again.
    const Slot& take() {
        if (taken_ > told_) done_->store(told_ = taken_);
        stored_.wait_until(++taken_, Awaited::rank(writer_));
        return *reinterpret_cast<const Slot*>(slots_.elements().data() + (taken_ - 1) % ring_pieces * sizeof(Slot));
    }
    /// Behind the last piece: everything is done with.
    void finish() { done_->store(told_ = taken_); }

  private:
    Rank me_;
    int writer_;
    Region<std::byte> slots_;
    Counter stored_;
    std::optional<RemoteCounter> done_;
    std::uint64_t taken_ = 0, told_ = 0;
};

/// The writer's end.
template <class Slot>
class Outbox {
  public:
    Outbox(Rank me, int reader)
        : reader_{reader}, done_{me, "done by " + std::to_string(reader)},
          slots_{(done_.grant(reader), Remote<std::byte>::accept(me, reader, "pieces"))},
          stored_{RemoteCounter::accept(me, reader, "stored")} {}

    /// Free places.
    std::size_t room() const noexcept { return ring_pieces - static_cast<std::size_t>(next_ - done_.load()); }
    template <class... Parts>
    void put(const Parts&... parts) {
        const std::size_t slot = free_slot();
        for_each_part(parts..., [&](std::size_t offset, std::span<const std::byte> bytes) {
            slots_.store(slot + offset, bytes);
        });
        stored_.store(++next_);
    }
    void put_end() {
        const PieceHead end{};
        slots_.store(free_slot(), bytes_of(&end, sizeof(end)));
        stored_.store(++next_);
    }

  private:
    std::size_t free_slot() const {
        if (room() == 0) done_.wait_until(next_ + 1 - ring_pieces, Awaited::rank(reader_));
        return next_ % ring_pieces * sizeof(Slot);
    }

    int reader_;
    Counter done_;
    Remote<std::byte> slots_;
    RemoteCounter stored_;
    std::uint64_t next_ = 0;
};

}  // namespace penstock::apps::ofdm
