#include "kernels/shrink.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

constexpr std::size_t most_factor = 64;

void need(bool held, const std::string& what) {
    if (!held) throw std::invalid_argument("shrink: " + what);
}

// Bytes of a picture's row that are summed up at once: the sums lie in the nearest cache.
constexpr std::size_t strip = 3072;

// The sums of a square's columns are turned into means.
template <std::size_t channels>
void means(const std::uint16_t* sums, std::size_t bytes, std::size_t factor, std::size_t rows, std::uint8_t* out) {
    for (std::size_t j = 0; j < bytes; j += factor * channels) {
        const std::size_t columns = std::min(factor, (bytes - j) / channels);
        const auto count = static_cast<std::uint32_t>(columns * rows);
        for (std::size_t c = 0; c < channels; ++c) {
            std::uint32_t sum = count / 2;
            for (std::size_t k = 0; k < columns; ++k) sum += sums[j + k * channels + c];
            *out++ = static_cast<std::uint8_t>(sum / count);
        }
    }
}

// The same where every square is whole and its size is known: no division.
template <std::size_t channels, std::size_t factor>
void whole_means(const std::uint16_t* sums, std::size_t squares, std::uint8_t* out) {
    constexpr std::uint32_t count = factor * factor;
    for (std::size_t s = 0; s < squares; ++s) {
        for (std::size_t c = 0; c < channels; ++c) {
            std::uint32_t sum = count / 2;
            for (std::size_t k = 0; k < factor; ++k) sum += sums[k * channels + c];
            *out++ = static_cast<std::uint8_t>(sum / count);
        }
        sums += factor * channels;
    }
}

template <std::size_t channels>
void shrink_rows(view<const std::uint8_t, 2> picture, view<std::uint8_t, 2> out, std::size_t factor) {
    const std::size_t bytes = picture.extent(1), step = strip / (factor * channels) * factor * channels;
    std::array<std::uint16_t, strip> sums;
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const std::size_t first = i * factor, rows = std::min(factor, picture.extent(0) - first);
        for (std::size_t from = 0; from < bytes; from += step) {
            const std::size_t n = std::min(step, bytes - from);
            std::fill_n(sums.begin(), n, std::uint16_t{0});
            for (std::size_t r = 0; r < rows; ++r) {
                const std::uint8_t* const row = picture.row(first + r).data() + from;
                for (std::size_t j = 0; j < n; ++j) sums[j] = static_cast<std::uint16_t>(sums[j] + row[j]);
            }
            std::uint8_t* const to = out.row(i).data() + from / factor;
            if (factor == 4 && rows == 4 && n % (4 * channels) == 0)
                whole_means<channels, 4>(sums.data(), n / (4 * channels), to);
            else if (factor == 2 && rows == 2 && n % (2 * channels) == 0)
                whole_means<channels, 2>(sums.data(), n / (2 * channels), to);
            else means<channels>(sums.data(), n, factor, rows, to);
        }
    }
}

}  // namespace

void shrink(view<const std::uint8_t, 2> picture, view<std::uint8_t, 2> out, std::size_t factor, std::size_t channels) {
    need(factor >= 1 && factor <= most_factor, "the factor must be 1 to 64, not " + std::to_string(factor));
    need(channels >= 1 && channels <= 4, "pixels have 1 to 4 channels, not " + std::to_string(channels));
    need_rows("shrink", "picture", picture);
    need_rows("shrink", "out", out);
    const std::size_t columns = picture.extent(1) / channels;
    need(columns * channels == picture.extent(1), "the picture's rows end within a pixel");
    need(out.extent(0) == (picture.extent(0) + factor - 1) / factor &&
             out.extent(1) == (columns + factor - 1) / factor * channels,
         "out needs a pixel for each square of the picture that is begun");
    switch (channels) {
        case 1:
            return shrink_rows<1>(picture, out, factor);
        case 2:
            return shrink_rows<2>(picture, out, factor);
        case 3:
            return shrink_rows<3>(picture, out, factor);
        default:
            return shrink_rows<4>(picture, out, factor);
    }
}

}  // namespace penstock::kernels
