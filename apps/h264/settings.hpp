// What the user of the encoder chooses.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace penstock::apps::h264 {

/// How whole-pixel motion is looked for.
enum class Search : std::uint8_t {
    diamond,  ///< steps to the best of four neighbours
    hexagon,  ///< steps to the best of six places two pixels away, then a square
    full,     ///< every place of the window
};

/// How an encoder works. Each value in its range is legal with each other one.
struct EncoderSettings {
    int quantiser = 26;  ///< of P pictures, 0 (finest) to 51; I pictures get 3 less, B pictures 2 more
    int period = 250;    ///< pictures from one that needs no other to the next; 0: only the first is such
    int b_pictures = 0;  ///< between two reference pictures, 0 to 3; above 0 the profile is Main, else Baseline
    int smallest = 8;    ///< side of the smallest partition: 16, 8 or 4
    int range = 64;      ///< pixels that a block may have moved, in each direction, 4 to 128
    Search search = Search::hexagon;
    int fraction = 4;         ///< motion in whole (1), half (2) or quarter (4) pixels
    bool transformed = true;  ///< blocks are compared by Hadamard transforms where it matters
    bool intra4 = true;       ///< blocks of 4 x 4 are predicted from their neighbours, too
    bool loop_filter = true;
    bool operator==(const EncoderSettings&) const = default;
};

/// A setting as a user gives it: its name, and what it means.
struct SettingName {
    const char* name;
    const char* meaning;
};
/// All of them, in the order of EncoderSettings, behind `effort`.
std::span<const SettingName> setting_names() noexcept;
/// Settings by name; what is not there is as `effort` has it ("good" without one). Names that are none of these are
/// left alone. Throws UsageError for a value that is none.
EncoderSettings settings_of(const std::map<std::string, std::string>& given);

/// "fast", "good" or "thorough": these values with the user's quantiser. Throws UsageError for another word.
EncoderSettings effort(std::string_view word, int quantiser = 26);

/// Throws UsageError that names what is out of range.
void check(const EncoderSettings& settings);

}  // namespace penstock::apps::h264
