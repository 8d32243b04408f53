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

/// Copies rows [first, end) of a plane of columns x rows, repeating the last column and row up to the wide columns.
void take_plane(const Plane& to, const std::uint8_t* from, int columns, int rows, int wide, int first,
                int end) noexcept {
    for (int y = first; y < end; ++y) {
        const auto* row = from + static_cast<std::size_t>(std::min(y, rows - 1)) * static_cast<std::size_t>(columns);
        std::memcpy(to.at(0, y), row, static_cast<std::size_t>(columns));
        std::memset(to.at(columns, y), row[columns - 1], static_cast<std::size_t>(wide - columns));
    }
}

/// Repeats the first and the last pixel of these rows.
void repeat_sides(const Plane& plane, int columns, int around, int first, int end) noexcept {
    for (int y = first; y < end; ++y) {
        std::memset(plane.at(-around, y), *plane.at(0, y), static_cast<std::size_t>(around));
        std::memset(plane.at(columns, y), *plane.at(columns - 1, y), static_cast<std::size_t>(around));
    }
}

/// Copies a row with its margins to the rows [first, end).
void repeat_row(const Plane& plane, int columns, int around, int row, int first, int end) noexcept {
    for (int y = first; y < end; ++y)
        std::memcpy(plane.at(-around, y), plane.at(-around, row), static_cast<std::size_t>(columns + 2 * around));
}

void repeat_around(const Plane& plane, int columns, int rows, int around, int first, int end) noexcept {
    repeat_sides(plane, columns, around, first, end);
    if (first == 0) repeat_row(plane, columns, around, 0, -around, 0);
    if (end == rows) repeat_row(plane, columns, around, rows - 1, rows, rows + around);
}

}  // namespace

Source::Source(Size size) : size_{size} {
    const Extent luma = luma_of(size, 0), chroma = chroma_of(size, 0);
    memory_.resize(luma.bytes() + 2 * chroma.bytes() + line);
    Pixel* at = memory_.data() + (line - reinterpret_cast<std::uintptr_t>(memory_.data()) % line) % line;
    planes_ = {plane(at, luma), plane(at + luma.bytes(), chroma), plane(at + luma.bytes() + chroma.bytes(), chroma)};
}

void Source::take(int row, std::span<const std::uint8_t> picture) noexcept {
    take_plane(planes_[0], picture.data(), size_.columns, size_.rows, 16 * size_.across(), 16 * row, 16 * row + 16);
    const int columns = (size_.columns + 1) / 2, rows = (size_.rows + 1) / 2;
    const auto chroma = static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows);
    const auto* first = picture.data() + static_cast<std::size_t>(size_.columns) * static_cast<std::size_t>(size_.rows);
    for (std::size_t colour = 0; colour < 2; ++colour)
        take_plane(planes_[1 + colour], first + colour * chroma, columns, rows, 8 * size_.across(), 8 * row,
                   8 * row + 8);
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

void Picture::repeat_edges(int first_row, int end_row) const noexcept {
    const int columns = 16 * size_.across(), rows = 16 * size_.down();
    repeat_around(planes_[0], columns, rows, margin, first_row, end_row);
    for (std::size_t colour = 4; colour < 6; ++colour)
        repeat_around(planes_[colour], columns / 2, rows / 2, margin / 2, first_row / 2, end_row / 2);
}

void Picture::compute_halves(const kernels::h264::Interpolation& with, int first_row, int end_row) const noexcept {
    const int columns = 16 * size_.across(), rows = 16 * size_.down(), around = reach + 2;
    if (first_row == 0) first_row = -around;
    if (end_row == rows) end_row = rows + around;
    for (int y = first_row; y < end_row; ++y)
        with.halves(planes_[0].at(-around, y), planes_[0].pitch, planes_[1].at(-around, y), planes_[2].at(-around, y),
                    planes_[3].at(-around, y), static_cast<std::size_t>(columns + 2 * around));
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
