#include "kernels/motion.hpp"

#include <cstdlib>
#include <limits>

namespace penstock::kernels::motion {
namespace {

constexpr std::size_t side = 16;  // of the usual block, which gets loops of a known length: a vector instruction a row

std::uint32_t sad_16(const Pixel* a, std::ptrdiff_t a_pitch, const Pixel* b, std::ptrdiff_t b_pitch) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t row = 0; row < side; ++row, a += a_pitch, b += b_pitch) {
        // Else g++ 12 unrolls it before it looks for sums of absolute differences, and finds none. The tests look for
        // the instruction in the built code.
#pragma GCC unroll 1
        for (std::size_t column = 0; column < side; ++column)
            sum += static_cast<std::uint32_t>(std::abs(a[column] - b[column]));
    }
    return sum;
}

}  // namespace

std::uint32_t sad(view<const Pixel, 2> block, view<const Pixel, 2> other) noexcept {
    if (block.extent(0) == side && block.extent(1) == side)
        return sad_16(block.data(), block.stride(0), other.data(), other.stride(0));
    std::uint32_t sum = 0;
    for (std::size_t row = 0; row < block.extent(0); ++row) {
        for (std::size_t column = 0; column < block.extent(1); ++column)
            sum += static_cast<std::uint32_t>(std::abs(block(row, column) - other(row, column)));
    }
    return sum;
}

Match search(view<const Pixel, 2> block, view<const Pixel, 2> window, std::size_t above, std::size_t left) noexcept {
    Match best{std::numeric_limits<std::uint32_t>::max(), 0, 0};
    const std::size_t rows = block.extent(0), columns = block.extent(1);
    for (std::size_t row = 0; row + rows <= window.extent(0); ++row) {
        for (std::size_t column = 0; column + columns <= window.extent(1); ++column) {
            const view<const Pixel, 2> place{&window(row, column), rows, columns, window.stride(0)};
            const std::uint32_t found = sad(block, place);
            if (found < best.sad) {
                best = {
                    found,
                    static_cast<std::int16_t>(static_cast<std::ptrdiff_t>(row) - static_cast<std::ptrdiff_t>(above)),
                    static_cast<std::int16_t>(static_cast<std::ptrdiff_t>(column) - static_cast<std::ptrdiff_t>(left))};
            }
        }
    }
    return best;
}

}  // namespace penstock::kernels::motion
