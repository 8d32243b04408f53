// The inner loops of a radix sort of 32-bit keys by digits of 8 bits, the least significant digit first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::kernels::radix {

using Key = std::uint32_t;

inline constexpr int digit_bits = 8;
inline constexpr std::size_t digits = std::size_t{1} << digit_bits;
inline constexpr int rounds = 32 / digit_bits;  ///< after which the keys are sorted; even, so they end where they began
static_assert(rounds % 2 == 0);

/// The digit that round `round` (0 to 3) sorts by.
constexpr std::size_t digit(Key key, int round) noexcept { return key >> (round * digit_bits) & (digits - 1); }

/// One number for each digit: how often it occurs, or where its next key goes.
using Table = std::array<std::uint32_t, digits>;

/// How often each digit occurs.
Table count(std::span<const Key> keys, int round) noexcept;

/// Stores each key at the next place of its digit. `next` says where the first key of each digit goes and ends behind
/// the last.
void scatter(std::span<const Key> keys, int round, Table& next, Key* to) noexcept;

/// As scatter(), but keys of one digit are gathered until they fill a line, so that no line is written more than once
/// (but for the first and last of each digit). `store(first, keys)` puts `keys` at the places from `first` on. It gets
/// whole lines as std::span<const Key, line>, so that copying one needs no loop, and what begins or ends a digit as
/// std::span<const Key>, which never reaches over a multiple of `line`.
inline constexpr std::size_t line = 64 / sizeof(Key);

template <class Store>
void scatter_lines(std::span<const Key> keys, int round, Table& next, Store&& store) {
    alignas(64) std::array<std::array<Key, line>, digits> lines{};
    const Table begin = next;
    const auto flush_part = [&](std::size_t d, std::size_t end) {
        const std::size_t first = std::max<std::size_t>(begin[d], (end - 1) / line * line);
        store(first, std::span<const Key>{&lines[d][first % line], end - first});
    };
    for (const Key key : keys) {
        const std::size_t d = digit(key, round);
        const std::size_t place = next[d]++;
        lines[d][place % line] = key;
        if (place % line == line - 1) [[unlikely]] {
            if (const std::size_t first = place - (line - 1); first >= begin[d]) [[likely]]
                store(first, std::span<const Key, line>{lines[d]});
            else flush_part(d, place + 1);
        }
    }
    for (std::size_t d = 0; d < digits; ++d)
        if (next[d] != begin[d] && next[d] % line != 0) flush_part(d, next[d]);
}

}  // namespace penstock::kernels::radix
