// task layer: which bytes an argument covers, and whether two arguments of one task meet (contract 9).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/argument.hpp"

namespace penstock {

/// Half-open range of addresses that contains an argument.
struct Bounds {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;

    friend bool operator==(const Bounds&, const Bounds&) = default;
    bool meets(const Bounds& other) const noexcept { return low < other.high && other.low < high; }
};

/// The exact bytes of an argument, whatever its shape: `base` and byte strides of up to 8 dimensions, or a list of
/// pieces.
struct Footprint {
    std::uintptr_t base = 0;
    std::size_t element = 1;
    std::size_t rank = 0;
    std::array<std::size_t, 8> extents{};
    std::array<std::ptrdiff_t, 8> strides{};  // bytes
    std::vector<Bounds> pieces{};
    bool is_list = false;

    friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// Do two arguments share a byte? Constant time for rows at one pitch (strided vectors, tiles of one matrix), a step
/// for each row of the shorter for different pitches, otherwise the time to list the rows of both.
bool overlap(const Footprint& first, const Footprint& second);
/// Does an argument reach one byte by two different indices (zero stride, rows that run into one another)? Constant
/// time for views of up to two dimensions and all whose dimensions nest; otherwise, and for pieces, the time to list
/// the rows.
bool overlaps_itself(const Footprint& footprint);

namespace footprint {

/// What can be wrong with the memory of an argument; empty when nothing is. `bounds` is set when nothing is wrong.
const char* check_dimensions(std::uintptr_t base, std::size_t element, std::span<const std::size_t> extents,
                             std::span<const std::ptrdiff_t> strides, Bounds& bounds) noexcept;

/// The rare cases of the next: empty, wrong, or beyond what ordinary memory looks like.
template <class T>
[[gnu::noinline, gnu::cold]] const char* check_closely(std::span<T> value, Bounds& bounds) noexcept {
    const auto base = reinterpret_cast<std::uintptr_t>(value.data());
    if (value.empty()) return nullptr;
    if (base == 0) return "is null but has a size above zero; give it memory, or a size of zero";
    if (base % alignof(T) != 0) return "is not aligned for its element type; allocate it with the type's own alignment";
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(value.size(), sizeof(T), &bytes) || __builtin_add_overflow(base, bytes, &bounds.high) ||
        bounds.high > PTRDIFF_MAX)
        return "reaches beyond the address space; check its size";
    bounds.low = base;
    return nullptr;
}

template <class T>
inline const char* check(std::span<T> value, Bounds& bounds) noexcept {
    const auto base = reinterpret_cast<std::uintptr_t>(value.data());
    // One branch for what is nearly always so: an address of 48 bits that is aligned and not null, and 32 bits of
    // length.
    if ((base >> 48 | value.size() >> 32 | base % alignof(T)) != 0 || base == 0) [[unlikely]]
        return check_closely(value, bounds);
    bounds = {base, base + value.size() * sizeof(T)};
    return nullptr;
}

template <class T, std::size_t Rank>
inline const char* check(const view<T, Rank>& value, Bounds& bounds) noexcept {
    const auto base = reinterpret_cast<std::uintptr_t>(value.data());
    for (auto extent : value.extents())
        if (extent == 0) return nullptr;
    if (base == 0) return "is null but has a size above zero; give it memory, or a size of zero";
    if (base % alignof(T) != 0) return "is not aligned for its element type; allocate it with the type's own alignment";
    return check_dimensions(base, sizeof(T), value.extents(), value.strides(), bounds);
}

template <class T>
inline const char* check(const pieces<T>& value, Bounds& bounds) noexcept {
    for (auto piece : value) {
        Bounds one;
        if (const char* wrong = check(piece, one)) return wrong;
        if (one.high == 0) continue;
        bounds.low = bounds.high == 0 || one.low < bounds.low ? one.low : bounds.low;
        bounds.high = one.high > bounds.high ? one.high : bounds.high;
    }
    return nullptr;
}

template <class T>
inline Footprint of(std::span<T> value) {
    const auto base = reinterpret_cast<std::uintptr_t>(value.data());
    return {.base = base, .element = sizeof(T), .rank = 1, .extents = {value.size()}, .strides = {sizeof(T)}};
}

template <class T, std::size_t Rank>
inline Footprint of(const view<T, Rank>& value) {
    static_assert(Rank <= 8, "penstock: views have at most 8 dimensions");
    Footprint f;
    f.base = reinterpret_cast<std::uintptr_t>(value.data());
    f.element = sizeof(T);
    f.rank = Rank;
    for (std::size_t d = 0; d < Rank; ++d) {
        f.extents[d] = value.extent(d);
        // A stride that no index uses may be anything.
        f.strides[d] = value.extent(d) > 1 ? value.stride(d) * static_cast<std::ptrdiff_t>(sizeof(T)) : 0;
    }
    return f;
}

template <class T>
inline Footprint of(const pieces<T>& value) {
    Footprint f;
    f.is_list = true;
    for (auto piece : value) {
        if (piece.empty()) continue;
        const auto base = reinterpret_cast<std::uintptr_t>(piece.data());
        f.pieces.push_back({base, base + piece.size_bytes()});
    }
    return f;
}

/// True when the argument may be written twice at one byte; decided without listing rows in the usual cases.
template <class T>
inline bool may_overlap_itself(std::span<T>) noexcept {
    return false;
}
template <class T, std::size_t Rank>
inline bool may_overlap_itself(const view<T, Rank>& value) noexcept {
    std::size_t inner = 1;
    for (std::size_t d = Rank; d-- > 0;) {
        if (value.extent(d) <= 1) continue;
        const auto forward = static_cast<std::size_t>(value.stride(d));
        const auto stride = value.stride(d) < 0 ? 0 - forward : forward;
        if (stride < inner) return true;
        inner = stride * value.extent(d);
    }
    return false;
}
template <class T>
inline bool may_overlap_itself(const pieces<T>&) noexcept {
    return true;
}

}  // namespace footprint
}  // namespace penstock
