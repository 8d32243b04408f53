// What one rank does, in each variant. Pieces of a frame all go to the same rank, in their order.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "apps/ofdm/decode.hpp"
#include "apps/ofdm/inbox.hpp"
#include "apps/ofdm/ofdm.hpp"
#include "apps/ofdm/synchronise.hpp"

namespace penstock::apps::ofdm {
namespace {

/// From pieces to frames, each of which goes to `keep`.
template <class Keep>
class Work {
  public:
    Work(const Format& format, Keep keep)
        : demodulator_{format}, decoder_{format}, soft_{std::make_unique<SoftPiece>()},
          frame_{std::make_unique<Frame>()}, keep_{std::move(keep)} {}

    const SoftPiece& demodulate(const SamplePiece& piece, std::span<const Sample> samples) {
        demodulator_.run(piece, samples, *soft_);
        return *soft_;
    }
    void run(const SamplePiece& piece, std::span<const Sample> samples) { run(demodulate(piece, samples)); }
    void run(const SoftPiece& piece) {
        if (decoder_.run(piece, *frame_)) keep_(std::as_const(*frame_));
    }

  private:
    SoftDemodulator demodulator_;
    Decoder decoder_;
    std::unique_ptr<SoftPiece> soft_;
    std::unique_ptr<Frame> frame_;
    Keep keep_;
};

/// What rank 0 does in every variant: gives each piece and its samples to `visit`, and counts the frames.
template <class Visit>
void synchronise(const Problem& problem, SamplePiece& piece, Visit&& visit) {
    Synchroniser synchroniser{problem.format};
    for (std::size_t at = 0; at < problem.count; at += usual_portion) {
        synchroniser.push({problem.samples.data() + at, std::min(usual_portion, problem.count - at)});
        for (auto samples = synchroniser.next(piece); !samples.empty(); samples = synchroniser.next(piece))
            visit(std::as_const(piece), samples);
    }
    problem.found[0] = synchroniser.counts().complete;
}

void copy(const Frame& from, Frame& to) {
    const auto bytes = bytes_of(from);
    std::memcpy(static_cast<void*>(&to), bytes.data(), bytes.size());
}

/// `stages` and `push`: rank 0 gives the pieces of a frame to the rank with the most room, or works on them itself
/// where nobody has any. Frames are stored into a region of rank 0.
template <class Slot>
class PiecePart {
  public:
    PiecePart(Rank me, const Problem& problem)
        : me_{me}, problem_{problem}, work_{problem.format, Keeper{this}}, piece_{std::make_unique<SamplePiece>()} {
        if (me.index() == 0) {
            frames_.emplace(me, "frames", problem.frames.size() * sizeof(Frame));
            for (int rank = 1; rank < me.size(); ++rank) frames_->grant(rank);
            for (int rank = 1; rank < me.size(); ++rank) outboxes_.push_back(std::make_unique<Outbox<Slot>>(me, rank));
        } else {
            inbox_.emplace(me, 0);
            inbox_->open();
            their_frames_.emplace(Remote<std::byte>::accept(me, 0, "frames"));
        }
    }
    PiecePart(const PiecePart&) = delete;

    void prepare() const noexcept {}
    void run() {
        if (me_.index() != 0) return receive();
        Outbox<Slot>* to = nullptr;
        synchronise(problem_, *piece_, [&](const SamplePiece& piece, std::span<const Sample> samples) {
            if (piece.head.first == 0) to = with_room();
            if (to == nullptr) return work_.run(piece, samples);
            if constexpr (std::is_same_v<Slot, PieceAndSamples>) to->put(piece, samples);
            else to->put(work_.demodulate(piece, samples));
        });
        for (const auto& outbox : outboxes_) outbox->put_end();
    }
    void collect() const {
        if (me_.index() != 0) return;
        for (std::size_t i = 0; i < std::min<std::size_t>(problem_.found[0], problem_.frames.size()); ++i)
            copy(mine()[i], problem_.frames[i]);
    }

  private:
    struct Keeper {
        void operator()(const Frame& frame) const { part->keep(frame); }
        PiecePart* part;
    };
    /// Of rank 0.
    Frame* mine() const noexcept { return reinterpret_cast<Frame*>(frames_->elements().data()); }
    void keep(const Frame& frame) {
        const std::uint64_t number = frame.head.number;
        if (number >= problem_.frames.size()) return;
        if (frames_) return copy(frame, mine()[number]);
        their_frames_->store(number * sizeof(Frame), bytes_of(frame));
    }
    void receive() {
        for (;;) {
            const Slot& slot = inbox_->take();
            if (reinterpret_cast<const PieceHead&>(slot).count == 0) return inbox_->finish();
            if constexpr (std::is_same_v<Slot, PieceAndSamples>) work_.run(slot.piece, slot.samples);
            else work_.run(slot);
        }
    }
    Outbox<Slot>* with_room() const {
        constexpr std::size_t enough = 4;
        Outbox<Slot>* most = nullptr;
        for (const auto& outbox : outboxes_)
            if (outbox->room() >= (most == nullptr ? enough : most->room() + 1)) most = outbox.get();
        return most;
    }

    Rank me_;
    const Problem& problem_;
    Work<Keeper> work_;
    std::unique_ptr<SamplePiece> piece_;
    std::optional<Inbox<Slot>> inbox_;
    std::vector<std::unique_ptr<Outbox<Slot>>> outboxes_;
    std::optional<Region<std::byte>> frames_;
    std::optional<Remote<std::byte>> their_frames_;
};

/// A frame that rank 0 has found, in memory that all see.
struct Found {
    FrameHead frame;
    std::array<Sample, most_used> channel;
};

class SharedPart {
  public:
    SharedPart(Rank me, const Problem& problem, const SharedArray<Found>& found)
        : me_{me}, problem_{problem}, found_{found}, work_{problem.format, Keeper{problem}},
          piece_{std::make_unique<SamplePiece>()}, told_{me, "told"}, next_{me, "next"} {
        for (int rank = 0; rank < me.size(); ++rank) {
            if (rank != me.index()) told_.grant(rank), next_.grant(rank);
        }
        for (int rank = 0; me.index() == 0 && rank < me.size(); ++rank)
            if (rank != 0) tell_.push_back(RemoteCounter::accept(me, rank, "told"));
        if (me.index() != 0) take_.emplace(RemoteCounter::accept(me, 0, "next"));
    }

    void prepare() noexcept {
        told_.store(0);
        next_.store(0);
    }
    void run() {
        if (me_.index() == 0) find();
        for (;;) {
            const std::uint64_t number = take_ ? take_->fetch_add(1) : next_.fetch_add(1);
            told_.wait_until(number + 1, Awaited::anybody());
            if (number >= (told_.load() & ~ended)) return;
            receive(found_[number]);
        }
    }
    void collect() const noexcept {}

  private:
    struct Keeper {
        void operator()(const Frame& frame) const { copy(frame, problem.frames[frame.head.number]); }
        const Problem& problem;
    };
    static constexpr std::uint64_t ended = std::uint64_t{1} << 63;

    void tell(std::uint64_t count) {
        for (auto& each : tell_) each.store(count);
        told_.store(count);
    }
    void find() {
        std::uint64_t count = 0;
        synchronise(problem_, *piece_, [&](const SamplePiece& piece, std::span<const Sample>) {
            if (piece.head.first != 0 || count == found_.size()) return;
            found_[count] = {piece.head.frame, piece.channel};
            tell(++count);
        });
        tell(count | ended);
    }
    void receive(const Found& found) {
        const Format& format = problem_.format;
        SamplePiece& piece = *piece_;
        piece.channel = found.channel;
        std::size_t at = found.frame.position + 2 * format.size + format.symbol + format.prefix - format.early;
        if (at + found.frame.symbols * format.symbol - format.prefix > problem_.count) return;  // the samples end in it
        const auto most = static_cast<std::uint32_t>(piece_symbols(format, rates[found.frame.rate]));
        for (std::uint32_t first = 0; first < found.frame.symbols; first += most) {
            piece.head = {found.frame, first, std::min(most, found.frame.symbols - first)};
            const std::size_t run = piece.head.count * format.symbol;
            work_.run(std::as_const(piece), {problem_.samples.data() + at, run - format.prefix});
            at += run;
        }
    }

    Rank me_;
    const Problem& problem_;
    const SharedArray<Found>& found_;
    Work<Keeper> work_;
    std::unique_ptr<SamplePiece> piece_;
    Counter told_, next_;
    std::vector<RemoteCounter> tell_;
    std::optional<RemoteCounter> take_;
};

}  // namespace

double parallel(const Problem& problem, Variant variant, const RankOptions& options) {
    StoreWays::here();  // measured here, once, and not by each rank
    switch (variant) {
        case Variant::shared: {
            const SharedArray<Found> found{problem.frames.size()};
            return seconds_of_ranks(options, [&](Rank me) { return SharedPart{me, problem, found}; });
        }
        case Variant::stages:
            return seconds_of_ranks(options, [&](Rank me) { return PiecePart<SoftPiece>{me, problem}; });
        case Variant::push:
            return seconds_of_ranks(options, [&](Rank me) { return PiecePart<PieceAndSamples>{me, problem}; });
    }
    throw UsageError("ofdm: there is no such variant");
}

}  // namespace penstock::apps::ofdm
