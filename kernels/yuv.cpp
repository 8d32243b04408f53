#include "kernels/yuv.hpp"

#include "kernels/yuv_row.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/yuv.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::int16_t>;
using Bytes = hn::Rebind<std::uint8_t, Words>;
using Vector = hn::Vec<Words>;

// What chrominance adds to red, green and blue.
struct Tint {
    Vector red, green, blue;
};

HWY_INLINE Tint tint_of(const std::uint8_t* u, const std::uint8_t* v, const YuvFactors& factors) {
    const Words d;
    const auto middle = hn::Set(d, std::int16_t{128});
    const auto blueness = hn::ShiftLeft<8>(hn::Sub(hn::PromoteTo(d, hn::LoadU(Bytes(), u)), middle));
    const auto redness = hn::ShiftLeft<8>(hn::Sub(hn::PromoteTo(d, hn::LoadU(Bytes(), v)), middle));
    return {hn::MulFixedPoint15(redness, hn::Set(d, factors.red_v)),
            hn::Add(hn::MulFixedPoint15(blueness, hn::Set(d, factors.green_u)),
                    hn::MulFixedPoint15(redness, hn::Set(d, factors.green_v))),
            hn::MulFixedPoint15(blueness, hn::Set(d, factors.blue_u))};
}

HWY_INLINE void put(const std::uint8_t* y, const Tint& tint, const YuvFactors& factors, std::uint8_t* rgb) {
    const Words d;
    const auto above_black = hn::Sub(hn::PromoteTo(d, hn::LoadU(Bytes(), y)), hn::Set(d, factors.black));
    const auto light = hn::MulFixedPoint15(hn::ShiftLeft<7>(above_black), hn::Set(d, factors.luminance));
    const auto half = hn::Set(d, std::int16_t{1 << (yuv_digits - 1)});
    const auto colour = [&](Vector added) HWY_ATTR {
        const auto sum = hn::SaturatedAdd(hn::SaturatedAdd(light, added), half);
        return hn::DemoteTo(Bytes(), hn::ShiftRight<yuv_digits>(sum));
    };
    hn::StoreInterleaved3(colour(tint.red), colour(tint.green), colour(tint.blue), Bytes(), rgb);
}

// Each lane twice: the lower half of the lanes, the upper half.
HWY_INLINE Vector lower_twice(Vector a) {
    const Words d;
    const auto low = hn::InterleaveLower(d, a, a);
    if constexpr (hn::MaxLanes(d) == 8) return low;
    else return hn::ConcatLowerLower(d, hn::InterleaveUpper(d, a, a), low);
}
HWY_INLINE Vector upper_twice(Vector a) {
    const Words d;
    const auto up = hn::InterleaveUpper(d, a, a);
    if constexpr (hn::MaxLanes(d) == 8) return up;
    else return hn::ConcatUpperUpper(d, up, hn::InterleaveLower(d, a, a));
}

std::size_t row_of_pairs(const std::uint8_t* y, const std::uint8_t* u, const std::uint8_t* v, YuvFactors factors,
                         std::uint8_t* rgb, std::size_t columns) {
    const std::size_t lanes = hn::Lanes(Words());
    std::size_t j = 0;
    for (; j + 2 * lanes <= columns; j += 2 * lanes) {
        const Tint tint = tint_of(u + j / 2, v + j / 2, factors);
        put(y + j, {lower_twice(tint.red), lower_twice(tint.green), lower_twice(tint.blue)}, factors, rgb + 3 * j);
        put(y + j + lanes, {upper_twice(tint.red), upper_twice(tint.green), upper_twice(tint.blue)}, factors,
            rgb + 3 * (j + lanes));
    }
    return j;
}

std::size_t row_of_single(const std::uint8_t* y, const std::uint8_t* u, const std::uint8_t* v, YuvFactors factors,
                          std::uint8_t* rgb, std::size_t columns) {
    const std::size_t lanes = hn::Lanes(Words());
    std::size_t j = 0;
    for (; j + lanes <= columns; j += lanes) put(y + j, tint_of(u + j, v + j, factors), factors, rgb + 3 * j);
    return j;
}

#else

inline std::size_t row_of_pairs(const std::uint8_t*, const std::uint8_t*, const std::uint8_t*, YuvFactors,
                                std::uint8_t*, std::size_t) {
    return 0;
}
inline std::size_t row_of_single(const std::uint8_t*, const std::uint8_t*, const std::uint8_t*, YuvFactors,
                                 std::uint8_t*, std::size_t) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

// Of the definition: R = Y + 1.402 V, B = Y + 1.772 U, and green such that 0.299 R + 0.587 G + 0.114 B = Y.
constexpr YuvFactors factors_of(int black, double white, double chrominance_range) {
    const double light = 255 / (white - black), tint = 255 / chrominance_range;
    const auto fixed = [](double factor, int digits) {
        const double scaled = factor * (1 << digits);
        return static_cast<std::int16_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    };
    return {static_cast<std::int16_t>(black),
            fixed(light, 14),
            fixed(1.402 * tint, 13),
            fixed(-1.772 * 0.114 / 0.587 * tint, 13),
            fixed(-1.402 * 0.299 / 0.587 * tint, 13),
            fixed(1.772 * tint, 13)};
}
constexpr YuvFactors studio = factors_of(16, 235, 224), full = factors_of(0, 255, 255);

bool halves(std::size_t small, std::size_t large) { return small == (large + 1) / 2; }

}  // namespace

void yuv_to_rgb(view<const std::uint8_t, 2> y, view<const std::uint8_t, 2> u, view<const std::uint8_t, 2> v,
                view<std::uint8_t, 2> rgb, YuvRange range) {
    const char* const kernel = "yuv_to_rgb";
    need_same_shape(kernel, "u", u, "v", v);
    need_rows(kernel, "y", y);
    need_rows(kernel, "u", u);
    need_rows(kernel, "v", v);
    need_rows(kernel, "rgb", rgb);
    const std::size_t rows = y.extent(0), columns = y.extent(1);
    if (rgb.extent(0) != rows || rgb.extent(1) != 3 * columns) [[unlikely]]
        throw std::invalid_argument(std::string(kernel) + ": `rgb` is " + shape_text(rgb) + "; for `y` of " +
                                    shape_text(y) + " it must be " + std::to_string(rows) + " x " +
                                    std::to_string(3 * columns));
    const bool same_columns = u.extent(1) == columns, same_rows = u.extent(0) == rows;
    if (!(same_columns && same_rows) && !(halves(u.extent(1), columns) && (same_rows || halves(u.extent(0), rows))))
        [[unlikely]]
        throw std::invalid_argument(
            std::string(kernel) + ": `u` and `v` are " + shape_text(u) + " and `y` is " + shape_text(y) +
            "; they must be of one shape, or `u` and `v` of half the columns, or of half the rows and columns");
    const YuvFactors& factors = range == YuvRange::studio ? studio : full;
    const auto vectors = same_columns ? PENSTOCK_PICK(row_of_single) : PENSTOCK_PICK(row_of_pairs);
    for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t k = same_rows ? i : i / 2;
        const std::uint8_t *light = y.row(i).data(), *blueness = u.row(k).data(), *redness = v.row(k).data();
        std::uint8_t* const to = rgb.row(i).data();
        for (std::size_t j = vectors(light, blueness, redness, factors, to, columns); j < columns; ++j) {
            const std::size_t l = same_columns ? j : j / 2;
            const Rgb pixel = rgb_of(light[j], blueness[l], redness[l], factors);
            to[3 * j] = pixel.red;
            to[3 * j + 1] = pixel.green;
            to[3 * j + 2] = pixel.blue;
        }
    }
}

}  // namespace penstock::kernels

#endif
