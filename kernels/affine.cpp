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

using Lanes = hn::CappedTag<float, strip_columns>;
using Integers = hn::RebindToSigned<Lanes>;

// A pixel and the one to its right, as one word.
template <class T>
using Pair = std::conditional_t<sizeof(T) == 1, std::uint16_t, std::uint64_t>;
static_assert(std::endian::native == std::endian::little);

// 64 pixels at a time, in three steps, each a loop of its own: where they come from (vectors), the pixels around (one load after
// the other: gather instructions took three times as long on a Zen 3), and what is between them (vectors).
struct Chunk {
    static constexpr std::size_t strips = 8, pixels = strips * strip_columns;

    alignas(32) std::int32_t row[strips], column[strips];  // of the strip's first pixel
    alignas(32) float down[strips], right[strips];
    alignas(32) std::int32_t offset[pixels];  // from that, in elements
    alignas(32) float below[pixels], beside[pixels];

    HWY_INLINE void place(const StripRow& strip_row, std::size_t first) {
        const hn::CappedTag<double, strips> d;
        const hn::Rebind<std::int32_t, decltype(d)> integers;
        const hn::Rebind<float, decltype(d)> singles;
        const auto origin = hn::Set(d, static_cast<double>(strip_row.first_column + first * strip_columns));
        for (std::size_t s = 0; s < strips; s += hn::Lanes(d)) {
            const auto at = hn::Add(origin, hn::Mul(hn::Iota(d, static_cast<double>(s)), hn::Set(d, double{strip_columns})));
            const auto along = [&](double start, double step, std::int32_t* whole, float* rest) HWY_ATTR {
                const auto value = hn::Add(hn::Set(d, start), hn::Mul(hn::Set(d, step), at));
                const auto floor = hn::Floor(value);
                hn::StoreU(hn::DemoteTo(integers, floor), integers, whole + s);
                hn::StoreU(hn::DemoteTo(singles, hn::Sub(value, floor)), singles, rest + s);
            };
            along(strip_row.row_of_first, strip_row.row_a_column, row, down);
            along(strip_row.column_of_first, strip_row.column_a_column, column, right);
        }
    }

    template <Interpolation interpolation>
    HWY_INLINE void spread(const StripRow& strip_row, std::int32_t pitch, std::size_t count) {
        const Lanes d;
        const Integers integers;
        const float half = interpolation == Interpolation::nearest ? 0.5f : 0.0f;
        for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
            const std::size_t s = k / strip_columns;
            const auto lane = hn::Iota(d, static_cast<float>(k % strip_columns));
            const auto y = hn::Add(hn::Add(hn::Set(d, down[s]), hn::Mul(lane, hn::Set(d, strip_row.down))), hn::Set(d, half));
            const auto x = hn::Add(hn::Add(hn::Set(d, right[s]), hn::Mul(lane, hn::Set(d, strip_row.right))), hn::Set(d, half));
            const auto whole_y = hn::Floor(y), whole_x = hn::Floor(x);
            const auto at =
                hn::Add(hn::Mul(hn::ConvertTo(integers, whole_y), hn::Set(integers, pitch)), hn::ConvertTo(integers, whole_x));
            hn::Store(at, integers, offset + k);
            if constexpr (interpolation == Interpolation::bilinear) {
                hn::Store(hn::Sub(y, whole_y), d, below + k);
                hn::Store(hn::Sub(x, whole_x), d, beside + k);
            }
        }
    }

    HWY_INLINE hn::Vec<Lanes> mix(std::size_t k, hn::Vec<Lanes> a, hn::Vec<Lanes> b, hn::Vec<Lanes> c, hn::Vec<Lanes> e) const {
        const Lanes d;
        const auto to_right = hn::Load(d, beside + k), to_below = hn::Load(d, below + k);
        const auto upper = hn::Add(a, hn::Mul(to_right, hn::Sub(b, a))), lower = hn::Add(c, hn::Mul(to_right, hn::Sub(e, c)));
        return hn::Add(upper, hn::Mul(to_below, hn::Sub(lower, upper)));
    }
};

HWY_INLINE void interpolate(const Chunk& chunk, const std::uint32_t* squares, std::uint8_t* out, std::size_t count) {
    const Lanes d;
    const Integers integers;
    const hn::Rebind<std::uint8_t, Lanes> bytes;
    const auto mask = hn::Set(integers, 255);
    for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
        const auto square = hn::BitCast(integers, hn::Load(hn::RebindToUnsigned<Lanes>(), squares + k));
        const auto low = [&](auto word) HWY_ATTR { return hn::ConvertTo(d, hn::And(word, mask)); };
        const auto value = chunk.mix(k, low(square), low(hn::ShiftRight<8>(square)), low(hn::ShiftRight<16>(square)),
                                     low(hn::ShiftRight<24>(square)));
        hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(value)), bytes, out + k);
    }
}

HWY_INLINE void interpolate(const Chunk& chunk, const float* upper, const float* lower, float* out, std::size_t count) {
    const Lanes d;
    for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
        hn::Vec<Lanes> a, b, c, e;
        hn::LoadInterleaved2(d, upper + 2 * k, a, b);
        hn::LoadInterleaved2(d, lower + 2 * k, c, e);
        hn::StoreU(chunk.mix(k, a, b, c, e), d, out + k);
    }
}

// Strips of a row of the result whose pixels all have their neighbours within the window.
template <class T, Interpolation interpolation>
std::size_t affine_strips(const StripRow& row, const T* pixels, std::ptrdiff_t pitch, T* out, std::size_t strips) {
    Chunk chunk;
    for (std::size_t first = 0; first < strips; first += Chunk::strips, out += Chunk::pixels) {
        const std::size_t count = strips - first < Chunk::strips ? strips - first : Chunk::strips;
        chunk.place(row, first);
        chunk.template spread<interpolation>(row, static_cast<std::int32_t>(pitch), count * strip_columns);
        alignas(32) std::conditional_t<sizeof(T) == 1, std::uint32_t, float> around[sizeof(T) == 1 ? 1 : 2]
                                                                                   [Chunk::pixels * (sizeof(T) == 1 ? 1 : 2)];
        for (std::size_t s = 0; s < count; ++s) {
            const T* const from = pixels + (chunk.row[s] - row.top) * pitch + (chunk.column[s] - row.left);
            const std::int32_t* const offset = chunk.offset + s * strip_columns;
            for (std::size_t l = 0; l < strip_columns; ++l) {
                const T* const pixel = from + offset[l];
                const std::size_t k = s * strip_columns + l;
                if constexpr (interpolation == Interpolation::nearest) {
                    out[k] = *pixel;
                } else {
                    Pair<T> upper, lower;
                    std::memcpy(&upper, pixel, sizeof upper);
                    std::memcpy(&lower, pixel + pitch, sizeof lower);
                    if constexpr (sizeof(T) == 1) {
                        around[0][k] = std::uint32_t{upper} | static_cast<std::uint32_t>(lower) << 16;
                    } else {
                        std::memcpy(around[0] + 2 * k, &upper, sizeof upper);
                        std::memcpy(around[1] + 2 * k, &lower, sizeof lower);
                    }
                }
            }
        }
        if constexpr (interpolation == Interpolation::bilinear) {
            if constexpr (sizeof(T) == 1)
                interpolate(chunk, around[0], out, count * strip_columns);
            else
                interpolate(chunk, around[0], around[1], out, count * strip_columns);
        }
    }
    return strips;
}

#else

template <class T, Interpolation>
std::size_t affine_strips(const StripRow&, const T*, std::ptrdiff_t, T*, std::size_t) {
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
        const auto below = [last](std::ptrdiff_t index) { return index >= 0 ? index / last : -((last - 1 - index) / last); };
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
    const view<const T, 2>& window = source.window;
    const auto top = static_cast<std::ptrdiff_t>(source.whole.at.row), left = static_cast<std::ptrdiff_t>(source.whole.at.column);
    const std::size_t end = at.column + out.extent(1);
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const StripRow row{map, at.row + i};
        T* const to = out.row(i).data();
        const auto plainly = [&](std::size_t from, std::size_t until) {
            for (std::size_t j = from; j < until;) {
                const std::size_t first = j / strip_columns * strip_columns, behind = std::min(until, first + strip_columns);
                const Strip strip = row.at(first);
                for (; j < behind; ++j) to[j - at.column] = pixel<T, interpolation>(source, row, strip, j - first);
            }
        };
        // The strips that lie within the tile as a whole and whose neighbours lie within the window: 4 columns for the words that
        // are read of bytes.
        const auto [from, until] =
            row.strips_within(at.column, end, {static_cast<double>(top) + 1, static_cast<double>(left) + 1},
                              {static_cast<double>(top) + static_cast<double>(window.extent(0)) - 3,
                               static_cast<double>(left) + static_cast<double>(window.extent(1)) - 6},
                              window.stride(0));
        StripRow inner = row;
        inner.first_column = from;
        inner.top = top;
        inner.left = left;
        const std::size_t strips = (until - from) / strip_columns;
        const std::size_t done =
            strips > 0 ? vectors(inner, window.data(), window.stride(0), to + (from - at.column), strips) : 0;
        plainly(at.column, done > 0 ? from : end);
        if (done > 0) plainly(from + done * strip_columns, end);
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
void affine(view<const T, 2> window, view<T, 2> out, Affine map, Interpolation interpolation, Border<T> border, Place at,
            Whole whole) {
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
        throw std::invalid_argument("affine: the tile needs " + std::to_string(need.rows) + " x " + std::to_string(need.columns) +
                                    " pixels from row " + std::to_string(need.at.row) + ", column " +
                                    std::to_string(need.at.column) + " on; the window is " + shape_text(window) + " from row " +
                                    std::to_string(whole.at.row) + ", column " + std::to_string(whole.at.column) +
                                    " on (affine_part() says what a tile needs)");
    const Source<T> source{window, whole, border};
    if (interpolation == Interpolation::nearest)
        transform<T, Interpolation::nearest>(source, out, map, at);
    else
        transform<T, Interpolation::bilinear>(source, out, map, at);
}

template void affine<float>(view<const float, 2>, view<float, 2>, Affine, Interpolation, Border<float>, Place, Whole);
template void affine<std::uint8_t>(view<const std::uint8_t, 2>, view<std::uint8_t, 2>, Affine, Interpolation,
                                   Border<std::uint8_t>, Place, Whole);

}  // namespace penstock::kernels

#endif
