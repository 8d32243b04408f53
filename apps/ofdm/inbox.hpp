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

/// What of a piece is to be stored: visits each stretch of bytes, as an offset and a length.
template <class Visit>
void for_each_part(const SamplePiece& piece, Visit&& visit) {
    visit(0, sizeof(PieceHead));
    if (piece.head.count == 0) return;
    if (piece.head.first == 0) visit(offsetof(SamplePiece, channel), sizeof(piece.channel));
    visit(offsetof(SamplePiece, samples), piece.head.count * piece.head.frame.size * sizeof(Sample));
}
template <class Visit>
void for_each_part(const SoftPiece& piece, Visit&& visit) {
    visit(0, sizeof(PieceHead));
    if (piece.head.count == 0) return;
    const FrameHead& frame = piece.head.frame;
    visit(offsetof(SoftPiece, soft), piece.head.count * 2 * Format::of(frame.size).data_bits(rates[frame.rate]));
}

template <class Visit>
void for_each_part(const Frame& frame, Visit&& visit) {
    visit(0, offsetof(Frame, octets) + frame.head.octets);
}

/// Pieces that are on their way.
inline constexpr std::size_t ring_pieces = 32;

/// The reader's end. A piece whose count is 0 says that there are no more.
template <class Piece>
class Inbox {
  public:
    Inbox(Rank me, int writer)
        : me_{me}, writer_{writer}, slots_{me, "pieces", ring_pieces * sizeof(Piece)}, stored_{me, "stored"} {
        slots_.grant(writer);
        stored_.grant(writer);
    }
    /// When the writer has made its end.
    void open() { done_.emplace(RemoteCounter::accept(me_, writer_, "done by " + std::to_string(me_.index()))); }

    /// Waits for the next piece, which stays until take() is called again.
    const Piece& take() {
        if (taken_ > told_) done_->store(told_ = taken_);
        stored_.wait_until(++taken_, Awaited::rank(writer_));
        return *reinterpret_cast<const Piece*>(slots_.elements().data() + (taken_ - 1) % ring_pieces * sizeof(Piece));
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
template <class Piece>
class Outbox {
  public:
    Outbox(Rank me, int reader)
        : reader_{reader}, done_{me, "done by " + std::to_string(reader)},
          slots_{(done_.grant(reader), Remote<std::byte>::accept(me, reader, "pieces"))},
          stored_{RemoteCounter::accept(me, reader, "stored")} {}

    /// Free places.
    std::size_t room() const noexcept { return ring_pieces - static_cast<std::size_t>(next_ - done_.load()); }
    void put(const Piece& piece) {
        if (room() == 0) done_.wait_until(next_ + 1 - ring_pieces, Awaited::rank(reader_));
        const std::size_t slot = next_ % ring_pieces * sizeof(Piece);
        const auto* const bytes = reinterpret_cast<const std::byte*>(&piece);
        for_each_part(piece, [&](std::size_t offset, std::size_t count) {
            slots_.store(slot + offset, std::span(bytes + offset, count));
        });
        stored_.store(++next_);
    }
    void put_end() {
        const auto end = std::make_unique<Piece>();
        put(*end);
    }

  private:
    int reader_;
    Counter done_;
    Remote<std::byte> slots_;
    RemoteCounter stored_;
    std::uint64_t next_ = 0;
};

}  // namespace penstock::apps::ofdm
