#include "kernels/affine.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/affine.cpp"
#include "kernels/affine_strip.hpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/affine_vectors.hpp"

#else

template <class T, Interpolation>
std::size_t affine_strips(const StripRow&, const T*, std::ptrdiff_t, T*, std::size_t) {
    return 0;
}
template <class T, Interpolation>
std::size_t affine_border_strips(const StripRow&, const Framed<T>&, T*, std::size_t) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

// From which coordinate to which one axis is read.
struct Reach {
    double low, high;
};

// Where `from` to `to` of an axis of `size` come from, first and one behind the last.
std::pair<std::ptrdiff_t, std::ptrdiff_t> read_from(Reach reach, std::size_t size, Outside rule) noexcept {
    const auto last = static_cast<std::ptrdiff_t>(size) - 1;
    // One more on each side than interpolation reads, so that rounding does not matter.
    constexpr double most = 1e15;
    const auto from = static_cast<std::ptrdiff_t>(std::floor(std::clamp(reach.low, -most, most))) - 1;
    const auto to = static_cast<std::ptrdiff_t>(std::floor(std::clamp(reach.high, -most, most))) + 2;
    if (rule == Outside::constant) return {std::max<std::ptrdiff_t>(from, 0), std::min(to, last) + 1};
    std::ptrdiff_t low = inside(from, size, rule), high = inside(to, size, rule);
    if (low > high) std::swap(low, high);
    if (rule == Outside::reflect101 && last > 0) {
        // A turn lies at each multiple of `last`: at the first pixel for the even ones, at the last for the odd.
        const auto below = [last](std::ptrdiff_t index) {
            return index >= 0 ? index / last : -((last - 1 - index) / last);
        };
        const std::ptrdiff_t first_turn = below(from - 1) + 1, last_turn = below(to);
        if (last_turn > first_turn || (last_turn == first_turn && last_turn % 2 == 0)) low = 0;
        if (last_turn > first_turn || (last_turn == first_turn && last_turn % 2 != 0)) high = last;
    }
    return {low, high + 1};
}

Reach reach_of(const double* m, Part tile) noexcept {
    const auto ends = [](double factor, std::size_t first, std::size_t count) {
        const double a = factor * static_cast<double>(first), b = factor * static_cast<double>(first + count - 1);
        return std::minmax({a, b});
    };
    const auto rows = ends(m[0], tile.at.row, tile.rows), columns = ends(m[1], tile.at.column, tile.columns);
    return {rows.first + columns.first + m[2], rows.second + columns.second + m[2]};
}

// A window, and what any pixel of the image that it is a part of looks like.
template <class T>
struct Source {
    view<const T, 2> window;
    Whole whole;
    Border<T> border;

    T operator()(std::ptrdiff_t row, std::ptrdiff_t column) const {
        const std::ptrdiff_t r = inside(row, whole.rows, border.rule), c = inside(column, whole.columns, border.rule);
        if (r < 0 || c < 0) return border.value;
        return window(static_cast<std::size_t>(r) - whole.at.row, static_cast<std::size_t>(c) - whole.at.column);
    }
};

template <class T, Interpolation interpolation>
T pixel(const Source<T>& source, const StripRow& row, const Strip& strip, std::size_t lane) {
    const auto l = static_cast<float>(lane);
    const float half = interpolation == Interpolation::nearest ? 0.5f : 0.0f;
    const float y = strip.down + l * row.down + half, x = strip.right + l * row.right + half;
    const std::ptrdiff_t rows = floor_of(y), columns = floor_of(x);
    const std::ptrdiff_t i = strip.row + rows, j = strip.column + columns;
    if constexpr (interpolation == Interpolation::nearest) {
        return source(i, j);
    } else {
        const auto value = [&](std::ptrdiff_t r, std::ptrdiff_t c) { return static_cast<float>(source(r, c)); };
        const float a = value(i, j), b = value(i, j + 1), c = value(i + 1, j), e = value(i + 1, j + 1);
        const float to_right = x - static_cast<float>(columns), to_below = y - static_cast<float>(rows);
        const float above = a + to_right * (b - a), below = c + to_right * (e - c);
        const float mixed = above + to_below * (below - above);
        if constexpr (sizeof(T) == 1) return static_cast<T>(std::lrintf(mixed));
        return static_cast<T>(mixed);
    }
}

template <class T, Interpolation interpolation>
void transform(const Source<T>& source, view<T, 2> out, const Affine& map, Place at) {
    const auto vectors = PENSTOCK_PICK(affine_strips<T, interpolation>);
    const auto at_borders = PENSTOCK_PICK(affine_border_strips<T, interpolation>);
    const Framed<T> framed{source.window, source.whole, source.border};
    const view<const T, 2>& window = source.window;
    const auto top = static_cast<std::ptrdiff_t>(source.whole.at.row),
               left = static_cast<std::ptrdiff_t>(source.whole.at.column);
    const std::size_t end = at.column + out.extent(1);
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const StripRow row{map, at.row + i};
        T* const to = out.row(i).data();
        const auto plainly = [&](std::size_t from, std::size_t until) {
            for (std::size_t j = from; j < until;) {
                const std::size_t first = j / strip_columns * strip_columns,
                                  behind = std::min(until, first + strip_columns);
                const Strip strip = row.at(first);
                for (; j < behind; ++j) to[j - at.column] = pixel<T, interpolation>(source, row, strip, j - first);
            }
        };
        // The strips that lie within the tile as a whole and whose neighbours lie within the window: 4 columns for the
        // words that are read of bytes.
        const auto [from, until] =
            row.strips_within(at.column, end, {static_cast<double>(top) + 1, static_cast<double>(left) + 1},
                              {static_cast<double>(top) + static_cast<double>(window.extent(0)) - 3,
                               static_cast<double>(left) + static_cast<double>(window.extent(1)) - 6},
                              window.stride(0));
        const std::size_t begin = std::min(end, (at.column + strip_columns - 1) / strip_columns * strip_columns);
        const std::size_t last = std::max(begin, end / strip_columns * strip_columns);
        const auto by_strips = [&](std::size_t first, std::size_t behind, auto strips_of) {
            if (first >= behind) return;
            StripRow strips = row;
            strips.first_column = first;
            strips.top = top;
            strips.left = left;
            plainly(
                first + strip_columns * strips_of(strips, to + (first - at.column), (behind - first) / strip_columns),
                behind);
        };
        const auto border_strips = [&](const StripRow& strips, T* out_of, std::size_t count) {
            return row.within_one_turn(at.column, end, framed) ? at_borders(strips, framed, out_of, count)
                                                               : std::size_t{0};
        };
        plainly(at.column, begin);
        if (from < until) {
            by_strips(begin, from, border_strips);
            by_strips(from, until, [&](const StripRow& strips, T* out_of, std::size_t count) {
                return vectors(strips, window.data(), window.stride(0), out_of, count);
            });
            by_strips(until, last, border_strips);
        } else {
            by_strips(begin, last, border_strips);
        }
        plainly(last, end);
    }
}

}  // namespace

Part affine_part(Affine map, Part tile, std::size_t rows, std::size_t columns, Outside rule) noexcept {
    if (tile.rows == 0 || tile.columns == 0 || rows == 0 || columns == 0) return {};
    const auto [top, bottom] = read_from(reach_of(&map.m[0], tile), rows, rule);
    const auto [left, right] = read_from(reach_of(&map.m[3], tile), columns, rule);
    if (top >= bottom || left >= right) return {};
    return {{static_cast<std::size_t>(top), static_cast<std::size_t>(left)},
            static_cast<std::size_t>(bottom - top),
            static_cast<std::size_t>(right - left)};
}

template <class T>
void affine(view<const T, 2> window, view<T, 2> out, Affine map, Interpolation interpolation, Border<T> border,
            Place at, Whole whole) {
    if (whole.rows == 0 && whole.columns == 0) whole = {{}, window.extent(0), window.extent(1)};
    need_rows("affine", "window", window);
    need_rows("affine", "out", out);
    if (out.empty()) return;
    for (const double number : map.m)
        if (!(std::abs(number) <= 1e12))
            throw std::invalid_argument("affine: a matrix with a number that is none, or above 10^12");
    if (whole.rows == 0 || whole.columns == 0) throw std::invalid_argument("affine: an image without pixels");
    const Part need = affine_part(map, {at, out.extent(0), out.extent(1)}, whole.rows, whole.columns, border.rule);
    if (need.rows > 0 && (need.at.row < whole.at.row || need.at.column < whole.at.column ||
                          need.at.row + need.rows > whole.at.row + window.extent(0) ||
                          need.at.column + need.columns > whole.at.column + window.extent(1))) [[unlikely]]
        throw std::invalid_argument("affine: the tile needs " + std::to_string(need.rows) + " x " +
                                    std::to_string(need.columns) + " pixels from row " + std::to_string(need.at.row) +
                                    ", column " + std::to_string(need.at.column) + " on; the window is " +
                                    shape_text(window) + " from row " + std::to_string(whole.at.row) + ", column " +
                                    std::to_string(whole.at.column) + " on (affine_part() says what a tile needs)");
    const Source<T> source{window, whole, border};
    if (interpolation == Interpolation::nearest) transform<T, Interpolation::nearest>(source, out, map, at);
    else transform<T, Interpolation::bilinear>(source, out, map, at);
}

template void affine<float>(view<const float, 2>, view<float, 2>, Affine, Interpolation, Border<float>, Place, Whole);
template void affine<std::uint8_t>(view<const std::uint8_t, 2>, view<std::uint8_t, 2>, Affine, Interpolation,
                                   Border<std::uint8_t>, Place, Whole);

}  // namespace penstock::kernels

#endif
