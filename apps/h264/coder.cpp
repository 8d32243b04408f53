#include "apps/h264/coder.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::apps::h264 {
namespace {

// Tables of the standard, by quantiser % 6: factors by which transformed residuals are quantised (of its reference
// encoder), and by which levels are scaled (8.5.9): at even rows and columns, at odd ones, at the others.
constexpr int factors[6][3] = {{13107, 5243, 8066}, {11916, 4660, 7490}, {10082, 4194, 6554},
                               {9362, 3647, 5825},  {8192, 3355, 5243},  {7282, 2893, 4559}};
constexpr int scales[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16}, {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};

constexpr std::size_t place_class(std::size_t place) noexcept {
    const bool odd_row = place % 2 == 1, odd_column = place / 4 % 2 == 1;
    return odd_row && odd_column ? 1 : odd_row || odd_column ? 2 : 0;
}

// Of a magnitude between two levels the lower one is taken up to 1 - 1/share of the way.
kernels::h264::Quantiser quantiser_of(int value, int share, bool without_first) noexcept {
    kernels::h264::Quantiser quantiser;
    for (std::size_t place = 0; place < 16; ++place) {
        const int factor = std::max(1, ((factors[value % 6][place_class(place)] * 4 >> value / 6) + 1) / 2);
        quantiser.factor[place] = static_cast<std::uint16_t>(factor);
        quantiser.rounding[place] = static_cast<std::uint16_t>(65536 / share / factor);
        quantiser.scale[place] = static_cast<Coefficient>(scales[value % 6][place_class(place)] << value / 6);
    }
    if (without_first) quantiser.factor[0] = 0;
    return quantiser;
}

Quantisers::First first_of(int value, int share, int shift) noexcept {
    Quantisers::First first;
    first.shift = shift + value / 6;
    first.factor = static_cast<std::uint32_t>(factors[value % 6][0]);
    first.rounding = (1u << first.shift) / static_cast<std::uint32_t>(share);
    first.scale = scales[value % 6][0] << value / 6;
    return first;
}

}  // namespace

int chroma_quantiser(int luma) noexcept {
    constexpr std::uint8_t of[] = {29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36,
                                   36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39};
    return luma < 30 ? luma : of[luma - 30];
}

Quantisers::Quantisers(int value) : luma{value}, chroma{chroma_quantiser(value)} {
    weight = static_cast<std::uint32_t>(std::max(1L, std::lround(std::exp2((value - 12) / 6.0))));
    for (std::size_t intra = 0; intra < 2; ++intra) {
        const int share = intra != 0 ? 3 : 6;
        luma_by[intra] = {quantiser_of(luma, share, false), quantiser_of(luma, share, true)};
        chroma_by[intra] = {quantiser_of(chroma, share, false), quantiser_of(chroma, share, true)};
        luma_first[intra] = first_of(luma, share, 17);
        chroma_first[intra] = first_of(chroma, share, 16);
    }
}

Bits& RowBits::begin_part() {
    if (used == parts.size()) parts.emplace_back();
    ++used;
    last().clear();
    return last();
}

std::size_t RowBits::count() const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < used; ++i) count += parts[i].count();
    return count;
}

void RowBits::clear() noexcept {
    used = 1;
    last().clear();
    skipped = leading = 0;
    any = false;
}

void put_rows(Bits& bits, std::span<const RowBits> rows, Type type) {
    std::uint32_t skipped = 0;
    for (const RowBits& row : rows) {
        if (!row.any) {
            skipped += row.skipped;
            continue;
        }
        if (type != Type::i) bits.put_unsigned(skipped + row.leading);
        for (std::size_t i = 0; i < row.used; ++i) {
            if (i > 0) bits.align();
            bits.append(row.parts[i]);
        }
        skipped = row.skipped;
    }
    if (skipped > 0) bits.put_unsigned(skipped);
}

// The filter of the next row changes three rows of pixels of this one.
Picture::Area Coder::final_rows(int row) const noexcept {
    const bool last = row == size().down() - 1;
    return {0, 16 * size().across(), row == 0 ? 0 : 16 * row - 4, last ? 16 * row + 16 : 16 * row + 12};
}

// What lies between pixels needs three rows more below.
void Coder::complete_halves(int row, int left, int right) const {
    const Picture::Area rows = final_rows(row);
    const bool last = row == size().down() - 1;
    picture_.compute_halves(kernels_.interpolation,
                            {left, right, row == 0 ? 0 : rows.top - 4, last ? rows.bottom : rows.bottom - 4});
}

void Coder::complete(int row) const {
    picture_.repeat_edges(final_rows(row));
    complete_halves(row, 0, 16 * size().across());
}

int Coder::rows_needed(int row) const noexcept {
    // The lowest row of pixels that a block may move to, and one more for what lies between, and 8 that come later.
    return std::min(size().down(), (16 * row + 15 + settings_.range + 1 + 8) / 16 + 1);
}

}  // namespace penstock::apps::h264
