// store layer: how a store travels. Three ways to write the same bytes:
//
//   plain    the lines stay in the writer's cache until the reader fetches them
//   demote   each whole line is pushed to the cache that both share, behind the store (CLDEMOTE); elsewhere the same as
//            plain
//   stream   whole lines go round the caches to memory (non-temporal stores)
//
// Which one is fastest until the reader has read the bytes depends on the processor and on their number. So it is
// measured (a few milliseconds, two threads) and remembered: in the process, and for later ones in a file of the
// user's, $XDG_CACHE_HOME/penstock/stores-<number> (~/.cache where that is not set), for each model of processor, what
// it can do, and how long a line took to the reader. Where the file cannot be used, the answer is measured anew,
// without a word. The environment may say it instead: PENSTOCK_STORES=plain, demote or stream; or measure, which does
// so again and renews the file.
#pragma once

#include <array>
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
    /// plain. `./bench paper rsp-stores` shows all ways: with CLDEMOTE 64 B to 1 KiB took 20 to 35 % less time, in the
    /// one quick run there is.
    static constexpr std::array<std::size_t, 6> sizes{4u << 10, 16u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20};

    /// The same way for all.
    explicit StoreWays(StoreWay way = StoreWay::plain) noexcept : smaller_(way) { ways_.fill(way); }

    /// Measures here and now, between this thread and one that it starts on another processor. Everything goes plain
    /// where there is only one processor, and another way must be at least 5 % faster to be chosen. Throws SystemError.
    static StoreWays measure();

    /// What the environment says, or what measure() found once for this processor: by this user, in this or another
    /// process. A forked child has what its parent had. Throws UsageError when the environment names no way.
    static const StoreWays& here();

    /// How so many bytes travel.
    StoreWay of(std::size_t bytes) const noexcept {
        StoreWay way = smaller_;
        for (std::size_t i = 0; i < sizes.size() && bytes >= sizes[i]; ++i) way = ways_[i];
        return way;
    }

    /// One line for reports: "plain, stream from 64 KiB".
    std::string description() const;

    bool operator==(const StoreWays&) const noexcept = default;

  private:
    friend class StoreWayFile;

    std::array<StoreWay, sizes.size()> ways_;
    StoreWay smaller_ = StoreWay::plain;
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
