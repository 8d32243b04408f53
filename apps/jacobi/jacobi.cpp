#include "apps/jacobi/jacobi.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "apps/buffer.hpp"
#include "apps/random.hpp"
#include "kernels/jacobi.hpp"
#include "penstock/flag.hpp"

namespace penstock::apps::jacobi {
namespace {

/// This rank's points of an array with the fixed ends; the first rank has the left end too, the last one the right.
void copy_part(std::span<const float> from, std::span<float> to, const Range& points, std::size_t n) {
    const std::size_t first = points.begin == 0 ? 0 : points.begin + 1;
    const std::size_t last = points.end == n ? n + 2 : points.end + 1;
    std::ranges::copy(from.subspan(first, last - first), to.subspan(first).begin());
}

/// The global array: two planes that sweeps read and write in turn. prepare() touches each part first, where it is
/// used.
struct GlobalLine {
    explicit GlobalLine(std::size_t size)
        : planes{SharedArray<float>{size, Home::first_touch}, SharedArray<float>{size, Home::first_touch}} {}
    SharedArray<float> planes[2];
};

class SharedPart {
  public:
    SharedPart(Rank me, const Problem& problem, const GlobalLine& line, std::size_t sweeps)
        : problem_{problem}, line_{line}, sweeps_{sweeps}, points_{share(me, problem.n)}, barrier_{me, "sweep"} {}

    void prepare() const {
        for (const auto& plane : line_.planes) copy_part(problem_.start.span(), plane.span(), points_, problem_.n);
    }
    void run() {
        const std::size_t count = points_.end - points_.begin;
        for (std::size_t sweep = 0; sweep < sweeps_; ++sweep) {
            if (sweep > 0) barrier_.arrive_and_wait();
            kernels::jacobi(line_.planes[sweep % 2].span().subspan(points_.begin, count + 2),
                            problem_.source.span().subspan(points_.begin, count),
                            line_.planes[(sweep + 1) % 2].span().subspan(points_.begin + 1, count));
        }
    }
    void collect() const { copy_part(line_.planes[sweeps_ % 2].span(), problem_.result.span(), points_, problem_.n); }

  private:
    const Problem& problem_;
    const GlobalLine& line_;
    std::size_t sweeps_;
    Range points_;
    Barrier barrier_;
};

/// The way to and from one neighbour. An edge and the number of its sweep travel in one word, so one line travels where
/// a region and a counter beside it would take two.
///
/// Words arrive in two counters in turn. Two are enough: a rank publishes the edge of sweep s after it has the
/// neighbour's of sweep s - 1, and the neighbour published that after it had read the edge of sweep s - 2, which the
/// new one overwrites.
class Neighbour {
  public:
    static constexpr std::size_t most_sweeps = std::numeric_limits<std::uint32_t>::max();

    /// `here` and `there` name the sides: what arrives at my left comes from my neighbour's right.
    Neighbour(Rank me, int rank, const std::string& here, const std::string& there)
        : rank_{rank}, mine_{grant(Counter{me, here + " even"}, rank), grant(Counter{me, here + " odd"}, rank)},
          theirs_{RemoteCounter::accept(me, rank, there + " even"), RemoteCounter::accept(me, rank, there + " odd")} {}

    void publish(std::uint64_t sweep, float edge) {
        theirs_[sweep % 2].store(word(sweep) | std::bit_cast<std::uint32_t>(edge));
    }
    float edge_of(std::uint64_t sweep) const {
        const Counter& arrived = mine_[sweep % 2];
        arrived.wait_until(word(sweep), Awaited::rank(rank_));
        return std::bit_cast<float>(static_cast<std::uint32_t>(arrived.load()));
    }

  private:
    static constexpr std::uint64_t word(std::uint64_t sweep) noexcept { return sweep << 32; }
    static Counter grant(Counter mine, int rank) {
        mine.grant(rank);
        return mine;
    }

    int rank_;
    Counter mine_[2];
    RemoteCounter theirs_[2];
};

class PushPart {
  public:
    PushPart(Rank me, const Problem& problem, std::size_t sweeps)
        : problem_{problem}, sweeps_{sweeps}, points_{share(me, problem.n)}, count_{points_.end - points_.begin},
          source_{count_}, planes_{Buffer<float>{count_ + 2}, Buffer<float>{count_ + 2}} {
        // Even ranks meet their left neighbour first, odd ones their right: nobody waits in a row.
        const auto left = [&] {
            if (me.index() > 0) left_.emplace(me, me.index() - 1, "left", "right");
        };
        const auto right = [&] {
            if (me.index() + 1 < me.size()) right_.emplace(me, me.index() + 1, "right", "left");
        };
        if (me.index() % 2 == 0) left(), right();
        else right(), left();
    }

    void prepare() {
        std::ranges::copy(problem_.source.span().subspan(points_.begin, count_), source_.data());
        for (auto& plane : planes_)
            std::ranges::copy(problem_.start.span().subspan(points_.begin, count_ + 2), plane.data());
    }

    void run() {
        for (std::size_t sweep = 0; sweep < sweeps_; ++sweep, ++next_sweep_) {
            const auto from = planes_[sweep % 2].span(), to = planes_[(sweep + 1) % 2].span();
            if (sweep > 0) {
                if (left_) from.front() = left_->edge_of(next_sweep_ - 1);
                if (right_) from.back() = right_->edge_of(next_sweep_ - 1);
            }
            // The edges first, so that they travel while the others are computed, and then all, the edges once more:
            // vectors that begin at the second point lie worse, which costs 3 to 5 % of a sweep, and two points cost
            // nothing.
            relax(from, to, 0, 1);
            if (left_) left_->publish(next_sweep_, to[1]);
            relax(from, to, count_ - 1, 1);
            if (right_) right_->publish(next_sweep_, to[count_]);
            relax(from, to, 0, count_);
        }
    }

    void collect() const {
        const auto made = planes_[sweeps_ % 2].span();
        std::ranges::copy(made.subspan(1, count_), &problem_.result[points_.begin + 1]);
        if (!left_) problem_.result[0] = made.front();
        if (!right_) problem_.result[problem_.n + 1] = made.back();
    }

  private:
    void relax(std::span<const float> from, std::span<float> to, std::size_t first, std::size_t count) const {
        kernels::jacobi(from.subspan(first, count + 2), source_.span().subspan(first, count),
                        to.subspan(first + 1, count));
    }

    const Problem& problem_;
    std::size_t sweeps_;
    Range points_;
    std::size_t count_;
    Buffer<float> source_;
    Buffer<float> planes_[2];
    std::optional<Neighbour> left_, right_;
    std::uint64_t next_sweep_ = 1;  ///< counted over all passes: counters only grow
};

}  // namespace

std::string_view name(Variant variant) noexcept { return variant == Variant::shared ? "shared" : "push"; }

void generate(Problem& problem, std::uint32_t seed) {
    Random random{seed};
    fill(problem.start.span(), nullptr, random, -1.0f, 1.0f);
    fill(problem.source.span(), nullptr, random, -1e-3f, 1e-3f);
}

void serial(std::span<const float> start, std::span<const float> source, std::span<float> result, std::size_t sweeps) {
    serial(start, source, result, Buffer<float>{start.size()}.span(), sweeps);
}

void serial(std::span<const float> start, std::span<const float> source, std::span<float> result,
            std::span<float> other, std::size_t sweeps) {
    // The last sweep ends in `result`.
    std::span<float> planes[] = {sweeps % 2 == 0 ? result : other, sweeps % 2 == 0 ? other : result};
    for (const auto plane : planes) std::ranges::copy(start, plane.begin());
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep)
        kernels::jacobi(planes[sweep % 2], source, planes[(sweep + 1) % 2].subspan(1, source.size()));
}

double parallel(const Problem& problem, std::size_t sweeps, Variant variant, const RankOptions& options) {
    if (std::cmp_greater(options.ranks, problem.n))
        throw UsageError("jacobi: " + std::to_string(problem.n) + " points are too few for " +
                         std::to_string(options.ranks) + " ranks; ask for at most one rank a point");
    const auto passes = static_cast<std::size_t>(std::max(1, options.passes));
    if (variant == Variant::push && sweeps > Neighbour::most_sweeps / passes)
        throw UsageError("jacobi: " + std::to_string(sweeps) + " sweeps in each of " + std::to_string(passes) +
                         " passes are too many to count in half a word; ask for at most " +
                         std::to_string(Neighbour::most_sweeps / passes));
    if (variant == Variant::push)
        return seconds_of_ranks(options, [&](Rank me) { return PushPart{me, problem, sweeps}; });
    const GlobalLine line{problem.n + 2};
    return seconds_of_ranks(options, [&](Rank me) { return SharedPart{me, problem, line, sweeps}; });
}

}  // namespace penstock::apps::jacobi
