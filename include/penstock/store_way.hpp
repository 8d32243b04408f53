// store layer: how a store travels. Three ways to write the same bytes:
//
//   plain    the lines stay in the writer's cache until the reader fetches them
//   demote   each whole line is pushed to the cache that both share, behind the store (CLDEMOTE); elsewhere the same as
//            plain
//   stream   whole lines go round the caches to memory (non-temporal stores)
//
// Which one is fastest until the reader has read the bytes depends on the processor, on their number, and on how far
// away the reader is: what is stored plainly is fetched from the writer's cache, which takes as many times longer as
// the reader is farther away; what goes round the caches takes equally long. So it is measured (some tenths of a
// second, two threads) and remembered: in the process, and for later ones in a file of the user's,
// $XDG_CACHE_HOME/penstock/stores-<number> (~/.cache where that is not set), for each model of processor, what it can
// do, and how long a line took to the reader. Where the file cannot be used, the answer is measured anew, without a
// word. The environment may say it instead: PENSTOCK_STORES=plain, demote or stream; or measure, which does so again
// and renews the file.
//
// Virtual processors move within seconds, from one chip to two and back. A remote (remote.hpp) therefore looks now and
// then how far its reader is (ReaderDistance), and takes the way for that distance: `./bench push`, the goal choice.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

enum class StoreWay : std::uint8_t { plain, demote, stream };

/// The word for it in reports and in PENSTOCK_STORES.
std::string_view name(StoreWay way) noexcept;
/// The way of this name, if there is one.
std::optional<StoreWay> store_way_of(std::string_view name) noexcept;

/// Which way is taken for how many bytes on this processor.
class StoreWays {
  public:
    /// Blocks of so many bytes and more (up to the next entry) go the way that was found best for them; smaller ones go
    /// plain. None of less than 4 KiB go past the caches: how far the reader is, is not seen there, and where it is
    /// near they take several times as long. `./bench paper rsp-stores` shows all ways.
    static constexpr std::array<std::size_t, 9> sizes{64,        512,        2u << 10, 4u << 10, 16u << 10,
                                                      64u << 10, 256u << 10, 1u << 20, 4u << 20};

    /// The same way for all, however far the reader is.
    explicit StoreWays(StoreWay way = StoreWay::plain) noexcept : smaller_(way) {
        choices_.fill({way, way == StoreWay::plain ? never : 0});
    }

    /// Measures here and now, between this thread and one that it starts on another processor: a tenth of a second.
    /// Nothing where it takes longer than `longest`, because others keep the processors busy. Everything goes plain
    /// where there is only one processor, and another way must be at least 5 % faster to be chosen. Throws SystemError.
    static std::optional<StoreWays> measure(std::chrono::milliseconds longest = std::chrono::milliseconds(500));

    /// What the environment says, or what measure() found once for this processor: by this user, in this or another
    /// process. A forked child has what its parent had. Where the processors were too busy to measure, everything goes
    /// plain in this process. Throws UsageError when the environment names no way.
    static const StoreWays& here();

    /// How so many bytes travel to a reader that is `farther` times as far away as the one that this was measured with.
    StoreWay of(std::size_t bytes, double farther = 1) const noexcept {
        if (bytes < sizes.front()) return smaller_;
        std::size_t i = 0;
        while (i + 1 < sizes.size() && bytes >= sizes[i + 1]) ++i;
        return choices_[i].of(farther);
    }
    /// The same, but plain for sizes for which `other` says something else.
    StoreWays where_agreed(const StoreWays& other) const noexcept;
    /// Nanoseconds in which the writer got a line that that reader had; 0 where nothing was measured, and the distance
    /// does not matter.
    double line_time() const noexcept { return line_picoseconds_ / 1000.0; }

    /// One line for reports: "plain, stream from 64 KiB".
    std::string description() const;

    bool operator==(const StoreWays&) const noexcept = default;

  private:
    friend class StoreWayFile;

    static constexpr std::uint32_t never = ~std::uint32_t{0};
    /// Whole numbers, so that a file says exactly the same.
    struct Choice {
        StoreWay other;      ///< the best of the ways that are not plain
        std::uint32_t from;  ///< faster than plain where the reader is more than this many thousandths as far

        StoreWay of(double farther) const noexcept { return farther * 1000 > from ? other : StoreWay::plain; }
        bool operator==(const Choice&) const noexcept = default;
    };
    std::array<Choice, sizes.size()> choices_;
    std::uint32_t line_picoseconds_ = 0;
    StoreWay smaller_ = StoreWay::plain;
};

/// How far away the reader of some memory is just now, as its writer can tell: by the time in which a line comes that
/// the reader has had. Used by one thread at a time.
class ReaderDistance {
  public:
    /// How so many bytes travel to `to`, as StoreWays::here() says for this distance. Once in 64 KiB, but at most once
    /// a millisecond, a store of 4 KiB or more takes four of its lines from the reader; they keep what they hold,
    /// whoever uses them meanwhile. That costs one or two microseconds; some tenths of a second once in a process,
    /// when the reader is first seen much nearer or farther than it was. Throws as StoreWays::here().
    StoreWay way(std::byte* to, std::size_t bytes) {
        if (bytes < StoreWays::sizes.front()) return StoreWay::plain;
        stored_ += bytes;
        if (ways_ == nullptr || (stored_ >= between_looks && bytes >= seen_in)) look(to, bytes);
        return ways_->of(bytes, times_);
    }

    /// Bytes in which the distance can be seen.
    static constexpr std::size_t seen_in = 4096;

  private:
    static constexpr std::size_t between_looks = std::size_t{64} << 10;  ///< bytes, between two looks at the clock

    void look(std::byte* to, std::size_t bytes);

    double farther_ = 1;                  ///< times as far as when StoreWays::here() was measured
    std::uint64_t looked_ = 0;            ///< when, in ticks
    std::size_t stored_ = between_looks;  ///< since the last look at the clock
    const StoreWays* ways_{};             ///< in force; null: not asked for yet
    double times_ = 1;                    ///< as far as when these were measured
};

/// Copies `bytes` to memory that another core will read. When it returns, a release store of this thread publishes
/// them, whatever the way. The two must not overlap.
void store_bytes(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept;

/// As store_bytes(), for many stores that are published together: order_stores() must come before whatever publishes
/// them.
void store_bytes_unordered(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept;
/// Orders what was stored this way before a release store of this thread. Costs nothing for the plain way.
void order_stores(StoreWay way) noexcept;

}  // namespace penstock
