// store layer: a remote is a region as a granted producer sees it: it can be stored to, and not loaded from (RSP,
// section 3).
//
// Every store is checked against the bounds, with arithmetic that cannot overflow. Elements that lie side by side
// travel as whole lines, by the way that was measured for their number and for how far away the consumer is just now
// (store_way.hpp). What was stored is visible to
// the consumer after the next publish(), or after anything else that releases: a flag, a counter, a barrier, a message.
//
// A region on another node has no elements here (`near_` is 0), so the check of the bounds sends stores to it the slow
// way, and stores to a near one pay nothing for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/flag.hpp"
#include "penstock/region.hpp"
#include "penstock/store_way.hpp"
#include "penstock/transpose.hpp"

namespace penstock {

/// A rectangle of elements inside a region: `rows` of `columns`, the first at `offset`, each `pitch` elements behind
/// the one before.
struct Block {
    std::size_t offset = 0;   ///< of its first element
    std::size_t rows = 0;     ///< how many
    std::size_t columns = 0;  ///< of each row
    std::size_t pitch = 0;    ///< at least `columns`
};

namespace region {

/// Throws OutOfBounds unless the block lies in a region of `size`, UsageError when its rows overlap.
void check(const std::string& region, const Block& block, std::size_t size);
/// Throws UsageError unless `rows` of `columns` at this pitch lie in a source of `size` elements.
void check_source(std::size_t rows, std::size_t columns, std::size_t pitch, std::size_t size);

}  // namespace region

/// Another rank's region of `T`. Moved, not copied. Used by one thread at a time.
template <class T>
class Remote {
  public:
    /// Stands for one element on the left of an assignment.
    class Element {
      public:
        Element(const Element&) = delete;
        /// Stores one value.
        void operator=(const T& value) const { remote_.store(index_, value); }
        void operator=(const Element&) const = delete;  // penstock: a remote can be stored to, not loaded from
        operator T() const = delete;                    // penstock: a remote can be stored to, not loaded from

      private:
        friend class Remote;
        Element(const Remote& remote, std::size_t index) noexcept : remote_(remote), index_(index) {}
        const Remote& remote_;
        std::size_t index_;
    };

    /// Waits for the grant and takes it. Throws GrantMissing, RankLost, InvalidGrant when the region's elements have
    /// another size.
    static Remote accept(Rank me, int owner, std::string_view name, std::chrono::nanoseconds within = {}) {
        auto memory = me.accept_anywhere(owner, name, region::kind<T>(), within);
        if (memory.size() % sizeof(T) != 0)
            throw InvalidGrant(owner, std::string(name), "it holds no whole number of elements");
        return Remote(std::move(memory));
    }

    std::size_t size() const noexcept { return size_; }
    /// Whose memory it is.
    int owner() const noexcept { return memory_.owner(); }
    /// The region's.
    const std::string& name() const noexcept { return memory_.name(); }

    /// The way that stores travel from now on; nothing: the one that was measured for their size and for the distance
    /// of the consumer, which is looked at now and then.
    void set_way(std::optional<StoreWay> way) noexcept { way_ = way; }

    /// `remote[i] = value` stores; anything else does not compile.
    Element operator[](std::size_t index) const noexcept { return {*this, index}; }

    /// One element. Throws OutOfBounds, as all the others.
    void store(std::size_t index, const T& value) const {
        if (index >= near_) [[unlikely]]
            return store_far(index, value);
        std::memcpy(at(index), &value, sizeof(T));
    }

    /// Elements side by side.
    void store(std::size_t offset, std::span<const T> values) const {
        if (offset > near_ || values.size() > near_ - offset) [[unlikely]]
            return store_far(offset, values.data(), values.size());
        const auto bytes = std::as_bytes(values);
        if (!bytes.empty()) store_bytes(at(offset), bytes.data(), bytes.size(), way(offset, bytes.size()));
    }

    /// A rectangle from a source whose rows lie `source_pitch` elements apart. Throws UsageError when the source is too
    /// small.
    void store_strided(const Block& block, std::span<const T> source, std::size_t source_pitch) const {
        region::check(name(), block, size_);
        region::check_source(block.rows, block.columns, source_pitch, source.size());
        const auto row_bytes = block.columns * sizeof(T);
        if (row_bytes == 0) return;
        const auto by = way(block.offset, row_bytes);
        for (std::size_t row = 0; row < block.rows; ++row)
            put(block.offset + row * block.pitch, source.data() + row * source_pitch, block.columns, by);
    }

    /// The transpose of a source of `block.columns` rows and `block.rows` columns, by whole lines (transpose.hpp).
    void store_transposed(const Block& block, std::span<const T> source, std::size_t source_pitch) const {
        region::check(name(), block, size_);
        region::check_source(block.columns, block.rows, source_pitch, source.size());
        if (block.rows == 0 || block.columns == 0) return;
        if (near_ == 0) return store_far_transposed(block, source, source_pitch);
        penstock::store_transposed({.to = at(block.offset),
                                    .from = std::as_bytes(source).data(),
                                    .rows = block.rows,
                                    .columns = block.columns,
                                    .to_pitch = block.pitch,
                                    .from_pitch = source_pitch,
                                    .element = sizeof(T)},
                                   way(block.offset, block.rows * block.columns * sizeof(T)));
    }

    /// The same value `count` times.
    void fill(std::size_t offset, std::size_t count, const T& value) const {
        region::check(name(), offset, count, size_);
        constexpr std::size_t piece = std::max<std::size_t>(1, (std::size_t{4} << 10) / sizeof(T));
        std::array<T, piece> values{};
        values.fill(value);
        const auto by = way(offset, count * sizeof(T));
        for (std::size_t done = 0; done < count;) {
            const auto next = std::min(piece, count - done);
            put(offset + done, values.data(), next, by);
            done += next;
        }
    }

    /// Many stores that are published together, in lines that the caller has assembled: as when a sort scatters its
    /// keys. They travel by the way that suits all of them, not each, and are ordered once, when this ends; nothing
    /// that was stored through it may be published before. Lives no longer than its remote.
    class Batch {
      public:
        Batch(Batch&&) = default;
        Batch& operator=(Batch&&) = delete;
        ~Batch() { order_stores(way_); }

        /// Elements side by side. Throws OutOfBounds.
        void store(std::size_t offset, std::span<const T> values) const {
            if (offset > remote_.near_ || values.size() > remote_.near_ - offset) [[unlikely]]
                return remote_.store_far(offset, values.data(), values.size());
            if (!values.empty())
                store_bytes_unordered(remote_.at(offset), std::as_bytes(values).data(), values.size_bytes(), way_);
        }

      private:
        friend class Remote;
        Batch(const Remote& remote, StoreWay way) noexcept : remote_(remote), way_(way) {}
        const Remote& remote_;
        StoreWay way_;
    };

    /// `count`: about how many elements will be stored through it.
    Batch batch(std::size_t count) const { return {*this, way(0, std::min(count, size_) * sizeof(T))}; }

    /// All earlier stores of this rank, into any region, are visible to whoever sees the flag set.
    void publish(RemoteFlag& flag) const { flag.set(); }
    /// The same for a counter, which takes this value.
    void publish(RemoteCounter& counter, std::uint64_t value) const { counter.store(value); }

  private:
    explicit Remote(RankMemory memory) noexcept
        : memory_(std::move(memory)), size_(memory_.size() / sizeof(T)), near_(memory_.far() == nullptr ? size_ : 0) {}

    /// Elements that do not lie here: on another node, or nowhere.
    [[gnu::cold, gnu::noinline]] void store_far(std::size_t index, const T* values, std::size_t count) const {
        region::check(name(), index, count, size_);
        if (count != 0) memory_.far()->store(index * sizeof(T), values, count * sizeof(T));
    }
    /// By value, so that one that is stored near by can stay in a register.
    [[gnu::cold, gnu::noinline]] void store_far(std::size_t index, T value) const { store_far(index, &value, 1); }
    void store_far_transposed(const Block& block, std::span<const T> source, std::size_t source_pitch) const {
        std::vector<T> row(block.columns);
        for (std::size_t r = 0; r < block.rows; ++r) {
            for (std::size_t c = 0; c < block.columns; ++c) row[c] = source[c * source_pitch + r];
            store_far(block.offset + r * block.pitch, row.data(), row.size());
        }
    }
    void put(std::size_t index, const T* values, std::size_t count, StoreWay by) const {
        if (near_ == 0) [[unlikely]]
            return store_far(index, values, count);
        store_bytes(at(index), std::as_bytes(std::span(values, count)).data(), count * sizeof(T), by);
    }

    std::byte* at(std::size_t index) const noexcept { return memory_.data() + index * sizeof(T); }
    /// For so many bytes, or about as many, at `index`.
    StoreWay way(std::size_t index, std::size_t bytes) const {
        if (way_) return *way_;
        return near_ == 0 ? StoreWay::plain : consumer_.way(at(index), bytes);
    }

    RankMemory memory_;
    std::size_t size_;
    std::size_t near_;  ///< elements of it that lie on this machine: all, or none
    std::optional<StoreWay> way_;
    mutable ReaderDistance consumer_;
};

/// Several remotes of equal size that get the same stores: one read of the source, a store to each.
template <class T>
class Multicast {
  public:
    /// Throws UsageError for none, and for regions of different sizes.
    explicit Multicast(std::vector<Remote<T>> remotes) : remotes_(std::move(remotes)) {
        if (remotes_.empty()) throw UsageError("a multicast needs at least one remote");
        for (const auto& remote : remotes_)
            if (remote.size() != size())
                throw UsageError("the regions of a multicast must have the same size, but '" + remote.name() +
                                 "' of rank " + std::to_string(remote.owner()) + " has " +
                                 std::to_string(remote.size()) + " elements and the first has " +
                                 std::to_string(size()));
    }

    std::size_t size() const noexcept { return remotes_.front().size(); }
    /// Where it stores.
    std::span<const Remote<T>> remotes() const noexcept { return remotes_; }

    /// As Remote's. Out of bounds stores nowhere.
    void store(std::size_t index, const T& value) const {
        for (const auto& remote : remotes_) remote.store(index, value);
    }
    void store(std::size_t offset, std::span<const T> values) const {
        region::check(remotes_.front().name(), offset, values.size(), size());
        // In pieces that stay in the first cache, so that the source is read from afar only once.
        constexpr std::size_t piece = std::max<std::size_t>(1, (std::size_t{16} << 10) / sizeof(T));
        for (std::size_t done = 0; done < values.size(); done += piece)
            for (const auto& remote : remotes_)
                remote.store(offset + done, values.subspan(done, std::min(piece, values.size() - done)));
    }
    void fill(std::size_t offset, std::size_t count, const T& value) const {
        for (const auto& remote : remotes_) remote.fill(offset, count, value);
    }
    /// Sets the flag of each consumer.
    void publish(std::span<RemoteFlag> flags) const {
        for (auto& flag : flags) flag.set();
    }

  private:
    std::vector<Remote<T>> remotes_;
};

}  // namespace penstock
