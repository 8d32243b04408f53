// Films in motion JPEG: each frame is a JPEG picture of its own. They are made from a photograph, over which each film
// moves a window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "penstock/view.hpp"

namespace penstock::apps::jpip {

/// The frames of several films, all of one size, compressed.
struct Films {
    std::size_t count = 0, frames = 0;  ///< films, and frames of each
    std::vector<std::uint8_t> jpeg;     ///< all files, film by film and frame by frame
    std::vector<std::uint32_t> ends;    ///< of each file, in `jpeg`

    std::span<const std::uint8_t> file(std::size_t film, std::size_t frame) const noexcept {
        const std::size_t number = film * frames + frame, begin = number == 0 ? 0 : ends[number - 1];
        return std::span(jpeg).subspan(begin, ends[number] - begin);
    }
    bool operator==(const Films&) const = default;
};

/// What films show.
struct Scene {
    std::size_t rows = 720, columns = 1280, frames = 8;
    std::uint32_t seed = 1;  ///< where each film begins and whither it moves
    int quality = 85;
};

/// Films of `photograph` (rows x 3 columns of RGB; where a window reaches beyond it, it is reflected). Costs about 10
/// ms for a frame of 1280 x 720. Throws JpegError.
Films make_films(std::size_t count, const Scene& scene, view<const std::uint8_t, 2> photograph);

/// A photograph of nothing, for where there is none: soft waves of colour under grains. rows x 3 columns.
std::vector<std::uint8_t> generated_photograph(std::size_t rows, std::size_t columns, std::uint32_t seed);

/// Writes each frame as a file of its own, "film-03-frame-007.jpg", into the folder, which is made if need be. Throws
/// std::runtime_error with the name of a file that could not be written.
void save(const Films& films, const std::filesystem::path& folder);
/// Reads them again. Throws std::runtime_error with the name of a file that could not be read.
Films load(const std::filesystem::path& folder, std::size_t count, std::size_t frames);

}  // namespace penstock::apps::jpip
