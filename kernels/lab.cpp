#include "kernels/lab.hpp"

#include "kernels/lab_pixel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lab.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::CappedTag<float, 8>;
using Number = hn::Vec<Numbers>;
using Integers = hn::RebindToSigned<Numbers>;

HWY_INLINE Number cube_root(Number t) {
    const Numbers d;
    const auto third = hn::Set(d, lab::a_third);
    const auto bits = hn::ConvertTo(d, hn::BitCast(Integers(), t));
    auto z = hn::BitCast(d, hn::ConvertTo(Integers(), hn::Sub(hn::Set(d, lab::guess_from), hn::Mul(bits, third))));
    const auto third_of_t = hn::Mul(t, third);
    for (int step = 0; step < lab::root_steps; ++step) {
        const auto cube = hn::Mul(hn::Mul(z, z), z);
        z = hn::Add(z, hn::Mul(z, hn::Sub(third, hn::Mul(third_of_t, cube))));
    }
    const auto square = hn::Mul(z, z), root = hn::Mul(t, square);
    const auto off = hn::Sub(hn::Mul(hn::Mul(root, root), root), t);
    return hn::Sub(root, hn::Mul(off, hn::Mul(square, third)));
}

HWY_INLINE Number lightness_of(Number r, Number g, Number b, const float* m) {
    const Numbers d;
    const auto t =
        hn::Add(hn::Add(hn::Mul(hn::Set(d, m[0]), r), hn::Mul(hn::Set(d, m[1]), g)), hn::Mul(hn::Set(d, m[2]), b));
    const auto line = hn::Add(hn::Mul(hn::Set(d, lab::line_slope), t), hn::Set(d, lab::line_start));
    return hn::IfThenElse(hn::Gt(t, hn::Set(d, lab::smallest_root)), cube_root(t), line);
}

std::size_t lab_row(const std::uint8_t* rgb, const float* light, float* to, std::size_t pixels) {
    const Numbers d;
    const hn::FixedTag<std::uint8_t, 16> bytes;
    const hn::Rebind<std::uint8_t, Numbers> few;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t j = 0;
    for (; j + 16 <= pixels; j += 16) {
        hn::Vec<decltype(bytes)> red, green, blue;
        hn::LoadInterleaved3(bytes, rgb + 3 * j, red, green, blue);
        HWY_ALIGN std::uint8_t apart[3][16];
        hn::Store(red, bytes, apart[0]);
        hn::Store(green, bytes, apart[1]);
        hn::Store(blue, bytes, apart[2]);
        for (std::size_t k = 0; k < 16; k += lanes) {
            const auto light_of = [&](const std::uint8_t* from) HWY_ATTR {
                return hn::GatherIndex(d, light, hn::PromoteTo(Integers(), hn::LoadU(few, from + k)));
            };
            const auto r = light_of(apart[0]), g = light_of(apart[1]), b = light_of(apart[2]);
            const float* const m = lab::from_rgb.data();
            const auto x = lightness_of(r, g, b, m), y = lightness_of(r, g, b, m + 3), z = lightness_of(r, g, b, m + 6);
            hn::StoreInterleaved3(hn::Sub(hn::Mul(hn::Set(d, 116.0f), y), hn::Set(d, 16.0f)),
                                  hn::Mul(hn::Set(d, 500.0f), hn::Sub(x, y)),
                                  hn::Mul(hn::Set(d, 200.0f), hn::Sub(y, z)), d, to + 3 * (j + k));
        }
    }
    return j;
}

#else

inline std::size_t lab_row(const std::uint8_t*, const float*, float*, std::size_t) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

// Sums over a row in a fixed order: four pixels at a time, each with sums of its own.
class RowSums {
  public:
    static constexpr std::size_t lanes = 12;

    ChannelStatistics operator()(const float* row, std::size_t pixels) {
        double sums[lanes] = {}, squares[lanes] = {};
        double from[lanes];
        for (std::size_t l = 0; l < lanes; ++l) from[l] = row[l % 3];
        const std::size_t whole = 3 * pixels / lanes * lanes;
        for (std::size_t j = 0; j < whole; j += lanes) add(row + j, lanes, from, sums, squares);
        add(row + whole, 3 * pixels - whole, from, sums, squares);
        ChannelStatistics made{pixels, {}, {}};
        const auto count = static_cast<double>(pixels);
        for (std::size_t c = 0; c < 3; ++c) {
            const double sum = sums[c] + sums[c + 3] + sums[c + 6] + sums[c + 9];
            const double square = squares[c] + squares[c + 3] + squares[c + 6] + squares[c + 9];
            made.mean[c] = row[c] + sum / count;
            made.squares[c] = std::max(0.0, square - sum * (sum / count));
        }
        return made;
    }

  private:
    static void add(const float* row, std::size_t count, const double* from, double* sums, double* squares) {
        for (std::size_t l = 0; l < count; ++l) {
            const double distance = row[l] - from[l];
            sums[l] += distance;
            squares[l] += distance * distance;
        }
    }
};

template <class EachRow>
void convert(const char* kernel, view<const std::uint8_t, 2> rgb, view<float, 2> lab, EachRow each_row) {
    need_same_shape(kernel, "rgb", rgb, "lab", lab);
    need_rows(kernel, "rgb", rgb);
    need_rows(kernel, "lab", lab);
    if (rgb.extent(1) % 3 != 0) [[unlikely]]
        throw std::invalid_argument(std::string(kernel) + ": rows of " + std::to_string(rgb.extent(1)) +
                                    " numbers; they must be a multiple of 3, the channels of each pixel side by side");
    const auto vectors = PENSTOCK_PICK(lab_row);
    const float* const light = lab::linear_light().data();
    const std::size_t pixels = rgb.extent(1) / 3;
    if (pixels == 0) return;
    for (std::size_t i = 0; i < rgb.extent(0); ++i) {
        const std::uint8_t* const from = rgb.row(i).data();
        float* const to = lab.row(i).data();
        for (std::size_t j = vectors(from, light, to, pixels); j < pixels; ++j)
            lab::pixel(from + 3 * j, light, to + 3 * j);
        each_row(to, pixels);
    }
}

}  // namespace

void ChannelStatistics::merge(const ChannelStatistics& other) noexcept {
    if (other.pixels == 0) return;
    const double mine = static_cast<double>(pixels), others = static_cast<double>(other.pixels), all = mine + others;
    for (std::size_t c = 0; c < 3; ++c) {
        const double apart = other.mean[c] - mean[c];
        mean[c] += apart * (others / all);
        squares[c] += other.squares[c] + apart * apart * (mine * (others / all));
    }
    pixels += other.pixels;
}

void rgb_to_lab(view<const std::uint8_t, 2> rgb, view<float, 2> lab) {
    convert("rgb_to_lab", rgb, lab, [](const float*, std::size_t) {});
}

void rgb_to_lab_with_statistics(view<const std::uint8_t, 2> rgb, view<float, 2> lab,
                                std::span<ChannelStatistics> statistics) {
    const char* const kernel = "rgb_to_lab_with_statistics";
    if (statistics.empty()) throw std::invalid_argument(std::string(kernel) + ": `statistics` has room for none");
    ChannelStatistics all;
    convert(kernel, rgb, lab, [&](const float* row, std::size_t pixels) { all.merge(RowSums()(row, pixels)); });
    statistics[0] = all;
}

}  // namespace penstock::kernels

#endif
