// Figures of pictures.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "components/classes.hpp"
#include "components/picture.hpp"
#include "kernels/lab.hpp"
#include "kernels/moments.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

template <class Values>
void write(Output<double>& to, const Values& values) {
    auto made = to.make(std::size(values));
    std::ranges::copy(values, made.edit().begin());
    to.write(std::move(made));
}

/// The variance of the Laplacian, which is small where edges are soft.
struct Sharpness {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> grey{"grey"};
    Output<double> sharpness{"sharpness"};
    void operator()() {
        const auto read = grey.read();
        const auto shape = shape_of(read, 1);
        const auto image = rows_of(read);
        if (shape.rows < 3 || shape.columns < 3) return write(sharpness, std::array{0.0});
        double sum = 0, squares = 0;
        for (std::size_t i = 1; i + 1 < shape.rows; ++i) {
            const std::uint8_t *const up = image.row(i - 1).data(), *const here = image.row(i).data(),
                                      *const down = image.row(i + 1).data();
            std::int64_t row_sum = 0, row_squares = 0;
            for (std::size_t j = 1; j + 1 < shape.columns; ++j) {
                const int value = up[j] + down[j] + here[j - 1] + here[j + 1] - 4 * here[j];
                row_sum += value;
                row_squares += value * value;
            }
            sum += static_cast<double>(row_sum);
            squares += static_cast<double>(row_squares);
        }
        const auto count = static_cast<double>((shape.rows - 2) * (shape.columns - 2));
        const double mean = sum / count;
        write(sharpness, std::array{squares / count - mean * mean});
    }
};

struct Means {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<double> means{"means"};
    void operator()() {
        const auto read = picture.read();
        const auto shape = shape_of(read);
        std::vector<std::uint64_t> sums(shape.channels);
        const auto values = read.span();
        for (std::size_t i = 0; i < values.size(); i += shape.channels)
            for (std::size_t c = 0; c < shape.channels; ++c) sums[c] += values[i + c];
        std::vector<double> found;
        for (const auto sum : sums)
            found.push_back(static_cast<double>(sum) / std::max<double>(1, static_cast<double>(shape.pixels())));
        write(means, found);
    }
};

/// Mean, deviation, skewness and kurtosis of L*, then of a*, then of b*.
struct ColourMoments {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<double> moments{"moments"};
    std::vector<float> memory;
    void operator()() {
        const auto read = picture.read();
        (void)shape_of(read, 3);
        const auto image = rows_of(read);
        memory.resize(image.size());
        const view<float, 2> lab{memory.data(), image.extents()};
        kernels::ChannelStatistics statistics;
        kernels::rgb_to_lab_with_statistics(image, lab, {&statistics, 1});
        const auto found = kernels::moments(lab, statistics);
        std::array<double, 12> all{};
        for (std::size_t c = 0; c < 3; ++c) {
            all[4 * c] = found.mean[c];
            all[4 * c + 1] = found.deviation[c];
            all[4 * c + 2] = found.skewness[c];
            all[4 * c + 3] = found.kurtosis[c];
        }
        write(moments, all);
    }
};

struct Shares {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> grey{"grey"};
    Output<double> shares{"shares"};
    Setting<int> of{
        "of", 10, {.least = 1, .most = 256, .doc = "Values 0, 1, ... so many; others count for the whole alone."}};
    void operator()() {
        const auto read = grey.read();
        std::array<std::uint64_t, 256> counts{};
        for (const auto value : read.span()) ++counts[value];
        std::vector<double> found;
        for (int value = 0; value < of; ++value)
            found.push_back(static_cast<double>(counts[static_cast<std::size_t>(value)]) /
                            std::max<double>(1, static_cast<double>(read.size())));
        write(shares, found);
    }
};

/// Pixels that are white, and all pixels: both add up over tiles.
struct Area {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> mask{"mask"};
    Output<double> area{"area"};
    void operator()() {
        const auto read = mask.read();
        const auto white = std::ranges::count_if(read.span(), [](std::uint8_t value) { return value >= 128; });
        write(area, std::array{static_cast<double>(white), static_cast<double>(read.size())});
    }
};

/// Vectors of one length, added up; the sum comes at the end.
struct Total {
    Input<double> values{"values"};
    Output<double> total{"total"};
    std::vector<double> sums;
    auto state() { return std::tie(sums); }
    void operator()() {
        const auto read = values.read();
        if (sums.empty()) sums.resize(read.size());
        if (sums.size() != read.size())
            throw UsageError("a buffer of " + std::to_string(read.size()) + " values came behind one of " +
                             std::to_string(sums.size()));
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += read[i];
    }
    void finish() { write(total, sums); }
};

/// A bar at the bottom of a picture: how large a figure is.
struct Mark {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Input<double> value{"value"};
    Output<std::uint8_t> marked{"marked"};
    Setting<double> most{"most", 100, {.doc = "The value whose bar is as long as the picture is wide."}};
    Setting<int> height{"height", 6, {.unit = "pixels", .least = 1, .most = 1 << 12}};
    Setting<bool> logarithmic{
        "logarithmic", false, {.doc = "The bar's length grows with the logarithm of 1 + the value."}};
    void operator()() {
        auto read = picture.read();
        const auto figure = value.read();
        const auto shape = shape_of(read);
        if (figure.empty()) throw UsageError("it got no value to mark a picture with");
        const auto length = [&](double of) { return logarithmic ? std::log1p(std::max(of, 0.0)) : of; };
        const double share = std::clamp(length(figure[0]) / length(most), 0.0, 1.0);
        const auto bright =
            static_cast<std::size_t>(std::isnan(share) ? 0 : std::lround(share * static_cast<double>(shape.columns)));
        const auto rows = std::min(static_cast<std::size_t>(height.get()), shape.rows);
        const auto to = edit_rows(read);
        for (std::size_t i = shape.rows - rows; i < shape.rows; ++i) {
            const auto row = to.row(i);
            std::fill_n(row.data(), bright * shape.channels, std::uint8_t{255});
            std::fill_n(row.data() + bright * shape.channels, (shape.columns - bright) * shape.channels,
                        std::uint8_t{0});
        }
        marked.write(std::move(read));
    }
};

}  // namespace

void add_measures(Components& components) {
    components.add<Sharpness>("sharpness", "How sharp a grey picture is: the variance of its Laplacian.");
    components.add<Means>("means", "The mean of each channel.");
    components.add<ColourMoments>("colour-moments",
                                  "Mean, deviation, skewness and kurtosis of L*, a* and b* of RGB: twelve values.");
    components.add<Shares>("shares", "The share of the pixels that have each of the values 0, 1, ...");
    components.add<Area>("area", "How many pixels of a mask are white, and how many there are.");
    components.add<Total>("total", "The sum of all buffers, value by value, at the end.");
    components.add<Mark>("mark", "A white bar at the bottom of a picture, as long as a value is large.");
}

}  // namespace penstock::components
