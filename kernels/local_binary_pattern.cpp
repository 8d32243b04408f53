#include "kernels/local_binary_pattern.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/local_binary_pattern.cpp"
#include "kernels/each_target.hpp"

namespace penstock::kernels {
#if !defined(PENSTOCK_KERNELS_PATTERN_ROWS)
#define PENSTOCK_KERNELS_PATTERN_ROWS
// How far the diagonal neighbours are, in rows and in columns: the cosine of 45 degrees, rounded to five digits.
inline constexpr double diagonal = 0.70711;

// The row of a pixel, those above and below, and how far the diagonal neighbours lie behind the row before them.
struct PatternRows {
    const void *above, *middle, *below;
    double up, down;
};
#endif
}  // namespace penstock::kernels

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<double>;
using Number = hn::Vec<Numbers>;

HWY_INLINE Number load(const std::uint8_t* from) {
    const hn::Rebind<std::int32_t, Numbers> integers;
    return hn::PromoteTo(Numbers(), hn::PromoteTo(integers, hn::LoadU(hn::Rebind<std::uint8_t, Numbers>(), from)));
}
HWY_INLINE Number load(const float* from) {
    return hn::PromoteTo(Numbers(), hn::LoadU(hn::Rebind<float, Numbers>(), from));
}

HWY_INLINE Number mix(Number share, Number one_less, Number a, Number b) {
    return hn::Add(hn::Mul(one_less, a), hn::Mul(share, b));
}

// Codes from column `first` of the image on; the rows begin there.
template <class T>
std::size_t pattern_row(const PatternRows& rows, std::size_t first, std::uint8_t* out, std::size_t columns) {
    const Numbers d;
    const hn::Rebind<std::int32_t, Numbers> integers;
    const hn::Rebind<std::uint8_t, Numbers> bytes;
    const std::size_t lanes = hn::Lanes(d);
    const T *above = static_cast<const T*>(rows.above), *middle = static_cast<const T*>(rows.middle),
            *below = static_cast<const T*>(rows.below);
    const auto one = hn::Set(d, 1.0), up = hn::Set(d, rows.up), down = hn::Set(d, rows.down), not_up = hn::Sub(one, up),
               not_down = hn::Sub(one, down), away = hn::Set(d, diagonal);
    std::size_t j = 0;
    for (; j + lanes <= columns; j += lanes, above += lanes, middle += lanes, below += lanes) {
        const auto column = hn::Iota(d, static_cast<double>(first + j));
        const auto to_right = hn::Add(column, away), to_left = hn::Sub(column, away);
        const auto right = hn::Sub(to_right, hn::Floor(to_right)), left = hn::Sub(to_left, hn::Floor(to_left));
        const auto not_right = hn::Sub(one, right), not_left = hn::Sub(one, left);
        const auto centre = load(middle), east = load(middle + 1), west = load(middle - 1);
        const auto north = load(above), south = load(below);
        const auto right_here = mix(right, not_right, centre, east), left_here = mix(left, not_left, west, centre);
        const auto north_east = mix(up, not_up, mix(right, not_right, north, load(above + 1)), right_here);
        const auto north_west = mix(up, not_up, mix(left, not_left, load(above - 1), north), left_here);
        const auto south_west = mix(down, not_down, left_here, mix(left, not_left, load(below - 1), south));
        const auto south_east = mix(down, not_down, right_here, mix(right, not_right, south, load(below + 1)));
        auto code = hn::Zero(d);  // a number below 256, which a double holds
        const auto add = [&](Number neighbour, double bit) HWY_ATTR {
            code = hn::Add(code, hn::IfThenElseZero(hn::Ge(neighbour, centre), hn::Set(d, bit)));
        };
        add(east, 1);
        add(north_east, 2);
        add(north, 4);
        add(north_west, 8);
        add(west, 16);
        add(south_west, 32);
        add(south, 64);
        add(south_east, 128);
        hn::StoreU(hn::DemoteTo(bytes, hn::DemoteTo(integers, code)), bytes, out + j);
    }
    return j;
}

#else

template <class T>
std::size_t pattern_row(const PatternRows&, std::size_t, std::uint8_t*, std::size_t) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

double mix(double share, double a, double b) { return (1 - share) * a + share * b; }

double behind_the_whole(double place) { return place - std::floor(place); }

// One code; pixel(v, u) is the neighbour v rows and u columns away.
template <class Pixel>
std::uint8_t code_of(double up, double down, std::size_t column, Pixel pixel) {
    const double right = behind_the_whole(static_cast<double>(column) + diagonal),
                 left = behind_the_whole(static_cast<double>(column) - diagonal);
    const double centre = pixel(0, 0), east = pixel(0, 1), west = pixel(0, -1), north = pixel(-1, 0),
                 south = pixel(1, 0);
    const double right_here = mix(right, centre, east), left_here = mix(left, west, centre);
    const std::array<double, 8> around{east,  mix(up, mix(right, north, pixel(-1, 1)), right_here),
                                       north, mix(up, mix(left, pixel(-1, -1), north), left_here),
                                       west,  mix(down, left_here, mix(left, pixel(1, -1), south)),
                                       south, mix(down, right_here, mix(right, south, pixel(1, 1)))};
    unsigned code = 0;
    for (std::size_t k = 0; k < around.size(); ++k) code |= static_cast<unsigned>(around[k] >= centre) << k;
    return static_cast<std::uint8_t>(code);
}

constexpr std::array<std::uint8_t, 256> uniform_codes() {
    std::array<std::uint8_t, 256> codes{};
    for (unsigned code = 0; code < 256; ++code) {
        const int changes = std::popcount((code ^ code >> 1) & 0x7f);
        codes[code] = static_cast<std::uint8_t>(changes <= 2 ? std::popcount(code) : 9);
    }
    return codes;
}

}  // namespace

template <class T>
void local_binary_pattern(view<const T, 2> window, view<std::uint8_t, 2> out, PatternCode code, Place at,
                          Border<T> border, Place origin) {
    const char* const kernel = "local_binary_pattern";
    need_within(kernel, window, out, at);
    need_rows(kernel, "window", window);
    need_rows(kernel, "out", out);
    if (out.empty()) return;
    static constexpr auto uniform = uniform_codes();
    const auto vectors = PENSTOCK_PICK(pattern_row<T>);
    const std::size_t columns = out.extent(1);
    std::vector<T> constant(border.rule == Outside::constant ? window.extent(1) : 0, border.value);
    // The columns that have both neighbours.
    const std::size_t first = std::min<std::size_t>(at.column == 0 ? 1 : 0, columns);
    const std::size_t end =
        std::max(first, std::min(columns, window.extent(1) - 1 - std::min(at.column, window.extent(1) - 1)));
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const std::array<const T*, 3> near = [&] {
            std::array<const T*, 3> made{};
            for (std::size_t v = 0; v < 3; ++v) {
                const std::ptrdiff_t row =
                    inside(static_cast<std::ptrdiff_t>(at.row + i + v) - 1, window.extent(0), border.rule);
                made[v] = row < 0 ? constant.data() : window.data() + row * window.stride(0);
            }
            return made;
        }();
        const auto place = static_cast<double>(origin.row + at.row + i);
        const double up = behind_the_whole(place - diagonal), down = behind_the_whole(place + diagonal);
        std::uint8_t* const to = out.row(i).data();
        const auto plainly = [&](std::size_t from, std::size_t until) {
            for (std::size_t j = from; j < until; ++j) {
                to[j] = code_of(up, down, origin.column + at.column + j, [&](int v, int u) -> double {
                    const std::ptrdiff_t column =
                        inside(static_cast<std::ptrdiff_t>(at.column + j) + u, window.extent(1), border.rule);
                    return column < 0 ? border.value : near[static_cast<std::size_t>(v + 1)][column];
                });
            }
        };
        plainly(0, first);
        std::size_t done = first;
        if (first < end) {
            const std::size_t from = at.column + first;
            done += vectors({near[0] + from, near[1] + from, near[2] + from, up, down}, origin.column + from,
                            to + first, end - first);
        }
        plainly(done, columns);
        if (code == PatternCode::uniform)
            for (std::size_t j = 0; j < columns; ++j) to[j] = uniform[to[j]];
    }
}

template void local_binary_pattern<float>(view<const float, 2>, view<std::uint8_t, 2>, PatternCode, Place,
                                          Border<float>, Place);
template void local_binary_pattern<std::uint8_t>(view<const std::uint8_t, 2>, view<std::uint8_t, 2>, PatternCode, Place,
                                                 Border<std::uint8_t>, Place);

}  // namespace penstock::kernels

#endif
