#include "apps/tissue/classifier.hpp"

#include <sstream>

#include "penstock/error.hpp"

namespace penstock::apps::tissue {

extern const char* const classifier_text;  // made by CMake out of classifier.txt

namespace {

template <class Values>
void read_values(std::istringstream& line, const std::string& word, Values& values) {
    for (auto& value : values)
        if (!(line >> value))
            throw UsageError("classifier: the line `" + word + "` needs " + std::to_string(values.size()) + " values");
    if (std::string more; line >> more)
        throw UsageError("classifier: the line `" + word + "` has more than " + std::to_string(values.size()) +
                         " values");
}

}  // namespace

std::array<double, classes> Classifier::scores(const Features& of) const noexcept {
    std::array<double, classes> found = bias;
    for (std::size_t k = 0; k < classes; ++k)
        for (std::size_t f = 0; f < features; ++f) found[k] += weights[k][f] * ((of[f] - mean[f]) / scale[f]);
    return found;
}

std::uint32_t Classifier::classify(const Features& of) const noexcept {
    const auto found = scores(of);
    std::uint32_t best = 0;
    for (std::uint32_t k = 1; k < classes; ++k)
        if (found[k] > found[best]) best = k;
    return best;
}

Classifier parse_classifier(std::string_view text) {
    Classifier made;
    std::istringstream lines{std::string(text)};
    std::string content;
    std::size_t weights = 0, others = 0;
    while (std::getline(lines, content)) {
        std::istringstream line{content.substr(0, content.find('#'))};
        std::string word;
        if (!(line >> word)) continue;
        if (word == "weights") {
            if (weights == classes)
                throw UsageError("classifier: there are " + std::to_string(classes) +
                                 " lines `weights`, one a class, and one more");
            read_values(line, word, made.weights[weights++]);
            continue;
        }
        ++others;
        if (word == "classes") read_values(line, word, made.names);
        else if (word == "mean") read_values(line, word, made.mean);
        else if (word == "scale") read_values(line, word, made.scale);
        else if (word == "bias") read_values(line, word, made.bias);
        else
            throw UsageError("classifier: there is no line `" + word +
                             "`; there are classes, mean, scale, weights and bias");
    }
    if (weights != classes || others != 4)
        throw UsageError(
            "classifier: it needs one line each of classes, mean, scale and bias, and one of weights for each class");
    for (const double scale : made.scale)
        if (!(scale > 0)) throw UsageError("classifier: what features are divided by (`scale`) must be above 0");
    return made;
}

const Classifier& trained_classifier() {
    static const Classifier trained = parse_classifier(classifier_text);
    return trained;
}

}  // namespace penstock::apps::tissue
