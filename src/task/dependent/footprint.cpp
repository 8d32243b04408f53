#include "penstock/detail/task/footprint.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

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

/// Equal rows at one distance: what a span, a view of one or two dimensions and a tile of a matrix come to.
struct Rows {
    std::uintptr_t base = 0;
    std::intptr_t width = 0;  // bytes of one row
    std::intptr_t count = 0;
    std::intptr_t pitch = 1;  // bytes from one row to the next, above zero
};

struct Dimension {
    std::size_t extent;
    std::size_t stride;  // bytes
};

/// The same bytes with positive strides, the longest first, without dimensions of one index.
std::vector<Dimension> turned_forward(const Footprint& f, std::uintptr_t& base) {
    std::vector<Dimension> dimensions;
    base = f.base;
    for (std::size_t d = 0; d < f.rank; ++d) {
        if (f.extents[d] == 1) continue;
        const bool backward = f.strides[d] < 0;
        const auto stride =
            backward ? std::size_t{0} - static_cast<std::size_t>(f.strides[d]) : static_cast<std::size_t>(f.strides[d]);
        if (backward) base -= stride * (f.extents[d] - 1);
        dimensions.push_back({f.extents[d], stride});
    }
    std::sort(dimensions.begin(), dimensions.end(), [](Dimension a, Dimension b) { return a.stride > b.stride; });
    return dimensions;
}

/// The footprint as rows, where it can be said so.
std::optional<Rows> as_rows(const Footprint& f) {
    if (f.is_list) return std::nullopt;
    for (std::size_t d = 0; d < f.rank; ++d)
        if (f.extents[d] == 0) return Rows{};
    Rows rows;
    auto dimensions = turned_forward(f, rows.base);
    std::size_t width = f.element;
    while (!dimensions.empty() && dimensions.back().stride <= width) {  // solid: what it covers has no gaps
        width += dimensions.back().stride * (dimensions.back().extent - 1);
        dimensions.pop_back();
    }
    std::size_t count = 1;
    std::size_t pitch = 1;
    if (!dimensions.empty()) {
        pitch = dimensions.back().stride;
        count = dimensions.back().extent;
        dimensions.pop_back();
    }
    while (!dimensions.empty() && dimensions.back().stride == pitch * count) {  // rows that go on in the next dimension
        count *= dimensions.back().extent;
        dimensions.pop_back();
    }
    if (!dimensions.empty()) return std::nullopt;
    rows.width = static_cast<std::intptr_t>(width);
    rows.count = static_cast<std::intptr_t>(count);
    rows.pitch = static_cast<std::intptr_t>(pitch);
    return rows;
}

std::intptr_t floor_divide(std::intptr_t x, std::intptr_t y) { return x / y - ((x % y != 0 && x < 0) ? 1 : 0); }

/// Rows at the same pitch: row i of a meets row i + t of b when -b.width < delta + t * pitch < a.width.
bool meet_at_one_pitch(const Rows& a, const Rows& b) noexcept {
    const auto delta = static_cast<std::intptr_t>(b.base - a.base);
    const auto least = floor_divide(-b.width - delta, a.pitch) + 1;
    const auto most = -floor_divide(-(a.width - delta), a.pitch) - 1;
    return std::max(least, 1 - a.count) <= std::min(most, b.count - 1);
}

/// Constant time when the pitches are equal or one has a single row; otherwise one step for each row of the one that
/// has fewer.
bool rows_meet(Rows a, Rows b) noexcept {
    if (a.count == 0 || b.count == 0) return false;
    if (a.count > b.count) std::swap(a, b);
    if (a.count == 1) a.pitch = b.pitch;
    if (a.pitch == b.pitch) return meet_at_one_pitch(a, b);
    for (std::intptr_t i = 0; i < a.count; ++i)
        if (meet_at_one_pitch({a.base + static_cast<std::uintptr_t>(i * a.pitch), a.width, 1, b.pitch}, b)) return true;
    return false;
}

}  // namespace

bool overlap(const Footprint& first, const Footprint& second) {
    const auto first_rows = as_rows(first);
    const auto second_rows = as_rows(second);
    if (first_rows && second_rows) return rows_meet(*first_rows, *second_rows);
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
    if (!footprint.is_list) {
        for (std::size_t d = 0; d < footprint.rank; ++d)
            if (footprint.extents[d] == 0) return false;
        std::uintptr_t base = 0;
        const auto dimensions = turned_forward(footprint, base);
        std::size_t elements = 1;
        std::size_t covered = footprint.element;  // bytes from the first to the last of the dimensions so far
        bool apart = true;
        for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
            if (d->stride == 0) return true;
            apart = apart && d->stride >= covered;
            covered += d->stride * (d->extent - 1);
            elements *= d->extent;
        }
        if (apart) return false;
        if (elements > covered / footprint.element) return true;  // more elements than places
        if (dimensions.size() == 2) {  // i * p == k * q first for the least common multiple of the strides
            const auto common = std::gcd(dimensions[0].stride, dimensions[1].stride);
            return dimensions[1].stride / common < dimensions[0].extent &&
                   dimensions[0].stride / common < dimensions[1].extent;
        }
    }
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
    std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(element);
    for (std::size_t d = 0; d < extents.size(); ++d) {
        std::ptrdiff_t reach = 0;
        if (extents[d] - 1 > static_cast<std::size_t>(PTRDIFF_MAX) ||
            __builtin_mul_overflow(static_cast<std::ptrdiff_t>(extents[d] - 1), strides[d], &reach) ||
            __builtin_mul_overflow(reach, static_cast<std::ptrdiff_t>(element), &reach))
            return too_far;
        if (__builtin_mul_overflow(bytes, extents[d], &bytes))
            return "has more elements than an address space; check its extents";
        if (__builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above)) return too_far;
    }
    if (static_cast<std::uintptr_t>(-(below + 1)) + 1 > base && below != 0) return too_far;
    bounds.low = base - (below == 0 ? 0 : static_cast<std::uintptr_t>(-(below + 1)) + 1);
    // No object is larger than half of the address space, nor does one cross its middle.
    if (base > PTRDIFF_MAX || static_cast<std::uintptr_t>(above) > PTRDIFF_MAX - element ||
        base > PTRDIFF_MAX - element - static_cast<std::uintptr_t>(above))
        return too_far;
    bounds.high = base + static_cast<std::uintptr_t>(above) + element;
    return nullptr;
}

}  // namespace footprint
}  // namespace penstock
