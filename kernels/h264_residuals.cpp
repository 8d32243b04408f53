#include <algorithm>
#include <cstdlib>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_residuals.cpp"
#include "kernels/each_target.hpp"

#if HWY_ONCE

namespace penstock::kernels::h264 {
namespace {

// One block; `levels` has rows of 16, of which row c is column c of the block.
std::uint64_t levels_of_one(const Pixel* source, Pitch source_pitch, const Pixel* prediction, Pitch prediction_pitch,
                            const Quantiser& quantiser, Coefficient* levels, Coefficient& first) {
    int x[4][4];
    for (int column = 0; column < 4; ++column) {
        const auto difference = [&](int row) {
            return source[row * source_pitch + column] - prediction[row * prediction_pitch + column];
        };
        const int s = difference(0) + difference(3), t = difference(1) + difference(2);
        const int u = difference(1) - difference(2), v = difference(0) - difference(3);
        x[0][column] = s + t, x[1][column] = 2 * v + u, x[2][column] = s - t, x[3][column] = v - 2 * u;
    }
    std::uint64_t found = 0;
    for (int row = 0; row < 4; ++row) {
        const int s = x[row][0] + x[row][3], t = x[row][1] + x[row][2], u = x[row][1] - x[row][2],
                  v = x[row][0] - x[row][3];
        const int transformed[4] = {s + t, 2 * v + u, s - t, v - 2 * u};
        if (row == 0) first = static_cast<Coefficient>(transformed[0]);
        for (int column = 0; column < 4; ++column) {
            const auto place = static_cast<std::size_t>(4 * column + row);
            const auto magnitude = static_cast<std::uint32_t>(std::abs(transformed[column]));
            const auto level =
                static_cast<int>((magnitude + quantiser.rounding[place]) * quantiser.factor[place] >> 16);
            levels[16 * column + row] = static_cast<Coefficient>(transformed[column] < 0 ? -level : level);
            found |= static_cast<std::uint64_t>(level != 0) << place;
        }
    }
    return found;
}

void add_one(const Coefficient* levels, const Quantiser& quantiser, const Coefficient* first, const Pixel* prediction,
             Pitch prediction_pitch, Pixel* to, Pitch to_pitch) {
    int x[4][4];
    for (int row = 0; row < 4; ++row) {
        int c[4];
        for (int column = 0; column < 4; ++column) {
            c[column] = levels[16 * column + row] * quantiser.scale[static_cast<std::size_t>(4 * column + row)];
            if (row == 0 && column == 0 && first != nullptr) c[0] = *first;
        }
        const int s = c[0] + c[2], t = c[0] - c[2], u = (c[1] >> 1) - c[3], v = c[1] + (c[3] >> 1);
        x[row][0] = s + v, x[row][1] = t + u, x[row][2] = t - u, x[row][3] = s - v;
    }
    for (int column = 0; column < 4; ++column) {
        const int s = x[0][column] + x[2][column], t = x[0][column] - x[2][column];
        const int u = (x[1][column] >> 1) - x[3][column], v = x[1][column] + (x[3][column] >> 1);
        const int added[4] = {s + v, t + u, t - u, s - v};
        for (int row = 0; row < 4; ++row)
            to[row * to_pitch + column] = static_cast<Pixel>(
                std::clamp(prediction[row * prediction_pitch + column] + ((added[row] + 32) >> 6), 0, 255));
    }
}

std::uint64_t levels(const Pixel* source, const Pixel* source_right, Pitch source_pitch, const Pixel* prediction,
                     const Pixel* prediction_right, Pitch prediction_pitch, const Quantiser& quantiser, Strip& levels,
                     Coefficient* first) {
    std::uint64_t found = 0;
    for (int block = 0; block < 4; ++block) {
        const int left = 4 * (block % 2);
        found |= levels_of_one((block < 2 ? source : source_right) + left, source_pitch,
                               (block < 2 ? prediction : prediction_right) + left, prediction_pitch, quantiser,
                               levels.data() + 4 * block, first[block])
                 << (16 * block);
    }
    return found;
}

void add(const Strip& levels, const Quantiser& quantiser, const Coefficient* first, const Pixel* prediction,
         const Pixel* prediction_right, Pitch prediction_pitch, Pixel* to, Pixel* to_right, Pitch to_pitch) {
    for (int block = 0; block < 4; ++block) {
        const int left = 4 * (block % 2);
        add_one(levels.data() + 4 * block, quantiser, first == nullptr ? nullptr : first + block,
                (block < 2 ? prediction : prediction_right) + left, prediction_pitch,
                (block < 2 ? to : to_right) + left, to_pitch);
    }
}

}  // namespace

Residuals residuals() noexcept {
    return {levels, add,
            [](const Pixel* source, Pitch source_pitch, const Pixel* prediction, Pitch prediction_pitch,
               const Quantiser& quantiser, Coefficient* to) {
                Coefficient first;
                return levels_of_one(source, source_pitch, prediction, prediction_pitch, quantiser, to, first);
            },
            [](const Coefficient* from, const Quantiser& quantiser, const Pixel* prediction, Pitch prediction_pitch,
               Pixel* to,
               Pitch to_pitch) { add_one(from, quantiser, nullptr, prediction, prediction_pitch, to, to_pitch); }};
}

}  // namespace penstock::kernels::h264

#endif
