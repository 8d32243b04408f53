// store layer: a region is memory that its owner loads from and stores to, and others only store to (RSP, section 3).
//
//     Region<float> inbox(me, "inbox", n);            // the consumer's, near its processor, nobody else's ...
//     inbox.grant(producer);                          // ... until it is granted
//     auto outbox = Remote<float>::accept(me, consumer, "inbox");          // the producer's (remote.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "penstock/rank.hpp"

namespace penstock {

/// An access reaches beyond the end of a region.
class OutOfBounds : public UsageError {
  public:
    OutOfBounds(std::string region, std::size_t index, std::size_t count, std::size_t size);
    /// Its name.
    const std::string& region() const noexcept { return region_; }
    std::size_t index() const noexcept { return index_; }  ///< of the first element that was to be stored
    std::size_t count() const noexcept { return count_; }  ///< elements from there on
    std::size_t size() const noexcept { return size_; }    ///< elements of the region

  private:
    std::string region_;
    std::size_t index_, count_, size_;
};

/// How the memory of a region is made.
struct RegionOptions {
    /// Huge pages, for regions of many MiB that are stored to all over the place: a wish, see Region::huge_bytes().
    Pages pages = Pages::ordinary;
};

namespace region {

/// Tells regions apart from everything else that is granted, and those of elements of one size from another.
template <class T>
constexpr std::uint64_t kind() noexcept {
    return std::uint64_t{0x4e474552} << 32 | sizeof(T);  // "REGN"
}

/// Bytes of `count` elements. Throws UsageError for none, SystemError (ENOMEM) for more than can be addressed.
std::size_t bytes_of(std::string_view name, std::size_t count, std::size_t element_size);

[[noreturn]] void throw_out_of_bounds(const std::string& region, std::size_t index, std::size_t count,
                                      std::size_t size);

/// Throws OutOfBounds unless [index, index + count) lies within [0, size). Nothing can overflow.
inline void check(const std::string& region, std::size_t index, std::size_t count, std::size_t size) {
    if (index > size || count > size - index) [[unlikely]]
        throw_out_of_bounds(region, index, count, size);
}

}  // namespace region

/// Remotely writable memory of `T`, as its owner sees it. Moved, not copied. Zero at first. Elements that a producer
/// has stored may be read once it has published them (a flag, a barrier, a message); before that they are being
/// written.
template <class T>
class Region {
    static_assert(std::is_trivially_copyable_v<T>, "penstock: the elements of a region are copied byte by byte");
    static_assert(std::is_default_constructible_v<T>, "penstock: the elements of a region begin as zeroes");
    static_assert(alignof(T) <= 4096);

  public:
    /// `size` > 0 elements, homed at this rank and private. Throws UsageError, SystemError when there is not that much
    /// memory.
    Region(Rank me, std::string_view name, std::size_t size, RegionOptions options = {})
        : me_(me),
          memory_(me.make(name, region::bytes_of(name, size, sizeof(T)), region::kind<T>(), {}, options.pages)),
          size_(size) {}

    std::size_t size() const noexcept { return size_; }
    /// As it was made.
    const std::string& name() const noexcept { return memory_.name(); }
    T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
    /// All of it.
    std::span<T> elements() const noexcept { return {data(), size_}; }
    T* begin() const noexcept { return data(); }
    T* end() const noexcept { return data() + size_; }
    /// One element, unchecked as everywhere in C++.
    T& operator[](std::size_t index) const noexcept { return data()[index]; }
    /// One element; throws OutOfBounds.
    T& at(std::size_t index) const {
        region::check(name(), index, 1, size_);
        return data()[index];
    }

    /// Bytes of it that its owner has by huge pages now. Reads /proc.
    std::size_t huge_bytes() const { return memory_.huge_bytes(); }

    /// Lets this rank store here, once it has accepted. Throws UsageError after freeze() and for a second grant;
    /// RankLost.
    void grant(int rank) { me_.grant(memory_, rank); }

    /// Makes the grants final: waits until all of them were accepted, and no other can be given any more, not even
    /// behind the back of this program: between processes the kernel refuses new writers. Throws GrantMissing,
    /// SystemError.
    void freeze(std::chrono::nanoseconds within = {}) { me_.freeze(memory_, within); }

  private:
    Rank me_;
    RankMemory memory_;
    std::size_t size_;
};

}  // namespace penstock
