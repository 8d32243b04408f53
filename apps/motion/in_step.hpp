// How ranks keep in step: rank 0 takes a frame in, which overwrites the one three before it, while all search in the
// one before. Frames are counted from 0 in each pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/barrier.hpp"
#include "penstock/flag.hpp"

namespace penstock::apps::motion {

/// Frames that have room: one is looked at twice, as the current one and as the reference, while the next one arrives.
inline constexpr std::size_t slots = 3;

/// A barrier of all stands before each search.
class InStepByBarrier {
  public:
    explicit InStepByBarrier(Rank me) : barrier_{me, "frame"} {}

    void turn() { barrier_.arrive_and_wait(); }
    void before_taking_in(std::size_t) const noexcept {}
    void taken_in(std::size_t) const noexcept {}
    void before_search(std::size_t) const noexcept {}
    void searched(std::size_t) const noexcept {}
    void finish(std::size_t) const noexcept {}

  private:
    Barrier barrier_;
};

/// Rank 0 tells each rank of a frame, and each tells rank 0 that it has searched.
class InStepByFlags {
  public:
    explicit InStepByFlags(Rank me) : frames_{me, "frames"} {
        frames_.grant(0);
        if (me.index() == 0)
            for (int rank = 0; rank < me.size(); ++rank) {
                Counter searched{me, "searched " + std::to_string(rank)};
                searched.grant(rank);
                searchers_.push_back({RemoteCounter::accept(me, rank, "frames"), std::move(searched)});
            }
        searched_.emplace(RemoteCounter::accept(me, 0, "searched " + std::to_string(me.index())));
    }

    void turn() const noexcept {}
    /// Rank 0: once nobody looks at what the frame overwrites, the reference of two searches ago.
    void before_taking_in(std::size_t frame) const {
        if (frame >= slots) await(frame - 2);
    }
    /// Rank 0: all stores of the frame are made.
    void taken_in(std::size_t frame) {
        for (Searcher& searcher : searchers_) searcher.frames.store(frames_before_ + frame + 1);
    }
    void before_search(std::size_t frame) const { frames_.wait_until(frames_before_ + frame + 1, Awaited::rank(0)); }
    void searched(std::size_t frame) { searched_->store(searches_before_ + frame); }
    /// Behind the last search of a pass.
    void finish(std::size_t frames) {
        await(frames - 1);
        frames_before_ += frames;
        searches_before_ += frames - 1;
    }

  private:
    /// What rank 0 knows of a rank, itself too.
    struct Searcher {
        RemoteCounter frames;
        Counter searched;
    };

    /// Rank 0: waits until everybody has searched in so many frames.
    void await(std::size_t frame) const {
        for (std::size_t rank = 0; rank < searchers_.size(); ++rank)
            searchers_[rank].searched.wait_until(searches_before_ + frame, Awaited::rank(static_cast<int>(rank)));
    }

    Counter frames_;
    std::vector<Searcher> searchers_;  ///< rank 0's
    std::optional<RemoteCounter> searched_;
    std::uint64_t frames_before_ = 0, searches_before_ = 0;  ///< of the passes before: counters only grow
};

}  // namespace penstock::apps::motion
