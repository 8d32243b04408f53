// Filters that look around each pixel.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "components/classes.hpp"
#include "components/pictures/planes.hpp"
#include "kernels/convolution.hpp"
#include "kernels/local_binary_pattern.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

using kernels::Weight;

/// Whole weights whose sum is as near to 2^shift as can be, for sums that a kernel can hold: the absolute weights of a
/// line sum up to 128 or less.
std::vector<std::int16_t> whole(const std::vector<double>& weights, int shift) {
    std::vector<std::int16_t> made;
    const double unit = std::ldexp(1.0, shift);
    for (const double each : weights) made.push_back(static_cast<std::int16_t>(std::lround(each * unit)));
    const auto wanted = std::lround(std::accumulate(weights.begin(), weights.end(), 0.0) * unit);
    made[made.size() / 2] =
        static_cast<std::int16_t>(made[made.size() / 2] + wanted - std::accumulate(made.begin(), made.end(), 0L));
    return made;
}

std::vector<double> gaussian(double sigma) {
    const auto reach = std::max(1L, std::lround(3 * sigma));
    std::vector<double> weights;
    for (auto x = -reach; x <= reach; ++x)
        weights.push_back(std::exp(-static_cast<double>(x * x) / (2 * sigma * sigma)));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& each : weights) each /= sum;
    return weights;
}

struct Blur {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> blurred{"blurred"};
    Setting<double> sigma{
        "sigma",
        1.0,
        {.unit = "pixels", .least = 0.2, .most = 20, .doc = "Width of the Gaussian, which reaches three of them."}};
    Planes<std::uint8_t> planes;

    void operator()() {
        const auto read = picture.read();
        auto made = make_picture(blurred, shape_of(read));
        constexpr int digits = 7;
        const auto line = whole(gaussian(sigma), digits);
        planes.each(read, made, [&](view<const std::uint8_t, 2> from, view<std::uint8_t, 2> to) {
            kernels::convolve_separable<std::uint8_t>(from, line, line, to, 2 * digits, {},
                                                      {kernels::Outside::replicate});
        });
        blurred.write(std::move(made));
    }
};

/// "1 2 1; 2 4 2; 1 2 1": rows of weights.
struct Weights {
    std::size_t rows = 0, columns = 0;
    std::vector<double> all;

    static Weights of(const std::string& text) {
        Weights made;
        std::size_t columns = 0;
        const auto end_row = [&] {
            if (columns == 0 || (made.rows != 0 && columns != made.columns))
                throw UsageError("the weights '" + text +
                                 "' are no rows of the same length: write \"1 2 1; 2 4 2; 1 2 1\"");
            made.columns = std::exchange(columns, 0);
            ++made.rows;
        };
        for (std::size_t at = 0; at < text.size();) {
            if (text[at] == ';') {
                end_row();
                ++at;
            } else if (text[at] == ' ') {
                ++at;
            } else {
                double value = 0;
                const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
                if (error != std::errc() || !std::isfinite(value))
                    throw UsageError("the weights '" + text + "' have what is no number");
                made.all.push_back(value);
                ++columns;
                at = static_cast<std::size_t>(end - text.data());
            }
        }
        end_row();
        if (made.rows > 63 || made.columns > 63 || made.rows % 2 == 0 || made.columns % 2 == 0)
            throw UsageError("there are " + std::to_string(made.rows) + " x " + std::to_string(made.columns) +
                             " weights: rows and columns are odd numbers up to 63");
        return made;
    }
};

constexpr const char* weights_words =
    "Rows of weights, with ; between: an odd number of each. The filter is not turned round.";

kernels::Outside outside(const std::string& rule) {
    return rule == "reflect"     ? kernels::Outside::reflect101
           : rule == "replicate" ? kernels::Outside::replicate
                                 : kernels::Outside::constant;
}
SettingLimits outside_limits() {
    return {.choices = {"reflect", "replicate", "constant"},
            .doc = "What lies outside: c b | a b c, a a | a b c, or one value."};
}

/// Bytes: computed in single precision, so that any weights can be given.
struct Convolve {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> convolved{"convolved"};
    Setting<std::string> weights{"weights", "0 -1 0; -1 5 -1; 0 -1 0", {.doc = weights_words}};
    Setting<double> offset{
        "offset", 0, {.doc = "Added to each result, before it is rounded and cut off at 0 and 255."}};
    Setting<std::string> border{"border", "reflect", outside_limits()};
    Planes<std::uint8_t> planes;

    void operator()() {
        const auto read = picture.read();
        const auto given = Weights::of(weights);
        const std::vector<float> all(given.all.begin(), given.all.end());
        auto made = make_picture(convolved, shape_of(read));
        planes.each(read, made, [&](view<const std::uint8_t, 2> from, view<std::uint8_t, 2> to) {
            floats_.resize(from.size());
            results_.resize(from.size());
            const view<float, 2> in{floats_.data(), from.extents()}, out{results_.data(), from.extents()};
            for (std::size_t i = 0; i < from.extent(0); ++i)
                std::ranges::transform(from.row(i), in.row(i).begin(),
                                       [](std::uint8_t value) { return static_cast<float>(value); });
            kernels::convolve_dense<float>(in, all, out, {given.rows, given.columns}, {}, {outside(border)});
            const auto more = static_cast<float>(offset.get());
            for (std::size_t i = 0; i < from.extent(0); ++i)
                std::ranges::transform(out.row(i), to.row(i).begin(),
                                       [more](float value) { return byte_of(value + more); });
        });
        convolved.write(std::move(made));
    }

  private:
    std::vector<float> floats_, results_;
};

struct ConvolveFloats {
    static constexpr bool may_be_copied = true;
    Input<float> picture{"picture"};
    Output<float> convolved{"convolved"};
    Setting<std::string> weights{"weights", "1 2 1; 2 4 2; 1 2 1", {.doc = weights_words}};
    Setting<std::string> border{"border", "reflect", outside_limits()};
    Planes<float> planes;

    void operator()() {
        const auto read = picture.read();
        const auto given = Weights::of(weights);
        const std::vector<float> all(given.all.begin(), given.all.end());
        auto made = make_picture(convolved, shape_of(read));
        planes.each(read, made, [&](view<const float, 2> from, view<float, 2> to) {
            kernels::convolve_dense<float>(from, all, to, {given.rows, given.columns}, {}, {outside(border)});
        });
        convolved.write(std::move(made));
    }
};

/// The magnitude of Sobel's two derivatives.
struct Edges {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> grey{"grey"};
    Output<std::uint8_t> edges{"edges"};
    Setting<double> gain{
        "gain",
        1.0,
        {.least = 0,
         .most = 1000,
         .doc = "By which the magnitude is multiplied: a step from black to white gives 255 times it."}};

    void operator()() {
        const auto read = grey.read();
        const auto shape = shape_of(read, 1);
        floats_.resize(shape.pixels());
        std::ranges::transform(read.span(), floats_.begin(),
                               [](std::uint8_t value) { return static_cast<float>(value); });
        across_.resize(shape.pixels());
        down_.resize(shape.pixels());
        const auto image = [&](std::vector<float>& of) {
            return view<float, 2>{of.data(), {shape.rows, shape.columns}};
        };
        constexpr kernels::Border<float> around{kernels::Outside::replicate};
        kernels::convolve_3x3<float>(image(floats_), image(across_), {{-1, 0, 1, -2, 0, 2, -1, 0, 1}}, {}, around);
        kernels::convolve_3x3<float>(image(floats_), image(down_), {{-1, -2, -1, 0, 0, 0, 1, 2, 1}}, {}, around);
        auto made = make_picture(edges, shape);
        const auto by = static_cast<float>(gain.get() / 4);
        auto to = made.edit();
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = byte_of(by * std::sqrt(across_[i] * across_[i] + down_[i] * down_[i]));
        edges.write(std::move(made));
    }

  private:
    std::vector<float> floats_, across_, down_;
};

struct LocalBinaryPattern {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> grey{"grey"};
    Output<std::uint8_t> codes{"codes"};
    Setting<std::string> code{
        "code",
        "uniform",
        {.choices = {"pattern", "uniform"}, .doc = "pattern: a bit for each of 8 neighbours; uniform: 0 to 9."}};

    void operator()() {
        const auto read = grey.read();
        auto made = make_picture(codes, shape_of(read, 1));
        kernels::local_binary_pattern<std::uint8_t>(
            rows_of(read), edit_rows(made),
            code.get() == "uniform" ? kernels::PatternCode::uniform : kernels::PatternCode::pattern);
        codes.write(std::move(made));
    }
};

struct AddBorder {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> bordered{"bordered"};
    Setting<int> width{"width", 8, {.unit = "pixels", .least = 0, .most = 1 << 14, .doc = "On each side."}};
    Setting<std::string> rule{"rule", "reflect", outside_limits()};
    Setting<int> value{"value", 0, {.least = 0, .most = 255, .doc = "Of `constant`."}};

    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        if (shape.pixels() == 0) throw UsageError("a picture without pixels has no border");
        const auto wide = static_cast<std::size_t>(width.get());
        auto made = make_picture(bordered, {shape.rows + 2 * wide, shape.columns + 2 * wide, shape.channels});
        const auto from = rows_of(read);
        const auto to = edit_rows(made);
        const auto at = [&](std::size_t index, std::size_t extent) {
            return kernels::inside(static_cast<std::ptrdiff_t>(index) - static_cast<std::ptrdiff_t>(wide), extent,
                                   outside(rule));
        };
        for (std::size_t i = 0; i < to.extent(0); ++i) {
            const auto row = at(i, shape.rows);
            for (std::size_t j = 0; j < shape.columns + 2 * wide; ++j) {
                const auto column = row < 0 ? -1 : at(j, shape.columns);
                for (std::size_t c = 0; c < shape.channels; ++c)
                    to(i, j * shape.channels + c) = column < 0
                                                        ? static_cast<std::uint8_t>(value.get())
                                                        : from(static_cast<std::size_t>(row),
                                                               static_cast<std::size_t>(column) * shape.channels + c);
            }
        }
        bordered.write(std::move(made));
    }
};

}  // namespace

void add_neighbourhoods(Components& components) {
    components.add<Blur>("blur", "Smooths each channel by a Gaussian.");
    components.add<Convolve>("convolve",
                             "Each channel filtered with any weights; a result below 0 is 0, one above 255 is 255.");
    components.add<ConvolveFloats>("convolve:float32", "The same for pictures of float32, without limits.");
    components.add<Edges>("edges", "How steep a grey picture is at each pixel, by Sobel's derivatives.");
    components.add<LocalBinaryPattern>(
        "local-binary-pattern", "Which of a pixel's 8 neighbours are as bright as it is, as scikit-image codes it.");
    components.add<AddBorder>("border", "A picture with a border around it.");
}

}  // namespace penstock::components
