#include "apps/h264/intra.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::apps::h264 {
namespace {

constexpr Pixel pixel(int value) noexcept { return static_cast<Pixel>(std::clamp(value, 0, 255)); }

void fill(int value, int side, Pixel* to, Pitch pitch) noexcept {
    for (int row = 0; row < side; ++row) std::memset(to + row * pitch, value, static_cast<std::size_t>(side));
}

int sum_above(const Edges& edges, int first, int count) noexcept {
    int sum = 0;
    for (int i = first; i < first + count; ++i) sum += edges.above[i];
    return sum;
}
int sum_left(const Edges& edges, int first, int count) noexcept {
    int sum = 0;
    for (int i = first; i < first + count; ++i) sum += edges.beside(i);
    return sum;
}

void mean_of_16(const Edges& edges, Pixel* to, Pitch pitch) noexcept {
    const bool both = edges.above != nullptr && edges.left != nullptr;
    int value = 128;
    if (both) value = (sum_above(edges, 0, 16) + sum_left(edges, 0, 16) + 16) >> 5;
    else if (edges.above != nullptr) value = (sum_above(edges, 0, 16) + 8) >> 4;
    else if (edges.left != nullptr) value = (sum_left(edges, 0, 16) + 8) >> 4;
    fill(value, 16, to, pitch);
}

// Each quarter has its own mean: the two on the diagonal of both sides, the others of one side, if it is there (8.3.4).
void mean_of_8(const Edges& edges, Pixel* to, Pitch pitch) noexcept {
    for (int row = 0; row < 8; row += 4)
        for (int column = 0; column < 8; column += 4) {
            const bool above = edges.above != nullptr, left = edges.left != nullptr;
            const bool use_above = above && (row == column || row == 0 || !left);
            const bool use_left = left && (row == column || column == 0 || !above);
            int value = 128;
            if (use_above && use_left) value = (sum_above(edges, column, 4) + sum_left(edges, row, 4) + 4) >> 3;
            else if (use_above) value = (sum_above(edges, column, 4) + 2) >> 2;
            else if (use_left) value = (sum_left(edges, row, 4) + 2) >> 2;
            fill(value, 4, to + row * pitch + column, pitch);
        }
}

void slope(const Edges& edges, int side, Pixel* to, Pitch pitch) noexcept {
    const int half = side / 2;
    const auto above = [&](int i) { return i < 0 ? int{edges.corner} : int{edges.above[i]}; };
    const auto left = [&](int i) { return i < 0 ? int{edges.corner} : edges.beside(i); };
    int across = 0, down = 0;
    for (int i = 1; i <= half; ++i) {
        across += i * (above(half - 1 + i) - above(half - 1 - i));
        down += i * (left(half - 1 + i) - left(half - 1 - i));
    }
    const int b = side == 16 ? (5 * across + 32) >> 6 : (34 * across + 32) >> 6;
    const int c = side == 16 ? (5 * down + 32) >> 6 : (34 * down + 32) >> 6;
    const int a = 16 * (left(side - 1) + above(side - 1));
    for (int row = 0; row < side; ++row) {
        int value = a + c * (row - half + 1) - b * (half - 1) + 16;
        for (int column = 0; column < side; ++column, value += b) to[row * pitch + column] = pixel(value >> 5);
    }
}

}  // namespace

bool usable(WholeMode mode, const Edges& edges) noexcept {
    const bool above = edges.above != nullptr, left = edges.left != nullptr;
    return mode == mean || (mode == upright ? above : mode == level ? left : above && left);
}

void predict(WholeMode mode, const Edges& edges, int side, Pixel* to, Pitch pitch) noexcept {
    switch (mode) {
        case upright:
            for (int row = 0; row < side; ++row)
                std::memcpy(to + row * pitch, edges.above, static_cast<std::size_t>(side));
            return;
        case level:
            for (int row = 0; row < side; ++row)
                std::memset(to + row * pitch, edges.beside(row), static_cast<std::size_t>(side));
            return;
        case mean:
            return side == 16 ? mean_of_16(edges, to, pitch) : mean_of_8(edges, to, pitch);
        default:
            return slope(edges, side, to, pitch);
    }
}

bool usable_for_block(int mode, const Line& line) noexcept {
    switch (mode) {
        case 0:
        case 3:
        case 7:
            return line.above;
        case 1:
        case 8:
            return line.left;
        case 2:
            return true;
        default:
            return line.above && line.left && line.corner;
    }
}

void predict_block(int mode, const Line& line, Pixel* to, Pitch pitch) noexcept {
    const auto* const e = line.pixels.data();  // e[3] ... e[0] go down at the left, e[4] is the corner, e[5] ... above
    const auto two = [&](int i) { return static_cast<Pixel>((e[i] + e[i + 1] + 1) >> 1); };
    const auto three = [&](int i) { return static_cast<Pixel>((e[i - 1] + 2 * e[i] + e[i + 1] + 2) >> 2); };
    // to(row, column) := value(row, column)
    const auto each = [&](auto&& value) {
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 4; ++column) to[row * pitch + column] = value(row, column);
    };
    switch (mode) {
        case 0:
            return each([&](int, int x) { return e[5 + x]; });
        case 1:
            return each([&](int y, int) { return e[3 - y]; });
        case 2: {
            const int above = e[5] + e[6] + e[7] + e[8], left = e[0] + e[1] + e[2] + e[3];
            const int value = line.above && line.left ? (above + left + 4) >> 3
                              : line.above            ? (above + 2) >> 2
                              : line.left             ? (left + 2) >> 2
                                                      : 128;
            return each([&](int, int) { return static_cast<Pixel>(value); });
        }
        case 3:  // down, to the left
            return each([&](int y, int x) {
                return x + y == 6 ? static_cast<Pixel>((e[11] + 3 * e[12] + 2) >> 2) : three(6 + x + y);
            });
        case 4:  // down, to the right
            return each([&](int y, int x) { return three(4 + x - y); });
        case 5:  // down, and a little to the right
            return each([&](int y, int x) {
                const int z = 2 * x - y;
                if (z == -1) return three(4);
                if (z < 0) return three(4 - (y - 1));
                return z % 2 == 0 ? two(4 + x - y / 2) : three(4 + x - y / 2);
            });
        case 6:  // to the right, and a little down
            return each([&](int y, int x) {
                const int z = 2 * y - x;
                if (z == -1) return three(4);
                if (z < 0) return three(4 + (x - 1));
                return z % 2 == 0 ? two(3 - (y - x / 2)) : three(4 - (y - x / 2));
            });
        case 7:  // down, and a little to the left
            return each([&](int y, int x) { return y % 2 == 0 ? two(5 + x + y / 2) : three(6 + x + y / 2); });
        default:  // to the right, and a little up
            return each([&](int y, int x) {
                const int z = x + 2 * y;
                if (z > 5) return e[0];
                if (z == 5) return static_cast<Pixel>((e[1] + 3 * e[0] + 2) >> 2);
                return z % 2 == 0 ? two(2 - (y + x / 2)) : three(2 - (y + x / 2));
            });
    }
}

}  // namespace penstock::apps::h264
