// Where the pixels of a row of an affine transformation's result come from, strip by strip.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/affine.hpp"

namespace penstock::kernels {

inline constexpr std::size_t strip_columns = 8;

/// The first pixel of a strip comes from (row + down, column + right).
struct Strip {
    std::ptrdiff_t row, column;
    float down, right;  ///< 0 to 1
};

/// What lies outside of every image stays there, and no conversion overflows.
inline double limited(double place) noexcept { return std::clamp(place, -1e15, 1e15); }
/// The whole number at or below; without the call that std::floor is where the processor need not have an instruction
/// for it.
template <class Float>
inline std::ptrdiff_t floor_of(Float number) noexcept {
    const auto towards_zero = static_cast<std::ptrdiff_t>(number);
    return towards_zero - (static_cast<Float>(towards_zero) > number ? 1 : 0);
}

/// One axis of a window: where it begins in the image, and the image's size. Meaningful where 32 bits hold it.
struct Axis {
    std::int32_t first = 0, size = 0;
};

/// A window of an image and what lies around the image, in 32 bits; not `fits` where they do not hold it.
template <class T>
struct Framed {
    const T* pixels;
    std::int32_t pitch;
    Axis rows, columns;
    Border<T> border;
    bool fits;

    Framed(view<const T, 2> window, const Whole& whole, Border<T> around) noexcept
        : pixels(window.data()), pitch(static_cast<std::int32_t>(window.stride(0))),
          rows{static_cast<std::int32_t>(whole.at.row), static_cast<std::int32_t>(whole.rows)},
          columns{static_cast<std::int32_t>(whole.at.column), static_cast<std::int32_t>(whole.columns)}, border(around),
          // A negative pitch would look like the constant.
          fits(!window.empty() && window.stride(0) >= 0 && whole.rows < most && whole.columns < most &&
               static_cast<double>(window.stride(0)) * static_cast<double>(window.extent(0)) < most) {}

    static constexpr std::size_t most = std::size_t{1} << 29;
};

/// The strips of one row of the result.
struct StripRow {
    double row_of_first, row_a_column, column_of_first, column_a_column;  ///< of column 0, and from there on
    float down, right;                                                    ///< from one pixel to the next
    std::size_t first_column = 0;                                         ///< of strip 0
    /// The window's first row and column in the image
    std::ptrdiff_t top = 0, left = 0;

    StripRow(const Affine& map, std::size_t row) noexcept
        : row_of_first(map.m[0] * static_cast<double>(row) + map.m[2]), row_a_column(map.m[1]),
          column_of_first(map.m[3] * static_cast<double>(row) + map.m[5]), column_a_column(map.m[4]),
          down(static_cast<float>(map.m[1])), right(static_cast<float>(map.m[4])) {}

    /// The strip whose first column this is.
    Strip at(std::size_t column) const noexcept {
        const double y = limited(row_of_first + row_a_column * static_cast<double>(column));
        const double x = limited(column_of_first + column_a_column * static_cast<double>(column));
        const std::ptrdiff_t i = floor_of(y), j = floor_of(x);
        return {i, j, static_cast<float>(y - static_cast<double>(i)), static_cast<float>(x - static_cast<double>(j))};
    }
    /// The pixels of a strip come from less than 2^22 rows and columns around their first, which floats tell apart.
    bool short_steps() const noexcept { return std::max(std::abs(row_a_column), std::abs(column_a_column)) < 5e5; }
    /// Whether all pixels between two columns of the result come from within the image turned round once at each side,
    /// and with that from where 32 bits hold it.
    template <class T>
    bool within_one_turn(std::size_t from, std::size_t to, const Framed<T>& framed) const noexcept {
        const auto near = [&](double start, double step, const Axis& axis) {
            const double a = start + step * static_cast<double>(from), b = start + step * static_cast<double>(to);
            const double most =
                framed.border.rule == Outside::reflect101 ? axis.size : static_cast<double>(Framed<T>::most);
            return std::min(a, b) - 8 * std::abs(step) > 3 - most &&
                   std::max(a, b) + 8 * std::abs(step) < axis.size + most - 5;
        };
        return framed.fits && short_steps() && near(row_of_first, row_a_column, framed.rows) &&
               near(column_of_first, column_a_column, framed.columns);
    }

    /// The whole strips between two columns of the result whose pixels come from between `low` and `high` (rows and
    /// columns): first column, and the one behind the last. None where 32 bits would not hold the distances within a
    /// strip.
    std::pair<std::size_t, std::size_t> strips_within(std::size_t from, std::size_t to, std::pair<double, double> low,
                                                      std::pair<double, double> high,
                                                      std::ptrdiff_t pitch) const noexcept {
        const double farthest =
            8 * (std::abs(row_a_column) + 1) * std::abs(static_cast<double>(pitch)) + 8 * std::abs(column_a_column);
        if (farthest > 1e9 || !short_steps() || low.first > high.first || low.second > high.second) return {from, from};
        double first = static_cast<double>(from), last = static_cast<double>(to) - 1;
        const auto narrow = [&](double start, double step, double least, double most) {
            if (step == 0) {
                if (start < least || start > most) last = -1;
                return;
            }
            const double a = (least - start) / step, b = (most - start) / step;
            first = std::max(first, std::min(a, b));
            last = std::min(last, std::max(a, b));
        };
        narrow(row_of_first, row_a_column, low.first, high.first);
        narrow(column_of_first, column_a_column, low.second, high.second);
        if (!(first <= last)) return {from, from};
        const std::size_t begin =
            (static_cast<std::size_t>(std::ceil(first)) + strip_columns - 1) / strip_columns * strip_columns;
        const std::size_t end = (static_cast<std::size_t>(std::floor(last)) + 1) / strip_columns * strip_columns;
        return begin < end ? std::pair{begin, end} : std::pair{from, from};
    }
};

}  // namespace penstock::kernels
