#include <algorithm>
#include <cstdlib>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_loop_filter.cpp"
#include "kernels/each_target.hpp"

#if HWY_ONCE

namespace penstock::kernels::h264 {
namespace {

constexpr Pixel pixel(int value) noexcept { return static_cast<Pixel>(std::clamp(value, 0, 255)); }

bool is_edge(int p1, int p0, int q0, int q1, const EdgeFilter& filter) {
    return std::abs(p0 - q0) < filter.alpha && std::abs(p1 - p0) < filter.beta && std::abs(q1 - q0) < filter.beta;
}

// `across` leads over the edge, `along` to the next place of the edge.
template <bool chroma>
void normal(Pixel* edge, Pitch across, Pitch along, const EdgeFilter& filter) {
    for (int i = 0; i < (chroma ? 8 : 16); ++i, edge += along) {
        const int clip = filter.clip[static_cast<std::size_t>(i / (chroma ? 2 : 4))];
        const int p1 = edge[-2 * across], p0 = edge[-across], q0 = edge[0], q1 = edge[across];
        if (clip < 0 || !is_edge(p1, p0, q0, q1, filter)) continue;
        int most = clip + 1;
        if constexpr (!chroma) {
            const int p2 = edge[-3 * across], q2 = edge[2 * across];
            most = clip;
            if (std::abs(p2 - p0) < filter.beta) {
                edge[-2 * across] =
                    static_cast<Pixel>(p1 + std::clamp((p2 + ((p0 + q0 + 1) >> 1) - 2 * p1) >> 1, -clip, clip));
                ++most;
            }
            if (std::abs(q2 - q0) < filter.beta) {
                edge[across] =
                    static_cast<Pixel>(q1 + std::clamp((q2 + ((p0 + q0 + 1) >> 1) - 2 * q1) >> 1, -clip, clip));
                ++most;
            }
        }
        const int change = std::clamp((4 * (q0 - p0) + p1 - q1 + 4) >> 3, -most, most);
        edge[-across] = pixel(p0 + change);
        edge[0] = pixel(q0 - change);
    }
}

template <bool chroma>
void strong(Pixel* edge, Pitch across, Pitch along, const EdgeFilter& filter) {
    for (int i = 0; i < (chroma ? 8 : 16); ++i, edge += along) {
        const int p1 = edge[-2 * across], p0 = edge[-across], q0 = edge[0], q1 = edge[across];
        if (!is_edge(p1, p0, q0, q1, filter)) continue;
        edge[-across] = static_cast<Pixel>((2 * p1 + p0 + q1 + 2) >> 2);
        edge[0] = static_cast<Pixel>((2 * q1 + q0 + p1 + 2) >> 2);
        if constexpr (!chroma) {
            const int p2 = edge[-3 * across], q2 = edge[2 * across];
            const bool flat = std::abs(p0 - q0) < (filter.alpha >> 2) + 2;
            if (flat && std::abs(p2 - p0) < filter.beta) {
                edge[-across] = static_cast<Pixel>((p2 + 2 * p1 + 2 * p0 + 2 * q0 + q1 + 4) >> 3);
                edge[-2 * across] = static_cast<Pixel>((p2 + p1 + p0 + q0 + 2) >> 2);
                edge[-3 * across] = static_cast<Pixel>((2 * edge[-4 * across] + 3 * p2 + p1 + p0 + q0 + 4) >> 3);
            }
            if (flat && std::abs(q2 - q0) < filter.beta) {
                edge[0] = static_cast<Pixel>((p1 + 2 * p0 + 2 * q0 + 2 * q1 + q2 + 4) >> 3);
                edge[across] = static_cast<Pixel>((p0 + q0 + q1 + q2 + 2) >> 2);
                edge[2 * across] = static_cast<Pixel>((2 * edge[3 * across] + 3 * q2 + q1 + q0 + p0 + 4) >> 3);
            }
        }
    }
}

using Along = void (*)(Pixel*, Pitch, Pitch, const EdgeFilter&);
template <Along filter>
void upright(Pixel* edge, Pitch pitch, const EdgeFilter& how) {
    filter(edge, 1, pitch, how);
}
template <Along filter>
void level(Pixel* edge, Pitch pitch, const EdgeFilter& how) {
    filter(edge, pitch, 1, how);
}

}  // namespace

LoopFilters loop_filters() noexcept {
    return {upright<normal<false>>, upright<strong<false>>, level<normal<false>>, level<strong<false>>,
            upright<normal<true>>,  upright<strong<true>>,  level<normal<true>>,  level<strong<true>>};
}

}  // namespace penstock::kernels::h264

#endif
