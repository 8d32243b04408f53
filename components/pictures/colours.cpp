// Colours: the kernels that make one out of another, pixel by pixel.
#include <algorithm>
#include <cmath>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "kernels/idct.hpp"
#include "kernels/lab.hpp"
#include "kernels/yuv.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

struct Grey {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> grey{"grey"};
    void operator()() {
        auto read = picture.read();
        const auto shape = shape_of(read);
        if (shape.channels == 1) return grey.write(std::move(read));
        (void)shape_of(read, 3);
        auto made = make_picture(grey, {shape.rows, shape.columns, 1});
        const auto* from = read.span().data();
        for (auto& pixel : made.edit()) {
            // BT.601 in 16 bits, rounded, as libjpeg and Pillow have it
            pixel = static_cast<std::uint8_t>((19595u * from[0] + 38470u * from[1] + 7471u * from[2] + 32768u) >> 16);
            from += 3;
        }
        grey.write(std::move(made));
    }
};

struct Channel {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> grey{"grey"};
    Setting<int> number{"number", 0, {.least = 0, .most = 3, .doc = "From 0: of RGB, red."}};
    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        const auto wanted = static_cast<std::size_t>(number.get());
        if (wanted >= shape.channels)
            throw UsageError("a picture of " + text_of(shape) + " has no channel number " + std::to_string(wanted) +
                             ", counted from 0");
        auto made = make_picture(grey, {shape.rows, shape.columns, 1});
        const auto* from = read.span().data() + wanted;
        for (auto& pixel : made.edit()) pixel = *from, from += shape.channels;
        grey.write(std::move(made));
    }
};

struct YuvToRgb {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> y{"y"}, u{"u"}, v{"v"};
    Output<std::uint8_t> picture{"picture"};
    Setting<std::string> range{
        "range",
        "studio",
        {.choices = {"studio", "full"}, .doc = "studio: black is 16, white 235 (video); full: 0 and 255 (JPEG)."}};
    void operator()() {
        const auto luminance = y.read(), blue = u.read(), red = v.read();
        const auto shape = shape_of(luminance, 1);
        auto made = make_picture(picture, {shape.rows, shape.columns, 3});
        kernels::yuv_to_rgb(rows_of(luminance), rows_of(blue), rows_of(red), edit_rows(made),
                            range.get() == "full" ? kernels::YuvRange::full : kernels::YuvRange::studio);
        picture.write(std::move(made));
    }
};

struct Lab {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<float> lab{"lab"};
    void operator()() {
        const auto read = picture.read();
        auto made = make_picture(lab, shape_of(read, 3));
        kernels::rgb_to_lab(rows_of(read), edit_rows(made));
        lab.write(std::move(made));
    }
};

struct LabWithStatistics {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<float> lab{"lab"};
    Output<double> statistics{"statistics"};
    void operator()() {
        const auto read = picture.read();
        auto made = make_picture(lab, shape_of(read, 3));
        kernels::ChannelStatistics found;
        kernels::rgb_to_lab_with_statistics(rows_of(read), edit_rows(made), {&found, 1});
        auto figures = statistics.make(7);
        const auto to = figures.edit();
        to[0] = static_cast<double>(found.pixels);
        std::ranges::copy(found.mean, to.begin() + 1);
        std::ranges::copy(found.squares, to.begin() + 4);
        lab.write(std::move(made));
        statistics.write(std::move(figures));
    }
};

struct Idct {
    static constexpr bool may_be_copied = true;
    Input<std::int16_t> coefficients{"coefficients"};
    Output<std::uint8_t> grey{"grey"};
    Setting<int> columns{
        "columns", 8, {.unit = "pixels", .least = 8, .most = 1 << 16, .doc = "Of the picture: a multiple of 8."}};
    void operator()() {
        const auto read = coefficients.read();
        const auto wide = static_cast<std::size_t>(columns.get());
        if (wide % 8 != 0 || read.size() % (8 * wide) != 0)
            throw UsageError(std::to_string(read.size()) + " coefficients are no whole rows of blocks of 8 x 8 in " +
                             std::to_string(wide) + " columns");
        auto made = make_picture(grey, {read.size() / wide, wide, 1});
        kernels::idct_8x8_pixels(read.span(), edit_rows(made));
        grey.write(std::move(made));
    }
};

struct ToFloats {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<float> floats{"floats"};
    Setting<double> factor{"factor", 1.0 / 255, {.doc = "By which each byte is multiplied."}};
    void operator()() {
        const auto read = picture.read();
        auto made = make_picture(floats, shape_of(read));
        const auto by = static_cast<float>(factor.get());
        std::ranges::transform(read.span(), made.edit().begin(),
                               [by](std::uint8_t value) { return by * static_cast<float>(value); });
        floats.write(std::move(made));
    }
};

struct ToBytes {
    static constexpr bool may_be_copied = true;
    Input<float> floats{"floats"};
    Output<std::uint8_t> picture{"picture"};
    Setting<double> factor{"factor", 255, {.doc = "By which each value is multiplied."}};
    Setting<double> offset{"offset", 0, {.doc = "What is added behind that."}};
    void operator()() {
        const auto read = floats.read();
        auto made = make_picture(picture, shape_of(read));
        const auto by = static_cast<float>(factor.get()), more = static_cast<float>(offset.get());
        std::ranges::transform(read.span(), made.edit().begin(),
                               [by, more](float value) { return byte_of(value * by + more); });
        picture.write(std::move(made));
    }
};

/// White where all channels lie between their limits.
struct Mask {
    static constexpr bool may_be_copied = true;
    Input<float> values{"values"};
    Output<std::uint8_t> mask{"mask"};
    Setting<double> least_0{"least-0", -1e9, {.doc = "Of the first channel; of CIELAB, the lightness."}},
        most_0{"most-0", 1e9}, least_1{"least-1", -1e9}, most_1{"most-1", 1e9}, least_2{"least-2", -1e9},
        most_2{"most-2", 1e9};
    void operator()() {
        const auto read = values.read();
        const auto shape = shape_of(read);
        const float least[] = {static_cast<float>(least_0), static_cast<float>(least_1), static_cast<float>(least_2)},
                    most[] = {static_cast<float>(most_0), static_cast<float>(most_1), static_cast<float>(most_2)};
        auto made = make_picture(mask, {shape.rows, shape.columns, 1});
        const auto* from = read.span().data();
        for (auto& pixel : made.edit()) {
            bool in = true;
            for (std::size_t c = 0; c < std::min<std::size_t>(shape.channels, 3); ++c)
                in = in && from[c] >= least[c] && from[c] <= most[c];
            pixel = in ? 255 : 0;
            from += shape.channels;
        }
        mask.write(std::move(made));
    }
};

}  // namespace

void add_colours(Components& components) {
    components.add<Grey>("grey", "The luminance of RGB (BT.601); what is grey already is passed on.");
    components.add<Channel>("channel", "One channel of a picture.");
    components.add<YuvToRgb>("yuv-to-rgb", "Luminance and two chrominances (4:4:4, 4:2:2, 4:2:0; BT.601) to RGB.");
    components.add<Lab>("lab", "RGB (sRGB, D65) to CIELAB: L*, a*, b* of each pixel.");
    components.add<LabWithStatistics>(
        "lab-with-statistics",
        "The same, and seven figures: pixels, three means, three sums of squared distances from them.");
    components.add<Idct>("idct", "Blocks of 8 x 8 dequantised coefficients, as of JPEG, to grey pixels.");
    components.add<ToFloats>("to-floats", "Bytes times `factor`.");
    components.add<ToBytes>("to-bytes", "Values times `factor` plus `offset`, rounded and cut off at 0 and 255.");
    components.add<Mask>("mask", "White where each of the first three channels lies between its limits, else black.");
}

}  // namespace penstock::components
