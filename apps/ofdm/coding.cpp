#include "apps/ofdm/coding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace penstock::apps::ofdm {
namespace {

/// Which of the bits of a period are sent: all at 1/2.
bool is_sent(const Rate& rate, std::size_t bit) noexcept {
    if (rate.taken == 2) return bit % 4 != 3;
    if (rate.taken == 3) return bit % 6 != 3 && bit % 6 != 4;
    return true;
}

/// The place of each coded bit of a symbol among the bits of its carriers. First neighbours go to carriers that are far
/// apart; then the bits of a carrier are turned, so that the better and the worse of them take turns.
std::size_t interleaved_place(std::size_t k, std::size_t coded, std::size_t bits) noexcept {
    constexpr std::size_t columns = 16;
    const std::size_t turn = std::max<std::size_t>(bits / 2, 1);
    const std::size_t i = coded / columns * (k % columns) + k / columns;
    return turn * (i / turn) + (i + coded - columns * i / coded) % turn;
}

/// Eight tables: an octet that is so many octets before the end.
constexpr auto make_tables() {
    std::array<std::array<std::uint32_t, 256>, 8> made{};
    for (std::uint32_t octet = 0; octet < 256; ++octet) {
        std::uint32_t value = octet;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1) * 0xEDB88320u;
        made[0][octet] = value;
    }
    for (std::size_t table = 1; table < 8; ++table)
        for (std::size_t octet = 0; octet < 256; ++octet)
            made[table][octet] = made[table - 1][octet] >> 8 ^ made[0][made[table - 1][octet] & 255];
    return made;
}
constexpr auto tables = make_tables();

}  // namespace

Bits convolve(std::span<const std::uint8_t> bits) {
    Bits coded;
    coded.reserve(2 * bits.size());
    unsigned last = 0;  // seven, the newest lowest
    for (const unsigned bit : bits) {
        last = (last << 1 | bit) & 127;
        coded.push_back(std::popcount(last & 0b1101101u) % 2);
        coded.push_back(std::popcount(last & 0b1001111u) % 2);
    }
    return coded;
}

Bits puncture(std::span<const std::uint8_t> coded, const Rate& rate) {
    Bits sent;
    for (std::size_t i = 0; i < coded.size(); ++i)
        if (is_sent(rate, i)) sent.push_back(coded[i]);
    return sent;
}

Bits interleave(std::span<const std::uint8_t> coded, std::size_t carriers, const Rate& rate) {
    const std::size_t symbol = carriers * rate.bits;
    Bits made(coded.size());
    for (std::size_t i = 0; i < coded.size(); ++i)
        made[i / symbol * symbol + interleaved_place(i % symbol, symbol, rate.bits)] = coded[i];
    return made;
}

std::vector<std::uint16_t> deinterleaved(std::size_t carriers, const Rate& rate) {
    const std::size_t coded = carriers * rate.bits;
    std::vector<std::uint16_t> places;
    for (std::size_t k = 0; k < coded;)
        places.push_back(is_sent(rate, places.size())
                             ? static_cast<std::uint16_t>(interleaved_place(k++, coded, rate.bits))
                             : nowhere);
    while (!is_sent(rate, places.size()) || places.size() % 2 != 0) places.push_back(nowhere);
    return places;
}

std::uint32_t check_sequence(std::span<const std::uint8_t> octets) noexcept {
    std::uint32_t value = ~std::uint32_t{0};
    std::size_t i = 0;
    for (; i + 8 <= octets.size(); i += 8) {
        std::uint32_t low = 0;
        for (std::size_t j = 0; j < 4; ++j) low |= std::uint32_t{octets[i + j]} << (8 * j);
        low ^= value;
        value = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
                tables[3][octets[i + 4]] ^ tables[2][octets[i + 5]] ^ tables[1][octets[i + 6]] ^
                tables[0][octets[i + 7]];
    }
    for (; i < octets.size(); ++i) value = value >> 8 ^ tables[0][(value ^ octets[i]) & 255];
    return ~value;
}

}  // namespace penstock::apps::ofdm
