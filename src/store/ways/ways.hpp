// The ways of storing, piece by piece: what store_bytes(), store_transposed() and StoreWays are made of.
#pragma once

#include "penstock/store_way.hpp"
#include "penstock/transpose.hpp"

namespace penstock {

// ---- how far away the reader is just now ----
//
// Virtual processors move: what was measured between two of one chip is wrong when they lie on two (4 to 16 KiB were
// seen to arrive 2 times later past the caches than plainly, and minutes later 3.5 times sooner).

/// Nanoseconds until this thread had a line for itself, beyond what it takes when it has it already: the least of some
/// in the 4 KiB from here on, for one that comes from memory, or an interruption, says nothing of the reader. Nothing
/// where it had them all. They keep what they hold.
std::optional<double> time_of_a_line(std::byte* lines) noexcept;

/// Ways, and how many times as far the reader is as when they were measured.
struct WaysAt {
    const StoreWays* ways;
    double farther;
};

/// For a reader from whom a line comes in about so many nanoseconds: StoreWays::here(), or, where that reader was much
/// nearer or farther, what is measured now, once in a process (some tenths of a second). Where that did not give the
/// same twice, the times of StoreWays::here() are scaled.
WaysAt ways_for_line_time(double line_time);

/// Stores are measured from the caller's processor to this one: of another core where there is one. None where there is
/// only one processor.
std::optional<int> reader_processor();

/// Nanoseconds in which a line goes to the reader and an answer comes back; nothing where there is no reader. Costs the
/// start of a thread and some 100 microseconds; on busy processors up to 20 milliseconds, and then maybe nothing.
std::optional<double> measure_round_trip();

// ---- blocks of whole lines, transposed in registers ----

namespace transpose_lines {

/// Stores a block whose rows are a multiple of rows_at_once() and whose columns fill whole lines. Any way but the plain
/// one needs a target whose rows begin at lines; nothing is ordered after stores that go round the caches.
using Store = void (*)(const Transposition& block, StoreWay way) noexcept;

/// The best that this processor can do for elements of so many bytes; null where there is none.
Store of_element(std::size_t bytes) noexcept;

/// As many elements of a source's row as fit a register of 16 bytes.
constexpr std::size_t rows_at_once(std::size_t element) noexcept { return 16 / element; }

}  // namespace transpose_lines

// ---- lines ----

namespace ways {

inline constexpr std::size_t line = 64;  ///< what is assembled; a longer line is only written in two steps

/// So many are asked for ahead of the stores to them. (16 are no better; of rows that lie a power of two apart they
/// push each other out of the first cache, and a transpose took 1.07 times as long.)
inline constexpr std::size_t lines_ahead = 8;

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

}  // namespace ways
}  // namespace penstock
