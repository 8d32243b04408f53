// Pictures in memory: planes with a margin, into which motion may lead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/h264/macroblock.hpp"

namespace penstock::apps::h264 {

/// Columns and rows of pixels.
struct Size {
    static constexpr int most = 8192;  ///< of either
    int columns = 0, rows = 0;
    bool operator==(const Size&) const = default;
    /// Columns and rows of macroblocks.
    int across() const noexcept { return (columns + 15) / 16; }
    int down() const noexcept { return (rows + 15) / 16; }
    std::size_t macroblocks() const noexcept {
        return static_cast<std::size_t>(across()) * static_cast<std::size_t>(down());
    }
    /// Bytes of a picture as files have it: luminance, then both colours, of half the columns and rows, rounded up.
    std::size_t bytes() const noexcept {
        const auto c = static_cast<std::size_t>(columns), r = static_cast<std::size_t>(rows);
        return c * r + 2 * ((c + 1) / 2) * ((r + 1) / 2);
    }
};

/// Where pixel (0, 0) lies, and how far apart rows are.
struct Plane {
    Pixel* pixels = nullptr;
    Pitch pitch = 0;
    Pixel* at(int x, int y) const noexcept { return pixels + y * pitch + x; }
};

/// Pixels around a picture that repeat its edge, in luminance. No block that motion leads to may lie further out.
inline constexpr int margin = 32;
/// As far out may a block begin or end: what lies between pixels reads three pixels more.
inline constexpr int reach = margin - 6;

/// A picture that is encoded, in whole macroblocks: its last row and column are repeated.
class Source {
  public:
    explicit Source(Size size);
    /// Copies macroblocks [first, end) of a row from a picture as files have it.
    void take(int row, int first, int end, std::span<const std::uint8_t> picture) noexcept;
    const Plane& luma() const noexcept { return planes_[0]; }
    const Plane& chroma(int colour) const noexcept { return planes_[static_cast<std::size_t>(1 + colour)]; }

  private:
    Size size_;
    std::vector<Pixel> memory_;
    std::array<Plane, 3> planes_;
};

/// A picture as the decoder has it, and what its blocks moved by. Its memory may be given, as that of a region.
class Picture {
  public:
    static std::size_t bytes(Size size) noexcept;
    explicit Picture(Size size);
    Picture(Size size, std::byte* memory) noexcept;

    Size size() const noexcept { return size_; }
    const Plane& luma() const noexcept { return planes_[0]; }
    const Plane& chroma(int colour) const noexcept { return planes_[static_cast<std::size_t>(4 + colour)]; }
    /// Luminance half a pixel right (1), below (2), and both (3).
    const Plane& half(int which) const noexcept { return planes_[static_cast<std::size_t>(which)]; }
    Macroblock* blocks() const noexcept { return blocks_; }
    /// The last rows of each row of macroblocks before the loop filter: luminance, then both colours.
    Pixel* unfiltered(int row, int plane) const noexcept;

    /// Stands for a row of macroblocks that is filtered and complete, where somebody waits for that.
    std::span<std::byte> mark(int row) const noexcept;

    /// Pixels of luminance; chrominance lies beside them.
    struct Area {
        int left, right, top, bottom;  ///< right and bottom are the first outside; all are even
    };
    /// Repeats the edges of the picture that the area touches.
    void repeat_edges(const Area& area) const noexcept;
    /// Computes what lies between pixels in the area, and around it as far as the margin allows where it touches an
    /// edge of the picture. Two pixels around it on the left and above, three on the right and below must be there.
    void compute_halves(const kernels::h264::Interpolation& with, const Area& area) const noexcept;
    void copy_to(std::span<std::uint8_t> picture) const noexcept;

  private:
    void lay_out(std::byte* memory) noexcept;
    Size size_;
    std::unique_ptr<std::byte[]> own_;
    std::array<Plane, 6> planes_;
    Pixel* unfiltered_ = nullptr;
    Macroblock* blocks_ = nullptr;
    std::byte* marks_ = nullptr;
};

}  // namespace penstock::apps::h264
