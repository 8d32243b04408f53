#include "apps/motion/motion.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "apps/random.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"
#include "penstock/store_way.hpp"

namespace penstock::apps::motion {
namespace {

using Image = view<const Pixel, 2>;

/// A frame is looked at twice, as the current one and as the reference, while the next one arrives.
constexpr std::size_t slots = 3;

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

class SharedPart {
  public:
    SharedPart(Rank me, const Problem& problem, const SharedArray<Pixel>& ring)
        : me_{me}, problem_{problem}, shape_{problem.shape}, ring_{ring}, mine_{share(me, shape_.down())},
          barrier_{me, "frame"} {}

    void prepare() const noexcept {}
    void run() {
        take_in(0);
        take_in(1);
        for (std::size_t frame = 1; frame < shape_.frames; ++frame) {
            barrier_.arrive_and_wait();
            if (frame + 1 < shape_.frames) take_in(frame + 1);
            Match* const matches =
                problem_.matches.data() + (frame - 1) * shape_.blocks() + mine_.begin * shape_.across();
            search(shape_, whole(shape_, slot(frame)), whole(shape_, slot(frame - 1)), 0, mine_, matches);
        }
    }
    void collect() const noexcept {}

  private:
    Pixel* slot(std::size_t frame) const noexcept { return ring_.data() + frame % slots * shape_.pixels(); }
    void take_in(std::size_t frame) const {
        if (me_.index() == 0)
            std::copy_n(problem_.frames.data() + frame * shape_.pixels(), shape_.pixels(), slot(frame));
    }

    Rank me_;
    const Problem& problem_;
    Shape shape_;
    const SharedArray<Pixel>& ring_;
    Range mine_;
    Barrier barrier_;
};

/// What rank 0 knows of a rank that searches, itself too.
struct Searcher {
    Remote<Pixel> strips;
    RemoteCounter frames;
    Counter searched;
    Range strip;
};

class PushPart {
  public:
    PushPart(Rank me, const Problem& problem)
        : problem_{problem}, shape_{problem.shape}, me_{me.index()}, mine_{share(me, shape_.down())},
          strip_{strip_of(shape_, mine_)}, strips_{me, "strips", slots * std::max<std::size_t>(1, pixels(strip_))},
          frames_{me, "frames"}, found_{std::max<std::size_t>(1, (mine_.end - mine_.begin) * shape_.across())} {
        strips_.grant(0);
        frames_.grant(0);
        if (me_ == 0) {
            all_matches_.emplace(me, "matches", (shape_.frames - 1) * shape_.blocks());
            for (int rank = 0; rank < me.size(); ++rank) {
                all_matches_->grant(rank);
                Counter searched{me, "searched " + std::to_string(rank)};
                searched.grant(rank);
                const Range rows{
                    shape_.down() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(me.size()),
                    shape_.down() * (static_cast<std::size_t>(rank) + 1) / static_cast<std::size_t>(me.size())};
                searchers_.push_back({Remote<Pixel>::accept(me, rank, "strips"),
                                      RemoteCounter::accept(me, rank, "frames"), std::move(searched),
                                      strip_of(shape_, rows)});
            }
        }
        matches_.emplace(Remote<Match>::accept(me, 0, "matches"));
        searched_.emplace(RemoteCounter::accept(me, 0, "searched " + std::to_string(me_)));
    }

    void prepare() const noexcept {}
    void run() {
        hand_out(0);
        hand_out(1);
        for (std::size_t frame = 1; frame < shape_.frames; ++frame) {
            if (frame + 1 < shape_.frames) hand_out(frame + 1);
            frames_.wait_until(frames_before_ + frame + 1, Awaited::rank(0));
            search(shape_, slot(frame), slot(frame - 1), strip_.begin, mine_, found_.data());
            const std::size_t first = (frame - 1) * shape_.blocks() + mine_.begin * shape_.across();
            matches_->store(first, std::span<const Match>{found_}.first((mine_.end - mine_.begin) * shape_.across()));
            matches_->publish(*searched_, searches_before_ + frame);
        }
        await(shape_.frames - 1);
        frames_before_ += shape_.frames;
        searches_before_ += shape_.frames - 1;
    }
    void collect() const {
        if (all_matches_) std::ranges::copy(all_matches_->elements(), problem_.matches.data());
    }

  private:
    std::size_t pixels(const Range& strip) const noexcept { return (strip.end - strip.begin) * shape_.columns; }
    Image slot(std::size_t frame) const noexcept {
        return {strips_.data() + frame % slots * pixels(strip_), {strip_.end - strip_.begin, shape_.columns}};
    }
    /// Rank 0: waits until everybody has searched in so many frames.
    void await(std::size_t frame) const {
        for (std::size_t rank = 0; rank < searchers_.size(); ++rank)
            searchers_[rank].searched.wait_until(searches_before_ + frame, Awaited::rank(static_cast<int>(rank)));
    }
    /// Rank 0: stores a frame's strips, once nobody looks at what they overwrite: the reference of two searches ago.
    void hand_out(std::size_t frame) {
        if (frame >= slots) await(frame - 2);
        for (Searcher& searcher : searchers_) {
            const std::size_t size = pixels(searcher.strip);
            const Pixel* const from =
                problem_.frames.data() + frame * shape_.pixels() + searcher.strip.begin * shape_.columns;
            searcher.strips.store(frame % slots * size, std::span<const Pixel>{from, size});
            searcher.strips.publish(searcher.frames, frames_before_ + frame + 1);
        }
    }

    const Problem& problem_;
    Shape shape_;
    int me_;
    Range mine_, strip_;
    Region<Pixel> strips_;
    Counter frames_;
    std::vector<Match> found_;
    std::optional<Region<Match>> all_matches_;  ///< rank 0's
    std::vector<Searcher> searchers_;           ///< rank 0's
    std::optional<Remote<Match>> matches_;
    std::optional<RemoteCounter> searched_;
    std::uint64_t frames_before_ = 0, searches_before_ = 0;  ///< of the passes before: counters only grow
};

}  // namespace

std::string_view name(Variant variant) noexcept { return variant == Variant::shared ? "shared" : "push"; }

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
    if (variant == Variant::push) return seconds_of_ranks(options, [&](Rank me) { return PushPart{me, problem}; });
    const SharedArray<Pixel> ring{slots * problem.shape.pixels()};
    return seconds_of_ranks(options, [&](Rank me) { return SharedPart{me, problem, ring}; });
}

}  // namespace penstock::apps::motion
