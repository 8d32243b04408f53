#include "apps/motion/motion.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/motion/in_step.hpp"
#include "apps/random.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"
#include "penstock/store_way.hpp"

namespace penstock::apps::motion {
namespace {

using Image = view<const Pixel, 2>;

Shape checked(const Shape& shape) {
    if (shape.block == 0 || shape.block > 4096 || shape.range > 1024)
        throw UsageError("motion: blocks have sides of 1 to 4096 and move by at most 1024");
    if (shape.rows == 0 || shape.columns == 0 || shape.rows % shape.block != 0 || shape.columns % shape.block != 0)
        throw UsageError("motion: frames of " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                         " are not made of whole blocks of side " + std::to_string(shape.block));
    if (shape.frames < 2) throw UsageError("motion: there must be at least 2 frames to find what moved");
    return shape;
}

/// The rows of a frame that a search in these rows of blocks looks at.
Range strip_of(const Shape& shape, const Range& block_rows) {
    if (block_rows.begin == block_rows.end) return {};
    const std::size_t first = block_rows.begin * shape.block, last = block_rows.end * shape.block;
    return {first - std::min(first, shape.range), std::min(shape.rows, last + shape.range)};
}

/// Searches some rows of blocks. Both images begin with row `first` of their frames.
void search(const Shape& shape, Image current, Image reference, std::size_t first, const Range& block_rows,
            Match* matches) {
    for (std::size_t row = block_rows.begin * shape.block; row < block_rows.end * shape.block; row += shape.block) {
        const std::size_t top = row - std::min(row, shape.range);
        const std::size_t bottom = std::min(shape.rows, row + shape.block + shape.range);
        for (std::size_t column = 0; column < shape.columns; column += shape.block) {
            const std::size_t left = column - std::min(column, shape.range);
            const std::size_t right = std::min(shape.columns, column + shape.block + shape.range);
            *matches++ = kernels::motion::search(current.part({row - first, column}, {shape.block, shape.block}),
                                                 reference.part({top - first, left}, {bottom - top, right - left}),
                                                 row - top, column - left);
        }
    }
}

Image whole(const Shape& shape, const Pixel* frame) { return {frame, {shape.rows, shape.columns}}; }

// Where frames lie, and how rank 0 brings them there: take_in() at rank 0, slot() at all, whose image begins with row
// first() of the frame.

/// A global ring of frames.
class SharedFrames {
  public:
    SharedFrames(Rank, const Problem& problem, const SharedArray<Pixel>& ring) : problem_{problem}, ring_{ring} {}

    std::size_t first() const noexcept { return 0; }
    Image slot(std::size_t frame) const noexcept { return whole(problem_.shape, place(frame)); }
    void take_in(std::size_t frame) const {
        const std::size_t pixels = problem_.shape.pixels();
        std::copy_n(problem_.frames.data() + frame * pixels, pixels, place(frame));
    }
    Match* matches(std::size_t first, std::size_t) const noexcept { return problem_.matches.data() + first; }
    void give(std::size_t, std::size_t) const noexcept {}
    void collect() const noexcept {}

  private:
    Pixel* place(std::size_t frame) const noexcept { return ring_.data() + frame % slots * problem_.shape.pixels(); }

    const Problem& problem_;
    const SharedArray<Pixel>& ring_;
};

/// Matches that each rank stores to rank 0.
class StoredMatches {
  public:
    StoredMatches(Rank me, const Problem& problem) : problem_{problem} {
        if (me.index() == 0) {
            all_.emplace(me, "matches", (problem.shape.frames - 1) * problem.shape.blocks());
            for (int rank = 0; rank < me.size(); ++rank) all_->grant(rank);
        }
        remote_.emplace(Remote<Match>::accept(me, 0, "matches"));
    }

    Match* matches(std::size_t, std::size_t count) {
        found_.resize(std::max(found_.size(), count));
        return found_.data();
    }
    void give(std::size_t first, std::size_t count) const {
        remote_->store(first, std::span<const Match>{found_}.first(count));
    }
    void collect() const {
        if (all_) std::ranges::copy(all_->elements(), problem_.matches.data());
    }

  private:
    const Problem& problem_;
    std::vector<Match> found_;
    std::optional<Region<Match>> all_;  ///< rank 0's
    std::optional<Remote<Match>> remote_;
};

/// Each rank has the strips that it needs, which rank 0 stores one after the other.
class StoredStrips : public StoredMatches {
  public:
    StoredStrips(Rank me, const Problem& problem)
        : StoredMatches{me, problem}, problem_{problem}, strip_{strip(me.index(), me.size())},
          strips_{me, "strips", slots * std::max<std::size_t>(1, pixels(strip_))} {
        strips_.grant(0);
        if (me.index() == 0)
            for (int rank = 0; rank < me.size(); ++rank)
                searchers_.push_back({Remote<Pixel>::accept(me, rank, "strips"), strip(rank, me.size())});
    }

    std::size_t first() const noexcept { return strip_.begin; }
    Image slot(std::size_t frame) const noexcept {
        return {strips_.data() + frame % slots * pixels(strip_), {strip_.end - strip_.begin, problem_.shape.columns}};
    }
    void take_in(std::size_t frame) const {
        const Shape& shape = problem_.shape;
        for (const Searcher& searcher : searchers_) {
            const std::size_t size = pixels(searcher.strip);
            const Pixel* const from =
                problem_.frames.data() + frame * shape.pixels() + searcher.strip.begin * shape.columns;
            searcher.strips.store(frame % slots * size, std::span<const Pixel>{from, size});
        }
    }

  private:
    struct Searcher {
        Remote<Pixel> strips;
        Range strip;
    };

    std::size_t pixels(const Range& strip) const noexcept { return (strip.end - strip.begin) * problem_.shape.columns; }
    Range strip(int rank, int ranks) const {
        const auto part = [&](int index) {
            return problem_.shape.down() * static_cast<std::size_t>(index) / static_cast<std::size_t>(ranks);
        };
        return strip_of(problem_.shape, {part(rank), part(rank + 1)});
    }

    const Problem& problem_;
    Range strip_;
    Region<Pixel> strips_;
    std::vector<Searcher> searchers_;  ///< rank 0's
};

/// Each rank has whole frames, which rank 0 reads once and stores to all.
class MulticastFrames : public StoredMatches {
  public:
    MulticastFrames(Rank me, const Problem& problem)
        : StoredMatches{me, problem}, problem_{problem}, frames_{me, "pictures", slots * problem.shape.pixels()} {
        frames_.grant(0);
        if (me.index() != 0) return;
        std::vector<Remote<Pixel>> all;
        for (int rank = 0; rank < me.size(); ++rank) all.push_back(Remote<Pixel>::accept(me, rank, "pictures"));
        everybody_.emplace(std::move(all));
    }

    std::size_t first() const noexcept { return 0; }
    Image slot(std::size_t frame) const noexcept {
        return whole(problem_.shape, frames_.data() + frame % slots * problem_.shape.pixels());
    }
    void take_in(std::size_t frame) const {
        const std::size_t pixels = problem_.shape.pixels();
        everybody_->store(frame % slots * pixels,
                          std::span<const Pixel>{problem_.frames.data() + frame * pixels, pixels});
    }

  private:
    const Problem& problem_;
    Region<Pixel> frames_;
    std::optional<Multicast<Pixel>> everybody_;  ///< rank 0's
};

template <class Frames, class InStep>
class SearchPart {
  public:
    template <class... Where>
    SearchPart(Rank me, const Problem& problem, const Where&... where)
        : shape_{problem.shape}, takes_in_{me.index() == 0}, mine_{share(me, shape_.down())},
          frames_{me, problem, where...}, in_step_{me} {}

    void prepare() const noexcept {}
    void run() {
        const std::size_t count = (mine_.end - mine_.begin) * shape_.across();
        take_in(0);
        take_in(1);
        for (std::size_t frame = 1; frame < shape_.frames; ++frame) {
            in_step_.turn();
            if (frame + 1 < shape_.frames) take_in(frame + 1);
            in_step_.before_search(frame);
            const std::size_t first = (frame - 1) * shape_.blocks() + mine_.begin * shape_.across();
            search(shape_, frames_.slot(frame), frames_.slot(frame - 1), frames_.first(), mine_,
                   frames_.matches(first, count));
            frames_.give(first, count);
            in_step_.searched(frame);
        }
        in_step_.finish(shape_.frames);
    }
    void collect() const { frames_.collect(); }

  private:
    void take_in(std::size_t frame) {
        if (!takes_in_) return;
        in_step_.before_taking_in(frame);
        frames_.take_in(frame);
        in_step_.taken_in(frame);
    }

    Shape shape_;
    bool takes_in_;
    Range mine_;
    Frames frames_;
    InStep in_step_;
};

}  // namespace

std::string_view name(Variant variant) noexcept {
    switch (variant) {
        case Variant::shared:
            return "shared";
        case Variant::shared_flags:
            return "shared-flags";
        case Variant::push_barrier:
            return "push-barrier";
        case Variant::push:
            return "push";
        case Variant::multicast:
            return "multicast";
    }
    return "?";
}

Problem::Problem(const Shape& wanted)
    : shape{checked(wanted)}, frames{shape.frames * shape.pixels()}, matches{(shape.frames - 1) * shape.blocks()} {}

void generate(Problem& problem, std::uint32_t seed) {
    const Shape& shape = problem.shape;
    Random random{seed};
    const float angle = random.real(0.0f, 6.28f);
    for (std::size_t frame = 0; frame < shape.frames; ++frame) {
        const float down = std::round(4.0f * std::sin(angle + static_cast<float>(frame)) * static_cast<float>(frame));
        const float right = std::round(3.0f * static_cast<float>(frame));
        for (std::size_t row = 0; row < shape.rows; ++row) {
            for (std::size_t column = 0; column < shape.columns; ++column) {
                const float y = static_cast<float>(row) + down, x = static_cast<float>(column) - right;
                const float texture =
                    60.0f * std::sin(0.21f * x + 0.05f * y) + 40.0f * std::cos(0.13f * y - 0.011f * x);
                problem.frames[frame * shape.pixels() + row * shape.columns + column] =
                    static_cast<Pixel>(std::clamp(128.0f + texture + random.real(-8.0f, 8.0f), 0.0f, 255.0f));
            }
        }
    }
}

void serial(const Problem& problem, std::span<Match> matches) {
    const Shape& shape = problem.shape;
    for (std::size_t frame = 1; frame < shape.frames; ++frame)
        search(shape, whole(shape, problem.frames.data() + frame * shape.pixels()),
               whole(shape, problem.frames.data() + (frame - 1) * shape.pixels()), 0, {0, shape.down()},
               matches.data() + (frame - 1) * shape.blocks());
}

double parallel(const Problem& problem, Variant variant, const RankOptions& options) {
    StoreWays::here();  // measured here, once, and not by each rank
    const auto stored = [&]<class Frames, class InStep>() {
        return seconds_of_ranks(options, [&](Rank me) { return SearchPart<Frames, InStep>{me, problem}; });
    };
    const auto shared = [&]<class InStep>() {
        const SharedArray<Pixel> ring{slots * problem.shape.pixels()};
        return seconds_of_ranks(options, [&](Rank me) { return SearchPart<SharedFrames, InStep>{me, problem, ring}; });
    };
    switch (variant) {
        case Variant::shared:
            return shared.template operator()<InStepByBarrier>();
        case Variant::shared_flags:
            return shared.template operator()<InStepByFlags>();
        case Variant::push_barrier:
            return stored.template operator()<StoredStrips, InStepByBarrier>();
        case Variant::push:
            return stored.template operator()<StoredStrips, InStepByFlags>();
        case Variant::multicast:
            return stored.template operator()<MulticastFrames, InStepByFlags>();
    }
    throw UsageError("motion: there is no such variant");
}

}  // namespace penstock::apps::motion
