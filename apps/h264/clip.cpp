#include "apps/h264/clip.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/h264/film.hpp"
#include "apps/picture.hpp"
#include "apps/random.hpp"
#include "kernels/tile.hpp"

namespace penstock::apps::h264 {
namespace {

/// A plane of luminance or chrominance of a photograph.
struct Colour {
    std::size_t rows = 0, columns = 0;
    std::vector<float> values;
    float at(float y, float x) const noexcept {
        const auto row = static_cast<std::ptrdiff_t>(std::floor(y)),
                   column = static_cast<std::ptrdiff_t>(std::floor(x));
        const float down = y - static_cast<float>(row), right = x - static_cast<float>(column);
        const auto value = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
            constexpr auto mirror = kernels::Outside::reflect101;
            return values[static_cast<std::size_t>(kernels::inside(i, rows, mirror)) * columns +
                          static_cast<std::size_t>(kernels::inside(j, columns, mirror))];
        };
        return (1 - down) * ((1 - right) * value(row, column) + right * value(row, column + 1)) +
               down * ((1 - right) * value(row + 1, column) + right * value(row + 1, column + 1));
    }
};

// BT.601, 16 to 235.
std::array<Colour, 3> colours_of(view<const std::uint8_t, 2> rgb) {
    constexpr float factors[3][4] = {
        {0.257f, 0.504f, 0.098f, 16}, {-0.148f, -0.291f, 0.439f, 128}, {0.439f, -0.368f, -0.071f, 128}};
    std::array<Colour, 3> colours;
    for (std::size_t c = 0; c < 3; ++c) {
        Colour& colour = colours[c];
        colour.rows = rgb.extent(0);
        colour.columns = rgb.extent(1) / 3;
        for (std::size_t i = 0; i < colour.rows; ++i)
            for (std::size_t j = 0; j < colour.columns; ++j)
                colour.values.push_back(factors[c][0] * rgb(i, 3 * j) + factors[c][1] * rgb(i, 3 * j + 1) +
                                        factors[c][2] * rgb(i, 3 * j + 2) + factors[c][3]);
    }
    return colours;
}

/// Where a window lies, and how many pixels of the photograph one of its pixels is.
struct Window {
    float row, column, step;
};

}  // namespace

Clip made_clip(view<const std::uint8_t, 2> photograph, Size size, std::size_t count, std::uint32_t seed) {
    const auto colours = colours_of(photograph);
    Random random{seed};
    const float phase = random.real(0.0f, 6.28f);
    Clip clip{size, {25, 1}, {}};
    clip.pictures.reserve(count * size.bytes());
    for (std::size_t i = 0; i < count; ++i) {
        const auto t = static_cast<float>(i);
        const Window behind{1.3f * t + 4 * std::sin(phase + t / 5), 2.6f * t, 1 - 0.002f * t};
        const Window front{40 - 0.7f * t, 90 + 1.9f * t, 1.5f};
        const float front_row = static_cast<float>(size.rows) * (0.35f + 0.3f * std::sin(phase + t / 9)),
                    front_column = static_cast<float>(size.columns) * (0.35f + 0.3f * std::cos(phase + t / 7));
        for (std::size_t c = 0; c < 3; ++c) {
            const float scale = c == 0 ? 1 : 2;
            const int rows = c == 0 ? size.rows : (size.rows + 1) / 2,
                      columns = c == 0 ? size.columns : (size.columns + 1) / 2;
            for (int y = 0; y < rows; ++y)
                for (int x = 0; x < columns; ++x) {
                    const float row = scale * static_cast<float>(y), column = scale * static_cast<float>(x);
                    const bool in_front = row >= front_row && row < front_row + static_cast<float>(size.rows) / 4 &&
                                          column >= front_column &&
                                          column < front_column + static_cast<float>(size.columns) / 4;
                    const Window& window = in_front ? front : behind;
                    const float value =
                        colours[c].at(window.row + window.step * row, window.column + window.step * column);
                    clip.pictures.push_back(
                        static_cast<std::uint8_t>(std::clamp(value + random.real(-1.5f, 1.5f) + 0.5f, 0.0f, 255.0f)));
                }
        }
    }
    return clip;
}

Clip made_clip(Size size, std::size_t count, std::uint32_t seed) {
    constexpr std::size_t room = 64;  // to move
    return made_clip(
        spots(static_cast<std::size_t>(size.rows) + room, static_cast<std::size_t>(size.columns) + room, seed).all(),
        size, count, seed);
}

Clip read_clip(const std::string& path, std::size_t most, Size raw_size) {
    FilmReader reader{path, raw_size};
    Clip clip{reader.size(), reader.rate(), {}};
    std::vector<std::uint8_t> picture;
    while (reader.count() < most && reader.read(picture))
        clip.pictures.insert(clip.pictures.end(), picture.begin(), picture.end());
    return clip;
}

void Stream::take(const Encoded& picture) {
    for (const Unit& unit : picture.units) {
        bytes.insert(bytes.end(), {0, 0, 0, 1});
        bytes.insert(bytes.end(), unit.begin(), unit.end());
    }
    if (sizes.size() <= picture.shown) sizes.resize(picture.shown + 1);
    sizes[picture.shown] = picture.bytes();
}

std::function<bool(std::vector<std::uint8_t>&)> pictures_of(std::shared_ptr<const Clip> clip) {
    return [clip = std::move(clip), next = std::size_t{0}](std::vector<std::uint8_t>& picture) mutable {
        if (next == clip->count()) return false;
        const auto from = clip->picture(next++);
        picture.assign(from.begin(), from.end());
        return true;
    };
}

Job job_of(const Clip& clip, const EncoderSettings& settings, Stream& stream, bool keep_decoded) {
    stream = {};
    if (keep_decoded) stream.decoded.resize(clip.pictures.size());
    Job job{clip.size, clip.rate, settings, {}, {}};
    job.pull = pictures_of({std::shared_ptr<const Clip>(), &clip});
    job.push = [&clip, &stream, keep_decoded](const Encoded& picture, const Picture& decoded) {
        stream.take(picture);
        const std::size_t bytes = clip.size.bytes();
        if (keep_decoded) decoded.copy_to(std::span{stream.decoded}.subspan(picture.shown * bytes, bytes));
    };
    return job;
}

double luma_psnr(const Clip& clip, std::span<const std::uint8_t> decoded) {
    const std::size_t bytes = clip.size.bytes();
    const auto luma = static_cast<std::size_t>(clip.size.columns) * static_cast<std::size_t>(clip.size.rows);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < clip.count(); ++i)
        for (std::size_t j = i * bytes; j < i * bytes + luma; ++j) {
            const int difference = clip.pictures[j] - decoded[j];
            sum += static_cast<std::uint64_t>(difference * difference);
        }
    if (sum == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(255.0 * 255.0 * static_cast<double>(clip.count() * luma) / static_cast<double>(sum));
}

}  // namespace penstock::apps::h264
