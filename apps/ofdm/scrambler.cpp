#include "apps/ofdm/scrambler.hpp"

namespace penstock::apps::ofdm {
namespace {

/// The sequence from one state on, as words: word i + 127 is word i again.
using Words = std::array<std::uint64_t, Scrambler::period>;

Words words_from(unsigned state) noexcept {
    Words made{};
    Scrambler scrambler{state};
    for (auto& word : made)
        for (int bit = 0; bit < 64; ++bit) word |= std::uint64_t{scrambler.next()} << bit;
    return made;
}

const std::array<Words, 128>& sequences() {
    static const auto all = [] {
        std::array<Words, 128> made{};
        for (unsigned state = 1; state < 128; ++state) made[state] = words_from(state);
        return made;
    }();
    return all;
}

}  // namespace

void scramble(std::span<std::uint64_t> bits, unsigned state) noexcept {
    const Words& words = sequences()[state & 127];
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] ^= words[i % Scrambler::period];
}

void descramble(std::span<std::uint64_t> bits) noexcept {
    if (bits.empty()) return;
    // The first seven bits are the sequence, and with it the state behind them; from there seven steps back.
    static const auto states = [] {
        std::array<std::uint8_t, 128> made{};
        for (unsigned state = 1; state < 128; ++state)
            made[sequences()[state][0] & 127] = static_cast<std::uint8_t>(state);
        return made;
    }();
    scramble(bits, states[bits[0] & 127]);
}

}  // namespace penstock::apps::ofdm
