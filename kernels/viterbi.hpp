// The Viterbi algorithm for the convolutional code of 64 states that radio uses most (constraint length 7, polynomials
// 133 and 171 octal): IEEE 802.11, DVB, GPS.
//
// It goes in two parts, so that a frame can be decoded while it arrives: forward() takes soft bits and keeps one
// decision a state and step; trace() goes back over decisions. A trace may begin anywhere, as a guess; a later one goes
// back only until it meets what was decided before, for two survivors in the same state at the same time have the same
// past. So what comes out is exactly the most likely sequence, and the end of a long frame costs no more than that of a
// short one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::kernels::viterbi {

inline constexpr std::size_t states = 64;

/// How likely it is that the encoder is in each state, as the largest sum of soft bits that leads there. They are
/// compared by their differences modulo 2^16, which stay below 8000, so nobody has to subtract anything.
struct Metrics {
    alignas(64) std::int16_t of[states];
    /// The encoder begins in state 0.
    static Metrics beginning() noexcept;
};

/// Takes `decisions.size()` steps. Each has two soft bits, of polynomial 133 first: positive for 1, negative for 0, 0
/// where nothing is known (a punctured bit), -127 ... 127. Bit s of a step's decision says which predecessor the state
/// s had. Throws std::invalid_argument where the number of soft bits is another.
void forward(Metrics& metrics, std::span<const std::int8_t> soft, std::span<std::uint64_t> decisions);

/// The encoder was in `state` (its last six bits, the newest lowest) after `end` steps: writes the bits that it had
/// been given into `bits`, 64 a word, the first lowest. Of these `known` are there from an earlier trace; it stops
/// where it meets them. Throws std::invalid_argument where there is not that much.
void trace(std::span<const std::uint64_t> decisions, std::size_t end, unsigned state, std::size_t known,
           std::span<std::uint64_t> bits);

}  // namespace penstock::kernels::viterbi
