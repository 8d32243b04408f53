#include "apps/radix/radix.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/compare.hpp"
#include "apps/exchange.hpp"
#include "apps/random.hpp"
#include "penstock/store_way.hpp"

namespace penstock::apps::radix {
namespace {

using kernels::radix::digits;
using kernels::radix::line;
using kernels::radix::rounds;
using kernels::radix::Table;

/// Who has which places: all ranks equally many whole lines, the last ones perhaps fewer or none.
struct Layout {
    Layout(std::size_t n, int ranks)
        : keys{n}, keys_each{parts(parts(n, line), static_cast<std::size_t>(ranks)) * line} {}

    Range of(int rank) const noexcept {
        const auto r = static_cast<std::size_t>(rank);
        return {std::min(keys, r * keys_each), std::min(keys, (r + 1) * keys_each)};
    }

    std::size_t keys;
    std::size_t keys_each;
};

std::span<Key> part(std::span<Key> keys, const Range& range) {
    return keys.subspan(range.begin, range.end - range.begin);
}

/// Where this rank's first key of each digit goes: behind all smaller digits, and behind the same digit of the ranks
/// before.
Table places(std::span<const Table> counts, int rank) {
    Table first{};
    std::uint32_t place = 0;
    for (std::size_t d = 0; d < digits; ++d) {
        for (std::size_t r = 0; r < counts.size(); ++r) {
            if (r == static_cast<std::size_t>(rank)) first[d] = place;
            place += counts[r][d];
        }
    }
    return first;
}

/// The global arrays: two for the keys, read and written in turn, and the counts of all ranks.
struct GlobalKeys {
    GlobalKeys(std::size_t n, int ranks)
        : keys{SharedArray<Key>{n, Home::first_touch}, SharedArray<Key>{n, Home::first_touch}},
          counts{static_cast<std::size_t>(ranks)} {}
    SharedArray<Key> keys[2];
    SharedArray<Table> counts;
};

class SharedPart {
  public:
    SharedPart(Rank me, const Problem& problem, const GlobalKeys& global, bool whole_lines)
        : me_{me}, problem_{problem}, global_{global}, whole_lines_{whole_lines},
          mine_{Layout{problem.keys.size(), me.size()}.of(me.index())}, barrier_{me, "round"} {
        // homed here; prepare() does it for the other one
        std::ranges::fill(part(global_.keys[1].span(), mine_), Key{});
    }

    void prepare() const {
        std::ranges::copy(part(problem_.keys.span(), mine_), part(global_.keys[0].span(), mine_).begin());
    }
    void run() {
        for (int round = 0; round < rounds; ++round) {
            if (round > 0) barrier_.arrive_and_wait();
            const auto keys = part(global_.keys[round % 2].span(), mine_);
            Key* const to = global_.keys[(round + 1) % 2].data();
            global_.counts[static_cast<std::size_t>(me_.index())] = kernels::radix::count(keys, round);
            barrier_.arrive_and_wait();
            Table next = places(global_.counts.span(), me_.index());
            if (whole_lines_)
                kernels::radix::scatter_lines(keys, round, next, [to](std::size_t first, auto gathered) {
                    std::ranges::copy(gathered, to + first);
                });
            else kernels::radix::scatter(keys, round, next, to);
        }
    }
    void collect() const {
        std::ranges::copy(part(global_.keys[0].span(), mine_), part(problem_.sorted.span(), mine_).begin());
    }

  private:
    Rank me_;
    const Problem& problem_;
    const GlobalKeys& global_;
    bool whole_lines_;
    Range mine_;
    Barrier barrier_;
};

class PushPart {
  public:
    PushPart(Rank me, const Problem& problem, bool whole_lines)
        : me_{me}, problem_{problem}, whole_lines_{whole_lines}, layout_{problem.keys.size(), me.size()},
          mine_{layout_.of(me.index())},
          keys_{Exchange<Key>{me, "even keys", layout_.keys_each}, Exchange<Key>{me, "odd keys", layout_.keys_each}},
          counts_{me, "counts", static_cast<std::size_t>(me.size())}, barrier_{me, "round"} {}

    void prepare() const { std::ranges::copy(part(problem_.keys.span(), mine_), keys_[0].mine().begin()); }
    void run() {
        for (int round = 0; round < rounds; ++round) {
            // The counts of the round before were read before the keys were stored, so they may be overwritten now.
            if (round > 0) barrier_.arrive_and_wait();
            const auto keys = keys_[round % 2].mine().first(mine_.end - mine_.begin);
            const auto& to = keys_[(round + 1) % 2];
            const Table counted = kernels::radix::count(keys, round);
            for (int rank = 0; rank < me_.size(); ++rank)
                counts_.of(static_cast<std::size_t>(rank)).store(static_cast<std::size_t>(me_.index()), counted);
            barrier_.arrive_and_wait();
            Table next = places(counts_.mine(), me_.index());
            if (whole_lines_) scatter_lines(keys, round, next, to);
            else scatter_keys(keys, round, next, to);
        }
    }
    void collect() const {
        std::ranges::copy(keys_[0].mine().first(mine_.end - mine_.begin), part(problem_.sorted.span(), mine_).begin());
    }

  private:
    /// In 32 bits, by which dividing is quicker. One rank alone has all places.
    std::uint32_t places_each() const noexcept {
        return me_.size() == 1 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(layout_.keys_each);
    }

    /// Where the next key of a digit goes: a rank's region, and the place in it.
    struct Target {
        const Remote<Key>* to;
        std::uint32_t next;
        std::uint32_t rank;
    };

    /// Each key by itself, as in the paper. Where a digit's places lie at two ranks, its target moves on at the border.
    void scatter_keys(std::span<const Key> keys, int round, const Table& first, const Exchange<Key>& to) const {
        const std::uint32_t each = places_each();
        std::array<Target, digits> targets;
        for (std::size_t d = 0; d < digits; ++d) {
            // The last digits may begin behind the last place: then they have no keys.
            const auto rank = std::min(first[d] / each, static_cast<std::uint32_t>(me_.size() - 1));
            targets[d] = {&to.of(rank), first[d] - rank * each, rank};
        }
        for (const Key key : keys) {
            Target& target = targets[kernels::radix::digit(key, round)];
            if (target.next == each) [[unlikely]]
                target = {&to.of(target.rank + 1), 0, target.rank + 1};
            target.to->store(target.next++, key);
        }
    }

    /// Whole lines to their places. Others' travel by the way that suits all that goes there in this round; what stays
    /// is read here soon, and stays in the cache.
    void scatter_lines(std::span<const Key> keys, int round, Table& next, const Exchange<Key>& to) const {
        std::vector<Remote<Key>::Batch> batches;
        for (int rank = 0; rank < me_.size(); ++rank)
            batches.push_back(
                to.of(static_cast<std::size_t>(rank)).batch(keys.size() / static_cast<std::size_t>(me_.size())));
        const std::uint32_t each = places_each();
        const auto mine = static_cast<std::uint32_t>(me_.index());
        Key* const here = to.mine().data();
        kernels::radix::scatter_lines(keys, round, next, [&](std::size_t first, auto gathered) {
            const auto place = static_cast<std::uint32_t>(first), rank = place / each, offset = place % each;
            if (rank == mine) std::ranges::copy(gathered, here + offset);
            else batches[rank].store(offset, gathered);
        });
    }

    Rank me_;
    const Problem& problem_;
    bool whole_lines_;
    Layout layout_;
    Range mine_;
    Exchange<Key> keys_[2];
    Exchange<Table> counts_;
    Barrier barrier_;
};

}  // namespace

std::string_view name(Variant variant) noexcept {
    switch (variant) {
        case Variant::shared:
            return "shared";
        case Variant::lines:
            return "lines";
        case Variant::push:
            return "push";
        case Variant::push_lines:
            return "push-lines";
    }
    return "?";
}

void generate(std::span<Key> keys, std::uint32_t seed) {
    Random random{seed};
    for (Key& key : keys) key = static_cast<Key>(random.real() * 0x1p32);
}

void serial(std::span<const Key> keys, std::span<Key> sorted) { serial(keys, sorted, Buffer<Key>{keys.size()}.span()); }

void serial(std::span<const Key> keys, std::span<Key> sorted, std::span<Key> other) {
    std::ranges::copy(keys, sorted.begin());
    for (int round = 0; round < rounds; ++round) {
        const auto from = round % 2 == 0 ? sorted : other;
        const auto to = round % 2 == 0 ? other : sorted;
        const Table counted = kernels::radix::count(from, round);
        Table next = places({&counted, 1}, 0);
        kernels::radix::scatter(from, round, next, to.data());
    }
}

void of_rank(Rank me, const Problem& problem, Variant variant, int passes) {
    if (variant != Variant::push && variant != Variant::push_lines)
        throw UsageError("radix: the variant '" + std::string(name(variant)) + "' needs memory that all ranks share");
    seconds_of_rank(me, passes, [&](Rank rank) { return PushPart{rank, problem, variant == Variant::push_lines}; });
}

double parallel(const Problem& problem, Variant variant, const RankOptions& options) {
    StoreWays::here();  // measured here, once, and not by each rank
    if (variant == Variant::push || variant == Variant::push_lines)
        return seconds_of_ranks(options,
                                [&](Rank me) { return PushPart{me, problem, variant == Variant::push_lines}; });
    const GlobalKeys global{problem.keys.size(), options.ranks};
    return seconds_of_ranks(options,
                            [&](Rank me) { return SharedPart{me, problem, global, variant == Variant::lines}; });
}

}  // namespace penstock::apps::radix
