#include "apps/h264/settings.hpp"

#include <string>

#include "penstock/error.hpp"

namespace penstock::apps::h264 {
namespace {

void need(const char* name, int value, int least, int most) {
    if (value < least || value > most)
        throw UsageError(std::string("h264: ") + name + " is " + std::to_string(value) + "; it must be " +
                         std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

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
