// The ways of storing, piece by piece: what store_bytes() and store_transposed() are made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/store_way.hpp"

namespace penstock::ways {

inline constexpr std::size_t line = 64;  ///< what is assembled; a longer line is only written in two steps

/// Bytes up to the next line.
inline std::size_t to_line(const std::byte* address) noexcept {
    return (line - reinterpret_cast<std::uintptr_t>(address) % line) % line;
}

/// Pushes a line on to the cache that both sides share; nothing where the processor does not know how.
inline void demote_line(const std::byte* address) noexcept {
#if defined(__x86_64__)
    // By number, for older assemblers. A processor that does not know this instruction takes it for one that does
    // nothing.
    asm volatile(".byte 0x0f, 0x1c, 0x07" : : "D"(address) : "memory");  // cldemote (%rdi)
#else
    static_cast<void>(address);
#endif
}

}  // namespace penstock::ways
