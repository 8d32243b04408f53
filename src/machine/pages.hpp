// The sizes of pages here, and how much memory there is to be had.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::pages {

/// Bytes of an ordinary page.
std::size_t small() noexcept;

/// Bytes of a transparent huge page (2 MiB on x86); more than any request where there are none.
std::size_t huge() noexcept;

/// Bytes that can be allocated without the system having to kill somebody for it: what memory and swap have free, or
/// the control group's limit leaves. The kernel hands out more than that without an error, so it is asked before.
std::uint64_t available();

/// A private mapping of `length` bytes that starts at a multiple of `alignment`, a power of two; null and errno when
/// there is none.
std::byte* map_aligned(std::size_t length, std::size_t alignment, int protection) noexcept;

/// How many of these bytes, which one call has mapped, are mapped by huge pages; 0 where /proc does not tell.
std::size_t mapped_by_huge(const std::byte* start, std::size_t length);

/// The next multiple of `unit`, a power of two; wraps round to less than `bytes` when there is none.
constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) noexcept {
    return (bytes + unit - 1) & ~(unit - 1);
}

}  // namespace penstock::pages
