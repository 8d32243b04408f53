#include "kernels/resize.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

/// Which pixels of a line make one of the result, and how much each counts.
struct Share {
    std::size_t first = 0;
    std::vector<float> weights;
};

std::vector<Share> shares(std::size_t from, std::size_t to) {
    std::vector<Share> all(to);
    const double step = static_cast<double>(from) / static_cast<double>(to);
    for (std::size_t i = 0; i < to; ++i) {
        auto& share = all[i];
        if (from > to) {
            const double begin = static_cast<double>(i) * step, end = std::min(begin + step, static_cast<double>(from));
            share.first = static_cast<std::size_t>(begin);
            for (std::size_t at = share.first; at < from && static_cast<double>(at) < end; ++at) {
                const double covered =
                    std::min(end, static_cast<double>(at + 1)) - std::max(begin, static_cast<double>(at));
                share.weights.push_back(static_cast<float>(covered / (end - begin)));
            }
        } else {
            const double middle =
                std::clamp((static_cast<double>(i) + 0.5) * step - 0.5, 0.0, static_cast<double>(from - 1));
            share.first = std::min(static_cast<std::size_t>(middle), from - std::min<std::size_t>(from, 2));
            const auto right = static_cast<float>(middle - static_cast<double>(share.first));
            share.weights.push_back(1 - right);
            if (from > 1) share.weights.push_back(right);
        }
    }
    return all;
}

}  // namespace

void resize(view<const std::uint8_t, 2> picture, view<std::uint8_t, 2> out, std::size_t channels) {
    need_rows("resize", "picture", picture);
    need_rows("resize", "out", out);
    if (channels == 0 || picture.empty() || picture.extent(1) % channels != 0 || out.extent(1) % channels != 0)
        throw std::invalid_argument("resize: pictures have pixels, of so many channels each");
    if (out.empty()) return;
    const std::size_t bytes = picture.extent(1);
    const auto down = shares(picture.extent(0), out.extent(0)),
               across = shares(bytes / channels, out.extent(1) / channels);
    std::vector<float> line(bytes);
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        std::ranges::fill(line, 0.0f);
        for (std::size_t k = 0; k < down[i].weights.size(); ++k) {
            const float weight = down[i].weights[k];
            const std::uint8_t* const row = picture.row(down[i].first + k).data();
            for (std::size_t j = 0; j < bytes; ++j) line[j] += weight * static_cast<float>(row[j]);
        }
        std::uint8_t* to = out.row(i).data();
        for (const auto& share : across) {
            for (std::size_t c = 0; c < channels; ++c) {
                const float* const at = line.data() + share.first * channels + c;
                float sum = 0;
                for (std::size_t k = 0; k < share.weights.size(); ++k) sum += share.weights[k] * at[k * channels];
                *to++ = static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum), 0.0f, 255.0f));
            }
        }
    }
}

}  // namespace penstock::kernels
