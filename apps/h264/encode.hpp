// The whole encoder as one filter, and what filters of the encoder share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "apps/h264/film.hpp"
#include "apps/h264/sequence.hpp"
#include "penstock/filter.hpp"

namespace penstock::apps::h264 {

/// The settings of the encoder, for filters. -1 and "": as `effort` has it.
struct EncoderParameters {
    Setting<std::string> effort{"effort", "good"};
    Setting<int> quantiser{"quantiser", 26, {.least = 0, .most = 51}};
    Setting<int> period{"period", 250, {.unit = "pictures", .least = 0, .most = 1 << 20}};
    Setting<int> b_pictures{"b-pictures", -1, {.unit = "pictures", .least = -1, .most = 3}};
    Setting<int> smallest{"smallest", -1, {.unit = "pixels", .least = -1, .most = 16}};
    Setting<int> range{"range", 64, {.unit = "pixels", .least = 4, .most = 128}};
    Setting<std::string> search{"search", ""};
    Setting<int> fraction{"fraction", 4, {.least = 1, .most = 4}};
    Setting<int> transformed{"transformed", -1, {.least = -1, .most = 1}};
    Setting<int> intra4{"intra4", -1, {.least = -1, .most = 1}};
    Setting<bool> loop_filter{"loop-filter", true};
    /// Throws UsageError as settings_of().
    EncoderSettings settings() const;
};

/// The size of a picture that comes as planes: 3/2 rows x columns, as files have them. Throws UsageError.
Size size_of_planes(const Buffer<std::uint8_t>& planes);

/// Pictures (rows x columns x 3, RGB; or grey: rows x columns) become planes, as the encoder wants them.
struct ToPlanes {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> planes{"planes"};
    Setting<double> rate{"rate", 25, {.unit = "pictures/s", .least = 0.001, .most = 1000}};
    void operator()();
};

/// The whole encoder: pictures become a file. At the end: how many bytes. A graph can end in it.
struct Encode {
    Input<std::uint8_t> picture{"picture"};
    Output<double> bytes{"bytes"};
    EncoderParameters parameters;
    Setting<bool> planes{"planes", false};  ///< what comes are planes, else pictures
    Setting<std::string> output{"output", "film.mp4"};
    Setting<double> rate{"rate", 25, {.unit = "pictures/s", .least = 0.001, .most = 1000}};
    void operator()();
    void finish();

  private:
    struct Film;
    std::shared_ptr<Film> film_;
};

}  // namespace penstock::apps::h264
