// Which kind of tissue a tile shows: a linear classifier of its features, trained by train.py (multinomial logistic
// regression).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock::apps::tissue {

/// 12 of colour (mean, deviation, skewness, kurtosis of L*; of a*; of b*), and the 10 shares of uniform local binary
/// patterns.
inline constexpr std::size_t colour_features = 12, pattern_features = 10, features = colour_features + pattern_features;
inline constexpr std::size_t classes = 3;
using Features = std::array<double, features>;

struct Classifier {
    std::array<std::string, classes> names;
    Features mean, scale;  ///< of the features of the tiles that it was trained on
    std::array<Features, classes> weights;
    std::array<double, classes> bias;

    /// bias + weights . (features - mean) / scale, for each class.
    std::array<double, classes> scores(const Features& of) const noexcept;
    /// The class with the greatest score, the first of equals.
    std::uint32_t classify(const Features& of) const noexcept;
};

/// Reads a text as classifier.txt: lines of a word and its numbers or names; "#" begins a remark. Throws UsageError
/// that names the line.
Classifier parse_classifier(std::string_view text);

/// That of classifier.txt, which the program carries in itself.
const Classifier& trained_classifier();

}  // namespace penstock::apps::tissue
