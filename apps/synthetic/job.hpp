// The synthetic job: so many cycles for each byte of its input, and a result that can be told without doing the work.
//
// Each word of 4 bytes goes through `cycles` rounds of state := multiplier * state + word, and no round can begin
// before the one before it has ended: 3 cycles for the product and 1 for the sum on the processors of these years, so a
// cycle a byte for each round. Several such rounds are one linear step, whose two factors take a few multiplications to
// find: that is the closed form.
#pragma once

#include <cstdint>
#include <span>

namespace penstock::apps::synthetic {

using Words = std::span<std::uint32_t>;
using ConstWords = std::span<const std::uint32_t>;

inline constexpr std::uint32_t multiplier = 1'664'525;
inline constexpr std::uint32_t first_state = 1;

/// One job. Its input is `table`, the same for many jobs, and behind it `rest`; out[i] := the state behind word i of
/// the input. `out` has as many words as both together, and overlaps neither.
void job(ConstWords table, ConstWords rest, Words out, std::uint32_t cycles);

/// `count` rounds with one word at once: state := factor * state + weight * word.
struct Rounds {
    std::uint32_t factor = 1, weight = 0;
};

/// Squares and multiplies: as many steps as `count` has bits.
Rounds rounds(std::uint64_t count) noexcept;

/// What job() gives, one step a word however many cycles it takes.
void job_in_closed_form(ConstWords table, ConstWords rest, Words out, std::uint32_t cycles);

}  // namespace penstock::apps::synthetic
