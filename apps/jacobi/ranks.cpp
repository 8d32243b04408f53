// What one rank does, in each variant.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "apps/buffer.hpp"
#include "apps/jacobi/jacobi.hpp"
#include "kernels/jacobi.hpp"
#include "penstock/flag.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"

namespace penstock::apps::jacobi {
namespace {

/// This rank's points of an array with the fixed ends; the first rank has the left end too, the last one the right.
void copy_part(std::span<const float> from, std::span<float> to, const Range& points, std::size_t n) {
    const std::size_t first = points.begin == 0 ? 0 : points.begin + 1;
    const std::size_t last = points.end == n ? n + 2 : points.end + 1;
    std::ranges::copy(from.subspan(first, last - first), to.subspan(first).begin());
}

template <class Here>
Here granted(Here mine, int rank) {
    mine.grant(rank);
    return mine;
}

/// A counter at each of two neighbours, which the other raises.
class Signal {
  public:
    /// `here` and `there` name the sides: what arrives at my left comes from my neighbour's right.
    Signal(Rank me, int rank, const std::string& here, const std::string& there)
        : rank_{rank}, mine_{granted(Counter{me, here}, rank)}, theirs_{RemoteCounter::accept(me, rank, there)} {}

    void send(std::uint64_t value) { theirs_.store(value); }
    void await(std::uint64_t value) const { mine_.wait_until(value, Awaited::rank(rank_)); }
    std::uint64_t arrived() const noexcept { return mine_.load(); }

  private:
    int rank_;
    Counter mine_;
    RemoteCounter theirs_;
};

// The ways to and from one neighbour: publish() sends an edge of a sweep, edge_of() gives the neighbour's.
//
// Edges arrive in two places in turn. Two are enough: a rank publishes the edge of sweep s after it has the neighbour's
// of sweep s - 1, and the neighbour published that after it had read the edge of sweep s - 2, which the new one
// overwrites.

/// Edges are stored into a region; a flag behind each, or a barrier of all, tells that they are there.
template <bool flags>
class StoredEdges {
  public:
    static constexpr bool barrier = !flags;

    StoredEdges(Rank me, int rank, const std::string& here, const std::string& there)
        : mine_{granted(Region<float>{me, here + " edges", 2 * line}, rank)},
          theirs_{Remote<float>::accept(me, rank, there + " edges")} {
        if constexpr (flags) signal_.emplace(me, rank, here, there);
    }

    void publish(std::uint64_t sweep, float edge) {
        theirs_.store(sweep % 2 * line, edge);
        if constexpr (flags) signal_->send(sweep);
    }
    float edge_of(std::uint64_t sweep) const {
        if constexpr (flags) signal_->await(sweep);
        return mine_[sweep % 2 * line];
    }

  private:
    static constexpr std::size_t line = 64 / sizeof(float);

    Region<float> mine_;
    Remote<float> theirs_;
    std::optional<Signal> signal_;
};

/// An edge and the number of its sweep travel in one word, so one line travels where a region and a flag beside it take
/// two.
class Words {
  public:
    static constexpr bool barrier = false;
    static constexpr std::size_t most_sweeps = std::numeric_limits<std::uint32_t>::max();

    Words(Rank me, int rank, const std::string& here, const std::string& there)
        : words_{Signal{me, rank, here + " even", there + " even"}, Signal{me, rank, here + " odd", there + " odd"}} {}

    void publish(std::uint64_t sweep, float edge) {
        words_[sweep % 2].send(word(sweep) | std::bit_cast<std::uint32_t>(edge));
    }
    float edge_of(std::uint64_t sweep) const {
        const Signal& arrived = words_[sweep % 2];
        arrived.await(word(sweep));
        return std::bit_cast<float>(static_cast<std::uint32_t>(arrived.arrived()));
    }

  private:
    static constexpr std::uint64_t word(std::uint64_t sweep) noexcept { return sweep << 32; }

    Signal words_[2];
};

/// A way to each neighbour that there is.
template <class Way>
class Neighbours {
  public:
    explicit Neighbours(Rank me) {
        // Even ranks meet their left neighbour first, odd ones their right: nobody waits in a row.
        const auto meet_left = [&] {
            if (me.index() > 0) left.emplace(me, me.index() - 1, "left", "right");
        };
        const auto meet_right = [&] {
            if (me.index() + 1 < me.size()) right.emplace(me, me.index() + 1, "right", "left");
        };
        if (me.index() % 2 == 0) meet_left(), meet_right();
        else meet_right(), meet_left();
    }

    std::optional<Way> left, right;
};

/// The global array: two planes that sweeps read and write in turn. prepare() touches each part first, where it is
/// used.
struct GlobalLine {
    explicit GlobalLine(std::size_t size)
        : planes{SharedArray<float>{size, Home::first_touch}, SharedArray<float>{size, Home::first_touch}} {}
    SharedArray<float> planes[2];
};

template <bool flags>
class SharedPart {
  public:
    SharedPart(Rank me, const Problem& problem, const GlobalLine& line, std::size_t sweeps)
        : problem_{problem}, line_{line}, sweeps_{sweeps}, points_{share(me, problem.n)} {
        if constexpr (flags) neighbours_.emplace(me);
        else barrier_.emplace(me, "sweep");
    }

    void prepare() const {
        for (const auto& plane : line_.planes) copy_part(problem_.start.span(), plane.span(), points_, problem_.n);
    }
    void run() {
        const std::size_t count = points_.end - points_.begin;
        for (std::size_t sweep = 0; sweep < sweeps_; ++sweep) {
            if (sweep > 0) all_have_swept();
            kernels::jacobi(line_.planes[sweep % 2].span().subspan(points_.begin, count + 2),
                            problem_.source.span().subspan(points_.begin, count),
                            line_.planes[(sweep + 1) % 2].span().subspan(points_.begin + 1, count));
        }
    }
    void collect() const { copy_part(line_.planes[sweeps_ % 2].span(), problem_.result.span(), points_, problem_.n); }

  private:
    /// This rank and those that it has to do with: only they read what it writes next, and write what it reads.
    void all_have_swept() {
        if (barrier_) return barrier_->arrive_and_wait();
        ++swept_;
        for (auto* const neighbour : {&neighbours_->left, &neighbours_->right})
            if (*neighbour) (*neighbour)->send(swept_);
        for (auto* const neighbour : {&neighbours_->left, &neighbours_->right})
            if (*neighbour) (*neighbour)->await(swept_);
    }

    const Problem& problem_;
    const GlobalLine& line_;
    std::size_t sweeps_;
    Range points_;
    std::optional<Barrier> barrier_;
    std::optional<Neighbours<Signal>> neighbours_;
    std::uint64_t swept_ = 0;  ///< counted over all passes: counters only grow
};

template <class Way>
class PushPart {
  public:
    PushPart(Rank me, const Problem& problem, std::size_t sweeps)
        : problem_{problem}, sweeps_{sweeps}, points_{share(me, problem.n)}, count_{points_.end - points_.begin},
          source_{count_}, planes_{Buffer<float>{count_ + 2}, Buffer<float>{count_ + 2}}, neighbours_{me} {
        if constexpr (Way::barrier) barrier_.emplace(me, "sweep");
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
                if (barrier_) barrier_->arrive_and_wait();
                if (neighbours_.left) from.front() = neighbours_.left->edge_of(next_sweep_ - 1);
                if (neighbours_.right) from.back() = neighbours_.right->edge_of(next_sweep_ - 1);
            }
            // The edges first, so that they travel while the others are computed, and then all, the edges once more:
            // vectors that begin at the second point lie worse, which costs 3 to 5 % of a sweep, and two points cost
            // nothing.
            relax(from, to, 0, 1);
            if (neighbours_.left) neighbours_.left->publish(next_sweep_, to[1]);
            relax(from, to, count_ - 1, 1);
            if (neighbours_.right) neighbours_.right->publish(next_sweep_, to[count_]);
            relax(from, to, 0, count_);
        }
    }

    void collect() const {
        const auto made = planes_[sweeps_ % 2].span();
        std::ranges::copy(made.subspan(1, count_), &problem_.result[points_.begin + 1]);
        if (!neighbours_.left) problem_.result[0] = made.front();
        if (!neighbours_.right) problem_.result[problem_.n + 1] = made.back();
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
    Neighbours<Way> neighbours_;
    std::optional<Barrier> barrier_;
    std::uint64_t next_sweep_ = 1;  ///< counted over all passes: counters only grow
};

}  // namespace

void of_rank(Rank me, const Problem& problem, std::size_t sweeps, Variant variant, int passes) {
    const auto by = [&]<class Way>() {
        seconds_of_rank(me, passes, [&](Rank rank) { return PushPart<Way>{rank, problem, sweeps}; });
    };
    if (variant == Variant::push_barrier) by.template operator()<StoredEdges<false>>();
    else if (variant == Variant::push) by.template operator()<StoredEdges<true>>();
    else if (variant == Variant::push_word) by.template operator()<Words>();
    else throw UsageError("jacobi: the variant '" + std::string(name(variant)) + "' needs memory that all ranks share");
}

double parallel(const Problem& problem, std::size_t sweeps, Variant variant, const RankOptions& options) {
    if (std::cmp_greater(options.ranks, problem.n))
        throw UsageError("jacobi: " + std::to_string(problem.n) + " points are too few for " +
                         std::to_string(options.ranks) + " ranks; ask for at most one rank a point");
    const auto passes = static_cast<std::size_t>(std::max(1, options.passes));
    if (variant == Variant::push_word && sweeps > Words::most_sweeps / passes)
        throw UsageError("jacobi: " + std::to_string(sweeps) + " sweeps in each of " + std::to_string(passes) +
                         " passes are too many to count in half a word; ask for at most " +
                         std::to_string(Words::most_sweeps / passes));
    const auto shared = [&]<bool flags>() {
        const GlobalLine line{problem.n + 2};
        return seconds_of_ranks(options, [&](Rank me) { return SharedPart<flags>{me, problem, line, sweeps}; });
    };
    switch (variant) {
        case Variant::shared:
            return shared.template operator()<false>();
        case Variant::shared_flags:
            return shared.template operator()<true>();
        case Variant::push_barrier:
            return seconds_of_ranks(options,
                                    [&](Rank me) { return PushPart<StoredEdges<false>>{me, problem, sweeps}; });
        case Variant::push:
            return seconds_of_ranks(options, [&](Rank me) { return PushPart<StoredEdges<true>>{me, problem, sweeps}; });
        case Variant::push_word:
            return seconds_of_ranks(options, [&](Rank me) { return PushPart<Words>{me, problem, sweeps}; });
    }
    throw UsageError("jacobi: there is no such variant");
}

}  // namespace penstock::apps::jacobi
