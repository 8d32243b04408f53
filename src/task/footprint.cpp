#include "penstock/footprint.hpp"

#include <algorithm>
#include <cstdint>

namespace penstock {
namespace {

/// Appends the byte ranges of dimension `d` and below, merging what is contiguous.
void list_rows(const Footprint& f, std::size_t d, std::uintptr_t base, std::vector<Bounds>& rows) {
    std::size_t inner = f.element;  // bytes that the dimensions below d cover without a gap
    bool solid = true;
    for (std::size_t k = f.rank; k-- > d;) {
        if (f.extents[k] == 0) return;
        if (f.extents[k] != 1 && f.strides[k] != static_cast<std::ptrdiff_t>(inner)) solid = false;
        inner *= f.extents[k];
    }
    if (solid) {
        rows.push_back({base, base + inner});
        return;
    }
    for (std::size_t i = 0; i < f.extents[d]; ++i)
        list_rows(f, d + 1, base + static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(i) * f.strides[d]), rows);
}

std::vector<Bounds> rows_of(const Footprint& f) {
    std::vector<Bounds> rows;
    if (f.is_list) rows = f.pieces;
    else list_rows(f, 0, f.base, rows);
    std::sort(rows.begin(), rows.end(), [](const Bounds& a, const Bounds& b) { return a.low < b.low; });
    return rows;
}

/// The same bytes as disjoint ranges.
std::vector<Bounds> merged(std::vector<Bounds> rows) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].low <= rows[last].high) rows[last].high = std::max(rows[last].high, rows[i].high);
        else rows[++last] = rows[i];
    }
    if (!rows.empty()) rows.resize(last + 1);
    return rows;
}

/// Two rectangles of solid rows at the same pitch, as two tiles of one matrix are.
bool at_one_pitch(const Footprint& a, const Footprint& b) noexcept {
    const auto rectangle = [](const Footprint& f) {
        return !f.is_list && f.rank == 2 && f.strides[1] == static_cast<std::ptrdiff_t>(f.element) &&
               f.strides[0] >= static_cast<std::ptrdiff_t>(f.extents[1] * f.element);
    };
    return rectangle(a) && rectangle(b) && a.strides[0] == b.strides[0];
}

/// Is there a pair of rows i of a, k of b whose ranges meet? b's row k meets a's row i iff k - i lies in a window of at most
/// two values of the difference, because rows are no longer than the pitch.
bool rectangles_meet(const Footprint& a, const Footprint& b) noexcept {
    const auto pitch = static_cast<std::intptr_t>(a.strides[0]);
    const auto delta = static_cast<std::intptr_t>(b.base - a.base);
    const auto width_a = static_cast<std::intptr_t>(a.extents[1] * a.element);
    const auto width_b = static_cast<std::intptr_t>(b.extents[1] * b.element);
    const auto floor_divide = [](std::intptr_t x, std::intptr_t y) { return x / y - ((x % y != 0 && x < 0) ? 1 : 0); };
    // Rows meet when -width_b < delta + (k - i) * pitch < width_a.
    const auto least = floor_divide(-width_b - delta, pitch) + 1;
    const auto most = -floor_divide(-(width_a - delta), pitch) - 1;
    const auto rows_a = static_cast<std::intptr_t>(a.extents[0]);
    const auto rows_b = static_cast<std::intptr_t>(b.extents[0]);
    return std::max(least, 1 - rows_a) <= std::min(most, rows_b - 1);
}

}  // namespace

bool overlap(const Footprint& first, const Footprint& second) {
    if (at_one_pitch(first, second)) return rectangles_meet(first, second);
    const auto a = merged(rows_of(first));
    const auto b = merged(rows_of(second));
    for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
        if (a[i].meets(b[k])) return true;
        if (a[i].high <= b[k].high) ++i;
        else ++k;
    }
    return false;
}

bool overlaps_itself(const Footprint& footprint) {
    const auto rows = rows_of(footprint);
    for (std::size_t i = 1; i < rows.size(); ++i)
        if (rows[i].low < rows[i - 1].high) return true;
    return false;
}

namespace footprint {

const char* check_dimensions(std::uintptr_t base, std::size_t element, std::span<const std::size_t> extents,
                             std::span<const std::ptrdiff_t> strides, Bounds& bounds) noexcept {
    constexpr const char* too_far = "reaches beyond the address space; check its extents and strides";
    std::ptrdiff_t below = 0;
    std::ptrdiff_t above = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        std::ptrdiff_t reach = 0;
        if (extents[d] - 1 > static_cast<std::size_t>(PTRDIFF_MAX) ||
            __builtin_mul_overflow(static_cast<std::ptrdiff_t>(extents[d] - 1), strides[d], &reach) ||
            __builtin_mul_overflow(reach, static_cast<std::ptrdiff_t>(element), &reach))
            return too_far;
        if (__builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above)) return too_far;
    }
    if (static_cast<std::uintptr_t>(-(below + 1)) + 1 > base && below != 0) return too_far;
    bounds.low = base - (below == 0 ? 0 : static_cast<std::uintptr_t>(-(below + 1)) + 1);
    if (__builtin_add_overflow(base, static_cast<std::uintptr_t>(above), &bounds.high) ||
        __builtin_add_overflow(bounds.high, element, &bounds.high))
        return too_far;
    return nullptr;
}

}  // namespace footprint
}  // namespace penstock
