#include "apps/h264/picture.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::apps::h264 {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + line - 1) / line * line; }

struct Extent {
    std::size_t columns, rows, margin;
    std::size_t pitch() const noexcept { return rounded(columns + 2 * margin); }
    std::size_t bytes() const noexcept { return pitch() * (rows + 2 * margin); }
};

Extent luma_of(Size size, int around) noexcept {
    return {16 * static_cast<std::size_t>(size.across()), 16 * static_cast<std::size_t>(size.down()),
            static_cast<std::size_t>(around)};
}
Extent chroma_of(Size size, int around) noexcept {
    return {8 * static_cast<std::size_t>(size.across()), 8 * static_cast<std::size_t>(size.down()),
            static_cast<std::size_t>(around) / 2};
}

Plane plane(Pixel* memory, const Extent& extent) noexcept {
    const auto pitch = static_cast<Pitch>(extent.pitch()), around = static_cast<Pitch>(extent.margin);
    return {memory + around * pitch + around, pitch};
}

/// A plane as files have it.
struct FilePlane {
    const std::uint8_t* pixels;
    int columns, rows;
};

/// Copies an area, in which the last column and row are repeated.
void take_plane(const Plane& to, const FilePlane& from, const Picture::Area& area) noexcept {
    const int copied = std::clamp(from.columns - area.left, 0, area.right - area.left);
    for (int y = area.top; y < area.bottom; ++y) {
        const auto* row =
            from.pixels + static_cast<std::size_t>(std::min(y, from.rows - 1)) * static_cast<std::size_t>(from.columns);
        if (copied > 0) std::memcpy(to.at(area.left, y), row + area.left, static_cast<std::size_t>(copied));
        std::memset(to.at(area.left + copied, y), row[from.columns - 1],
                    static_cast<std::size_t>(area.right - area.left - copied));
    }
}

/// Repeats the edges of a plane of so many columns and rows that the area touches.
void repeat_around(const Plane& plane, int columns, int rows, int around, Picture::Area area) noexcept {
    const auto side = static_cast<std::size_t>(around);
    for (int y = area.top; y < area.bottom; ++y) {
        if (area.left == 0) std::memset(plane.at(-around, y), *plane.at(0, y), side);
        if (area.right == columns) std::memset(plane.at(columns, y), *plane.at(columns - 1, y), side);
    }
    if (area.left == 0) area.left = -around;
    if (area.right == columns) area.right = columns + around;
    const auto repeat = [&](int row, int first, int end) {
        for (int y = first; y < end; ++y)
            std::memcpy(plane.at(area.left, y), plane.at(area.left, row),
                        static_cast<std::size_t>(area.right - area.left));
    };
    if (area.top == 0) repeat(0, -around, 0);
    if (area.bottom == rows) repeat(rows - 1, rows, rows + around);
}

}  // namespace

Source::Source(Size size) : size_{size} {
    const Extent luma = luma_of(size, 0), chroma = chroma_of(size, 0);
    memory_.resize(luma.bytes() + 2 * chroma.bytes() + line);
    Pixel* at = memory_.data() + (line - reinterpret_cast<std::uintptr_t>(memory_.data()) % line) % line;
    planes_ = {plane(at, luma), plane(at + luma.bytes(), chroma), plane(at + luma.bytes() + chroma.bytes(), chroma)};
}

void Source::take(int row, int first, int end, std::span<const std::uint8_t> picture) noexcept {
    const Size& size = size_;
    take_plane(planes_[0], {picture.data(), size.columns, size.rows}, {16 * first, 16 * end, 16 * row, 16 * row + 16});
    FilePlane chroma{picture.data() + static_cast<std::size_t>(size.columns) * static_cast<std::size_t>(size.rows),
                     (size.columns + 1) / 2, (size.rows + 1) / 2};
    for (std::size_t colour = 0; colour < 2; ++colour) {
        take_plane(planes_[1 + colour], chroma, {8 * first, 8 * end, 8 * row, 8 * row + 8});
        chroma.pixels += static_cast<std::size_t>(chroma.columns) * static_cast<std::size_t>(chroma.rows);
    }
}

std::size_t Picture::bytes(Size size) noexcept {
    const std::size_t unfiltered = 32 * static_cast<std::size_t>(size.across()) * static_cast<std::size_t>(size.down());
    return 4 * luma_of(size, margin).bytes() + 2 * chroma_of(size, margin).bytes() + rounded(unfiltered) +
           rounded(size.macroblocks() * sizeof(Macroblock)) + line * static_cast<std::size_t>(size.down());
}

Picture::Picture(Size size) : size_{size}, own_{std::make_unique<std::byte[]>(bytes(size) + line)} {
    lay_out(own_.get() + (line - reinterpret_cast<std::uintptr_t>(own_.get()) % line) % line);
}

Picture::Picture(Size size, std::byte* memory) noexcept : size_{size} { lay_out(memory); }

void Picture::lay_out(std::byte* memory) noexcept {
    auto* at = reinterpret_cast<Pixel*>(memory);
    const Extent luma = luma_of(size_, margin), chroma = chroma_of(size_, margin);
    for (std::size_t i = 0; i < planes_.size(); ++i) {
        const Extent& extent = i < 4 ? luma : chroma;
        planes_[i] = plane(at, extent);
        at += extent.bytes();
    }
    unfiltered_ = at;
    at += rounded(32 * static_cast<std::size_t>(size_.across()) * static_cast<std::size_t>(size_.down()));
    blocks_ = reinterpret_cast<Macroblock*>(at);
    marks_ = reinterpret_cast<std::byte*>(at + rounded(size_.macroblocks() * sizeof(Macroblock)));
}

std::span<std::byte> Picture::mark(int row) const noexcept {
    return {marks_ + line * static_cast<std::size_t>(row), line};
}

Pixel* Picture::unfiltered(int row, int plane) const noexcept {
    const int across = size_.across();
    return unfiltered_ + 32 * across * row + (plane == 0 ? 0 : 16 * across + (plane - 1) * 8 * across);
}

void Picture::repeat_edges(const Area& area) const noexcept {
    const int columns = 16 * size_.across(), rows = 16 * size_.down();
    repeat_around(planes_[0], columns, rows, margin, area);
    for (std::size_t colour = 4; colour < 6; ++colour)
        repeat_around(planes_[colour], columns / 2, rows / 2, margin / 2,
                      {area.left / 2, area.right / 2, area.top / 2, area.bottom / 2});
}

void Picture::compute_halves(const kernels::h264::Interpolation& with, const Area& area) const noexcept {
    const int columns = 16 * size_.across(), rows = 16 * size_.down(), around = reach + 2;
    const int left = area.left == 0 ? -around : area.left,
              right = area.right == columns ? columns + around : area.right;
    const int top = area.top == 0 ? -around : area.top, bottom = area.bottom == rows ? rows + around : area.bottom;
    for (int y = top; y < bottom; ++y)
        with.halves(planes_[0].at(left, y), planes_[0].pitch, planes_[1].at(left, y), planes_[2].at(left, y),
                    planes_[3].at(left, y), static_cast<std::size_t>(right - left));
}

void Picture::copy_to(std::span<std::uint8_t> picture) const noexcept {
    auto* to = picture.data();
    const auto put = [&](const Plane& plane, int columns, int rows) {
        for (int y = 0; y < rows; ++y, to += columns)
            std::memcpy(to, plane.at(0, y), static_cast<std::size_t>(columns));
    };
    put(planes_[0], size_.columns, size_.rows);
    for (std::size_t colour = 4; colour < 6; ++colour)
        put(planes_[colour], (size_.columns + 1) / 2, (size_.rows + 1) / 2);
}

}  // namespace penstock::apps::h264
