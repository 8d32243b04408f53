#include "apps/jpip/films.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "apps/jpeg.hpp"
#include "apps/random.hpp"
#include "kernels/tile.hpp"

namespace penstock::apps::jpip {
namespace {

std::size_t reflected(std::int64_t index, std::size_t extent) noexcept {
    return static_cast<std::size_t>(
        kernels::inside(static_cast<std::ptrdiff_t>(index), extent, kernels::Outside::reflect101));
}

void cut(view<const std::uint8_t, 2> photograph, std::int64_t row, std::int64_t column, view<std::uint8_t, 2> window) {
    const std::size_t columns = photograph.extent(1) / 3;
    for (std::size_t i = 0; i < window.extent(0); ++i) {
        const auto from = photograph.row(reflected(row + static_cast<std::int64_t>(i), photograph.extent(0)));
        const auto to = window.row(i);
        for (std::size_t j = 0; j < window.extent(1) / 3; ++j) {
            const std::size_t at = 3 * reflected(column + static_cast<std::int64_t>(j), columns);
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), 3,
                        to.begin() + static_cast<std::ptrdiff_t>(3 * j));
        }
    }
}

void append(Films& films, std::span<const std::uint8_t> file) {
    films.jpeg.insert(films.jpeg.end(), file.begin(), file.end());
    if (films.jpeg.size() > UINT32_MAX)
        throw std::length_error("films of more than 4 GiB: ask for fewer or smaller frames");
    films.ends.push_back(static_cast<std::uint32_t>(films.jpeg.size()));
}

std::filesystem::path file_of(const std::filesystem::path& folder, std::size_t film, std::size_t frame) {
    const auto digits = [](std::size_t number, std::size_t width) {
        const auto text = std::to_string(number);
        return std::string(width - std::min(width, text.size()), '0') + text;
    };
    return folder / ("film-" + digits(film, 2) + "-frame-" + digits(frame, 3) + ".jpg");
}

}  // namespace

Films make_films(std::size_t count, const Scene& scene, view<const std::uint8_t, 2> photograph) {
    Films films{count, scene.frames, {}, {}};
    Random random{scene.seed};
    std::vector<std::uint8_t> window(scene.rows * scene.columns * 3);
    const view<std::uint8_t, 2> pixels{window.data(), {scene.rows, 3 * scene.columns}};
    for (std::size_t film = 0; film < count; ++film) {
        const auto begin_row = static_cast<std::int64_t>(random.real() * static_cast<double>(photograph.extent(0)));
        const auto begin_column =
            static_cast<std::int64_t>(random.real() * static_cast<double>(photograph.extent(1) / 3));
        const std::int64_t down = random.integer() % 17 - 8, right = random.integer() % 17 - 8;  // pixels a frame
        for (std::size_t frame = 0; frame < scene.frames; ++frame) {
            const auto time = static_cast<std::int64_t>(frame);
            cut(photograph, begin_row + down * time, begin_column + right * time, pixels);
            append(films, encode_jpeg(pixels, scene.quality));
        }
    }
    return films;
}

std::vector<std::uint8_t> generated_photograph(std::size_t rows, std::size_t columns, std::uint32_t seed) {
    std::vector<std::uint8_t> photograph(rows * columns * 3);
    Random random{seed};
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < 3 * columns; ++j) {
            const auto row = static_cast<double>(i), column = static_cast<double>(j / 3),
                       channel = static_cast<double>(j % 3 + 1);
            const double waves = std::sin(row / (19 * channel)) + std::sin((row + channel * column) / 31),
                         grains = random.real() - 0.5;
            photograph[i * columns * 3 + j] = static_cast<std::uint8_t>(127.5 + 50 * waves + 20 * grains);
        }
    }
    return photograph;
}

void save(const Films& films, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    for (std::size_t film = 0; film < films.count; ++film) {
        for (std::size_t frame = 0; frame < films.frames; ++frame) {
            const auto path = file_of(folder, film, frame);
            const auto bytes = films.file(film, frame);
            std::ofstream file(path, std::ios::binary);
            file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
            if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
        }
    }
}

Films load(const std::filesystem::path& folder, std::size_t count, std::size_t frames) {
    Films films{count, frames, {}, {}};
    for (std::size_t film = 0; film < count; ++film) {
        for (std::size_t frame = 0; frame < frames; ++frame) {
            const auto path = file_of(folder, film, frame);
            std::ifstream file(path, std::ios::binary);
            const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file),
                                                  std::istreambuf_iterator<char>()};
            if (!file || bytes.empty()) throw std::runtime_error("cannot read " + path.string());
            append(films, bytes);
        }
    }
    return films;
}

}  // namespace penstock::apps::jpip
