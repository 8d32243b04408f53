#include "apps/h264/settings.hpp"

#include <charconv>
#include <string>

#include "penstock/error.hpp"

namespace penstock::apps::h264 {
namespace {

void need(const char* name, int value, int least, int most) {
    if (value < least || value > most)
        throw UsageError(std::string("h264: ") + name + " is " + std::to_string(value) + "; it must be " +
                         std::to_string(least) + " to " + std::to_string(most));
}

constexpr SettingName names[] = {
    {"effort", "fast, good (the default) or thorough: what the settings below are without a value of their own"},
    {"quantiser", "of P pictures, 0 (finest) to 51; 26"},
    {"period", "pictures from one that needs no other to the next; 0: only the first; 250"},
    {"b_pictures", "between two reference pictures, 0 to 3"},
    {"smallest", "side of the smallest part that has motion of its own: 16, 8 or 4"},
    {"range", "pixels that a part may have moved, in each direction, 4 to 128; 64"},
    {"search", "how whole-pixel motion is looked for: diamond, hexagon or full"},
    {"fraction", "motion in whole (1), half (2) or quarter (4) pixels; 4"},
    {"transformed", "1: blocks are compared by Hadamard transforms, 0: by sums of differences"},
    {"intra4", "1: blocks of 4 x 4 are predicted from their neighbours, too"},
    {"loop_filter", "1: edges of blocks are filtered; 1"},
};

int number(const std::string& name, const std::string& text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw UsageError("h264: " + name + " is '" + text + "'; it must be a whole number");
    return value;
}

Search search_of(const std::string& word) {
    if (word == "diamond") return Search::diamond;
    if (word == "hexagon") return Search::hexagon;
    if (word == "full") return Search::full;
    throw UsageError("h264: search is '" + word + "'; it must be diamond, hexagon or full");
}

}  // namespace

std::span<const SettingName> setting_names() noexcept { return names; }

EncoderSettings settings_of(const std::map<std::string, std::string>& given) {
    const auto word = given.find("effort");
    EncoderSettings settings = effort(word == given.end() ? "good" : word->second);
    const auto take = [&](const char* name, int& value) {
        if (const auto at = given.find(name); at != given.end()) value = number(name, at->second);
    };
    const auto take_switch = [&](const char* name, bool& value) {
        int as_number = value ? 1 : 0;
        take(name, as_number);
        need(name, as_number, 0, 1);
        value = as_number != 0;
    };
    take("quantiser", settings.quantiser);
    take("period", settings.period);
    take("b_pictures", settings.b_pictures);
    take("smallest", settings.smallest);
    take("range", settings.range);
    if (const auto at = given.find("search"); at != given.end()) settings.search = search_of(at->second);
    take("fraction", settings.fraction);
    take_switch("transformed", settings.transformed);
    take_switch("intra4", settings.intra4);
    take_switch("loop_filter", settings.loop_filter);
    check(settings);
    return settings;
}

EncoderSettings effort(std::string_view word, int quantiser) {
    EncoderSettings settings;
    settings.quantiser = quantiser;
    if (word == "fast") {
        settings.smallest = 16;
        settings.search = Search::diamond;
        settings.transformed = false;
        settings.intra4 = false;
    } else if (word == "thorough") {
        settings.smallest = 4;
        settings.b_pictures = 3;
    } else if (word != "good") {
        throw UsageError("h264: effort is '" + std::string(word) + "'; it must be fast, good or thorough");
    }
    return settings;
}

void check(const EncoderSettings& settings) {
    need("quantiser", settings.quantiser, 0, 51);
    need("period", settings.period, 0, 1 << 20);
    need("b_pictures", settings.b_pictures, 0, 3);
    need("range", settings.range, 4, 128);
    if (settings.smallest != 16 && settings.smallest != 8 && settings.smallest != 4)
        throw UsageError("h264: smallest is " + std::to_string(settings.smallest) + "; it must be 16, 8 or 4");
    if (settings.fraction != 1 && settings.fraction != 2 && settings.fraction != 4)
        throw UsageError("h264: fraction is " + std::to_string(settings.fraction) + "; it must be 1, 2 or 4");
}

}  // namespace penstock::apps::h264
