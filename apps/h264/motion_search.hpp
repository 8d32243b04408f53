// Looks for the motion of one block.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "apps/h264/coder.hpp"
#include "apps/h264/inter.hpp"

namespace penstock::apps::h264 {

/// The motion that a macroblock may have: within the range, and not too far beyond the picture's edge.
struct Bounds {
    Vector least, most;
    bool holds(Vector by) const noexcept {
        return by.x >= least.x && by.x <= most.x && by.y >= least.y && by.y <= most.y;
    }
    Vector nearest(Vector by) const noexcept {
        return {std::clamp(by.x, least.x, most.x), std::clamp(by.y, least.y, most.y)};
    }
    static Bounds of(Size size, int range, int x, int y) noexcept {
        const auto axis = [&](int at, int pixels, std::int16_t& least, std::int16_t& most) {
            least = static_cast<std::int16_t>(std::max(1 - 4 * range, -4 * (16 * at + reach)));
            most = static_cast<std::int16_t>(std::min(4 * range - 1, 4 * (pixels + reach - 16 - 16 * at)));
        };
        Bounds bounds;
        axis(x, 16 * size.across(), bounds.least.x, bounds.most.x);
        axis(y, 16 * size.down(), bounds.least.y, bounds.most.y);
        return bounds;
    }
};

struct Found {
    Vector by;
    std::uint32_t cost = 0;
};

/// Bits of se(v).
constexpr std::uint32_t bits_of(int value) noexcept {
    const auto code = static_cast<std::uint32_t>(value > 0 ? 2 * value : 1 - 2 * value);
    return 2 * static_cast<std::uint32_t>(std::bit_width(code)) - 1;
}

class MotionSearch {
  public:
    /// A block at (x, y) in pixels.
    MotionSearch(const Kernels& with, const EncoderSettings& settings, std::uint32_t weight, const Plane& source,
                 const Picture& reference, const Bounds& bounds, Shape shape, int x, int y) noexcept
        : with_{with}, settings_{settings}, weight_{weight}, source_{source.at(x, y)}, source_pitch_{source.pitch},
          reference_{reference}, bounds_{bounds}, shape_{shape}, x_{x}, y_{y} {}

    /// The best motion, beginning at these. `expected`: from which its bits are counted.
    Found run(Vector expected, std::span<const Vector> from);
    /// The difference, without the bits of the motion.
    std::uint32_t difference(Vector by, bool transformed) const;

  private:
    std::uint32_t cost(int column, int row) const {  // of whole pixels
        return with_.differences.of(shape_)(source_, source_pitch_, reference_.luma().at(x_ + column, y_ + row),
                                            reference_.luma().pitch) +
               bits(4 * column, 4 * row);
    }
    std::uint32_t bits(int x, int y) const noexcept {
        return weight_ * (bits_of(x - expected_.x) + bits_of(y - expected_.y));
    }
    bool legal(int column, int row) const noexcept {
        return 4 * column >= bounds_.least.x && 4 * column <= bounds_.most.x && 4 * row >= bounds_.least.y &&
               4 * row <= bounds_.most.y;
    }
    bool try_whole(int column, int row);
    void whole(std::span<const Vector> from);
    void diamond();
    void hexagon();
    void everywhere();
    void fraction(int step);

    const Kernels& with_;
    const EncoderSettings& settings_;
    std::uint32_t weight_;
    const Pixel* source_;
    Pitch source_pitch_;
    const Picture& reference_;
    const Bounds& bounds_;
    Shape shape_;
    int x_, y_;
    Vector expected_;
    int column_ = 0, row_ = 0;  ///< the best in whole pixels
    Found best_;
};

}  // namespace penstock::apps::h264
