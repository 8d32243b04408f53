#include "apps/h264/levels.hpp"

#include <bit>
#include <cstdlib>

#include "apps/h264/codes.hpp"

namespace penstock::apps::h264 {
namespace {

// Where in a strip's block (rows of 16, row c is column c) each coefficient lies (zig-zag, 8.5.6).
constexpr std::array<std::uint8_t, 16> zigzag = [] {
    constexpr int rows[] = {0, 0, 1, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 2, 3, 3};
    constexpr int columns[] = {0, 1, 0, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 3, 2, 3};
    std::array<std::uint8_t, 16> places{};
    for (std::size_t i = 0; i < 16; ++i) places[i] = static_cast<std::uint8_t>(16 * columns[i] + rows[i]);
    return places;
}();

void put(Bits& bits, Code code) { bits.put(code.bits, code.count); }

// A level as a prefix of zeros and a suffix (9.2.2.1).
void put_level(Bits& bits, std::uint32_t code, int& suffix) {
    if (suffix == 0) {
        if (code < 14) return bits.put(1, static_cast<int>(code) + 1);
        if (code < 30) {
            bits.put(1, 15);
            return bits.put(code - 14, 4);
        }
        code -= 15;
    }
    const std::uint32_t prefix = code >> suffix;
    if (prefix < 15) {
        bits.put(1, static_cast<int>(prefix) + 1);
        return bits.put(code & ((1u << suffix) - 1), suffix);
    }
    bits.put(1, 16);
    bits.put(code - (15u << suffix), 12);
}

// The levels from the highest frequency down: signs of the ones, then the others; then the zeros between them.
void put_behind_total(Bits& bits, const Scanned& block, int total, int ones, std::span<const Code> zeros) {
    std::array<Coefficient, 16> levels;
    std::array<std::uint8_t, 16> places;
    int count = 0;
    for (std::uint32_t left = block.found; left != 0; ++count) {
        const int place = std::bit_width(left) - 1;
        left ^= 1u << place;
        places[static_cast<std::size_t>(count)] = static_cast<std::uint8_t>(place);
        levels[static_cast<std::size_t>(count)] = block.levels[static_cast<std::size_t>(place)];
    }
    for (int i = 0; i < ones; ++i) bits.put(levels[static_cast<std::size_t>(i)] < 0, 1);
    int suffix = total > 10 && ones < 3 ? 1 : 0;
    for (int i = ones; i < total; ++i) {
        const int level = levels[static_cast<std::size_t>(i)], magnitude = std::abs(level);
        auto code = static_cast<std::uint32_t>(2 * magnitude - (level > 0 ? 2 : 1));
        if (i == ones && ones < 3) code -= 2;
        put_level(bits, code, suffix);
        if (suffix == 0) suffix = 1;
        if (magnitude > 3 << (suffix - 1) && suffix < 6) ++suffix;
    }
    int left = places[0] + 1 - total;
    if (total < block.length) put(bits, zeros[static_cast<std::size_t>(left)]);
    for (int i = 0; i + 1 < total && left > 0; ++i) {
        const int run = places[static_cast<std::size_t>(i)] - places[static_cast<std::size_t>(i + 1)] - 1;
        put(bits, codes().runs[static_cast<std::size_t>(std::min(left, 7) - 1)][static_cast<std::size_t>(run)]);
        left -= run;
    }
}

int ones_of(const Scanned& block) noexcept {
    int ones = 0;
    for (std::uint32_t left = block.found; left != 0 && ones < 3; ++ones) {
        const int place = std::bit_width(left) - 1;
        if (std::abs(block.levels[static_cast<std::size_t>(place)]) != 1) break;
        left ^= 1u << place;
    }
    return ones;
}

}  // namespace

Scanned scan(const Strip& strip, int block, std::uint32_t found, bool without_first) noexcept {
    Scanned scanned;
    if (found == 0) {
        scanned.length = without_first ? 15 : 16;
        return scanned;
    }
    const auto* const levels = strip.data() + 4 * block;
    std::size_t i = 0;
    for (std::size_t place = without_first ? 1 : 0; place < 16; ++place, ++i) {
        scanned.levels[i] = levels[zigzag[place]];
        scanned.found |= static_cast<std::uint32_t>(scanned.levels[i] != 0) << i;
    }
    scanned.length = static_cast<int>(i);
    return scanned;
}

Scanned scan(const std::array<Coefficient, 16>& first) noexcept {
    Scanned scanned;
    for (std::size_t i = 0; i < 16; ++i) {
        scanned.levels[i] = first[static_cast<std::size_t>(zigzag[i] % 16 * 4 + zigzag[i] / 16)];
        scanned.found |= static_cast<std::uint32_t>(scanned.levels[i] != 0) << i;
    }
    return scanned;
}

Scanned scan(const std::array<Coefficient, 4>& first) noexcept {
    Scanned scanned;
    scanned.length = 4;
    for (std::size_t i = 0; i < 4; ++i) {
        scanned.levels[i] = first[i];
        scanned.found |= static_cast<std::uint32_t>(first[i] != 0) << i;
    }
    return scanned;
}

int place_in_order(int place_in_strip) noexcept {
    static constexpr auto order = [] {
        std::array<std::uint8_t, 64> places{};
        for (std::size_t i = 0; i < 16; ++i)
            for (std::size_t block = 0; block < 4; ++block)
                places[zigzag[i] + 4 * block] = static_cast<std::uint8_t>(i);
        return places;
    }();
    return order[static_cast<std::size_t>(place_in_strip)];
}

void put_levels(Bits& bits, const Scanned& block, int expected) {
    const int total = std::popcount(block.found), ones = ones_of(block);
    const std::size_t table = expected < 2 ? 0 : expected < 4 ? 1 : expected < 8 ? 2 : 3;
    put(bits, codes().totals[table][static_cast<std::size_t>(4 * total + ones)]);
    if (total > 0)
        put_behind_total(bits, block, total, ones,
                         total < 16 ? std::span<const Code>{codes().zeros[static_cast<std::size_t>(total - 1)]}
                                    : std::span<const Code>{});
}

void put_chroma_first(Bits& bits, const Scanned& block) {
    const int total = std::popcount(block.found), ones = ones_of(block);
    put(bits, codes().chroma_totals[static_cast<std::size_t>(4 * total + ones)]);
    if (total > 0)
        put_behind_total(bits, block, total, ones,
                         total < 4 ? std::span<const Code>{codes().chroma_zeros[static_cast<std::size_t>(total - 1)]}
                                   : std::span<const Code>{});
}

}  // namespace penstock::apps::h264
