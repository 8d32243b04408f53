#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_loop_filter.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using h264::EdgeFilter;
using h264::Pitch;
using h264::Pixel;
using Words = hn::CappedTag<std::int16_t, 16>;
using Eight = hn::FixedTag<std::int16_t, 8>;

/// Pixels across an edge: p[0] and q[0] are next to it.
template <class V>
struct Across {
    V p[4], q[4];
};

template <class D>
HWY_INLINE hn::Vec<D> set(D d, int value) {
    return hn::Set(d, static_cast<std::int16_t>(value));
}

template <class V>
HWY_INLINE auto is_edge(const Across<V>& x, const EdgeFilter& filter) {
    const hn::DFromV<V> d;
    const auto alpha = set(d, filter.alpha), beta = set(d, filter.beta);
    return hn::And(
        hn::Lt(hn::Abs(hn::Sub(x.p[0], x.q[0])), alpha),
        hn::And(hn::Lt(hn::Abs(hn::Sub(x.p[1], x.p[0])), beta), hn::Lt(hn::Abs(hn::Sub(x.q[1], x.q[0])), beta)));
}

template <class V>
HWY_INLINE V limited(V value, V most) {
    const hn::DFromV<V> d;
    return hn::Max(hn::Min(value, most), hn::Sub(hn::Zero(d), most));
}

/// `clip`: of each lane, -1 where it is not filtered.
template <bool chroma, class V>
HWY_INLINE void filter_normal(Across<V>& x, const EdgeFilter& filter, V clip) {
    const hn::DFromV<V> d;
    const auto edge = hn::And(is_edge(x, filter), hn::Gt(clip, set(d, -1)));
    const auto one = set(d, 1), beta = set(d, filter.beta);
    V most = hn::Add(clip, one);
    V p1 = x.p[1], q1 = x.q[1];
    if constexpr (!chroma) {
        const auto flat_p = hn::Lt(hn::Abs(hn::Sub(x.p[2], x.p[0])), beta),
                   flat_q = hn::Lt(hn::Abs(hn::Sub(x.q[2], x.q[0])), beta);
        const V both = hn::ShiftRight<1>(hn::Add(hn::Add(x.p[0], x.q[0]), one));
        const auto moved = [&](V far, V near) HWY_ATTR {
            return hn::Add(near, limited(hn::ShiftRight<1>(hn::Sub(hn::Add(far, both), hn::Add(near, near))), clip));
        };
        p1 = hn::IfThenElse(hn::And(edge, flat_p), moved(x.p[2], x.p[1]), x.p[1]);
        q1 = hn::IfThenElse(hn::And(edge, flat_q), moved(x.q[2], x.q[1]), x.q[1]);
        most = hn::Add(clip, hn::Add(hn::IfThenElseZero(flat_p, one), hn::IfThenElseZero(flat_q, one)));
    }
    const V slope = hn::Add(hn::ShiftLeft<2>(hn::Sub(x.q[0], x.p[0])), hn::Sub(x.p[1], x.q[1]));
    const V change = hn::IfThenElseZero(edge, limited(hn::ShiftRight<3>(hn::Add(slope, set(d, 4))), most));
    x.p[0] = hn::Add(x.p[0], change);
    x.q[0] = hn::Sub(x.q[0], change);
    x.p[1] = p1;
    x.q[1] = q1;
}

template <bool chroma, class V>
HWY_INLINE void filter_strong(Across<V>& x, const EdgeFilter& filter) {
    const hn::DFromV<V> d;
    const auto edge = is_edge(x, filter);
    const auto two = set(d, 2), four = set(d, 4);
    const auto side = [&](const V* p, const V* q, V* to) HWY_ATTR {
        const V weak = hn::ShiftRight<2>(hn::Add(hn::Add(hn::Add(p[1], p[1]), hn::Add(p[0], q[1])), two));
        if constexpr (chroma) {
            to[0] = hn::IfThenElse(edge, weak, p[0]);
        } else {
            const auto near = hn::Lt(hn::Abs(hn::Sub(p[0], q[0])), set(d, (filter.alpha >> 2) + 2));
            const auto flat = hn::And(near, hn::Lt(hn::Abs(hn::Sub(p[2], p[0])), set(d, filter.beta)));
            const V sum = hn::Add(hn::Add(p[2], p[1]), hn::Add(p[0], q[0]));
            const V first = hn::ShiftRight<3>(hn::Add(hn::Add(hn::Add(sum, sum), hn::Sub(q[1], p[2])), four));
            const V second = hn::ShiftRight<2>(hn::Add(sum, two));
            const V third =
                hn::ShiftRight<3>(hn::Add(hn::Add(hn::Add(p[3], p[3]), hn::Add(p[2], p[2])), hn::Add(sum, four)));
            to[0] = hn::IfThenElse(edge, hn::IfThenElse(flat, first, weak), p[0]);
            const auto all = hn::And(edge, flat);
            to[1] = hn::IfThenElse(all, second, p[1]);
            to[2] = hn::IfThenElse(all, third, p[2]);
        }
    };
    V p[3], q[3];
    side(x.p, x.q, p);
    side(x.q, x.p, q);
    for (std::size_t i = 0; i < (chroma ? 1 : 3); ++i) x.p[i] = p[i], x.q[i] = q[i];
}

/// Of each lane, beginning with one: a quarter has as many lanes as it has pixels.
template <class D>
HWY_INLINE hn::Vec<D> clips(D d, const EdgeFilter& filter, std::size_t first, std::size_t quarter) {
    alignas(32) std::int16_t of[16];
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) of[i] = filter.clip[(first + i) / quarter];
    return hn::Load(d, of);
}

template <bool chroma, bool strong, class V>
HWY_INLINE void filter_lanes(Across<V>& x, const EdgeFilter& filter, std::size_t first) {
    if constexpr (strong) filter_strong<chroma>(x, filter);
    else filter_normal<chroma>(x, filter, clips(hn::DFromV<V>(), filter, first, chroma ? 2 : 4));
}

/// The edge goes right: rows of pixels across it.
template <bool chroma, bool strong>
void level(Pixel* edge, Pitch pitch, const EdgeFilter& filter) {
    using D = std::conditional_t<chroma, Eight, Words>;
    const D d;
    const hn::Rebind<std::uint8_t, D> bytes;
    constexpr Pitch read = chroma ? 2 : strong ? 4 : 3, written = chroma ? 1 : strong ? 3 : 2;
    for (std::size_t first = 0; first < (chroma ? 8 : 16); first += hn::Lanes(d)) {
        Pixel* const at = edge + first;
        Across<hn::Vec<D>> x;
        for (Pitch i = 0; i < read; ++i) {
            x.p[i] = hn::PromoteTo(d, hn::LoadU(bytes, at - (i + 1) * pitch));
            x.q[i] = hn::PromoteTo(d, hn::LoadU(bytes, at + i * pitch));
        }
        filter_lanes<chroma, strong>(x, filter, first);
        for (Pitch i = 0; i < written; ++i) {
            hn::StoreU(hn::DemoteTo(bytes, x.p[i]), bytes, at - (i + 1) * pitch);
            hn::StoreU(hn::DemoteTo(bytes, x.q[i]), bytes, at + i * pitch);
        }
    }
}

/// 16 rows of 8 pixels become 8 columns of 16, and back.
HWY_INLINE void columns_of(const Pixel* from, Pitch pitch, Pixel (*to)[16]) {
    const hn::FixedTag<std::uint8_t, 16> d;
    const hn::FixedTag<std::uint8_t, 8> half;
    hn::Vec<decltype(d)> a[8], b[8];
    for (Pitch i = 0; i < 8; ++i)
        a[i] = hn::InterleaveLower(d, hn::ZeroExtendVector(d, hn::LoadU(half, from + i * pitch)),
                                   hn::ZeroExtendVector(d, hn::LoadU(half, from + (i + 8) * pitch)));
    for (std::size_t i = 0; i < 4; ++i) {
        b[2 * i] = hn::InterleaveLower(d, a[i], a[i + 4]);
        b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + 4]);
    }
    // b[2 i + h] holds rows i, i + 4, i + 8, i + 12 of columns 4 h ... 4 h + 3.
    for (std::size_t h = 0; h < 2; ++h) {
        const auto c0 = hn::InterleaveLower(d, b[h], b[4 + h]), c1 = hn::InterleaveUpper(d, b[h], b[4 + h]);
        const auto e0 = hn::InterleaveLower(d, b[2 + h], b[6 + h]), e1 = hn::InterleaveUpper(d, b[2 + h], b[6 + h]);
        hn::StoreU(hn::InterleaveLower(d, c0, e0), d, to[4 * h]);
        hn::StoreU(hn::InterleaveUpper(d, c0, e0), d, to[4 * h + 1]);
        hn::StoreU(hn::InterleaveLower(d, c1, e1), d, to[4 * h + 2]);
        hn::StoreU(hn::InterleaveUpper(d, c1, e1), d, to[4 * h + 3]);
    }
}
HWY_INLINE void rows_of(const Pixel (*from)[16], Pixel* to, Pitch pitch) {
    const hn::FixedTag<std::uint8_t, 16> d;
    const hn::FixedTag<std::uint8_t, 8> half;
    const auto column = [&](std::size_t i) HWY_ATTR { return hn::LoadU(d, from[i]); };
    for (std::size_t upper = 0; upper < 2; ++upper) {  // eight rows at once
        const auto pair = [&](std::size_t i) HWY_ATTR {
            return upper == 0 ? hn::InterleaveLower(d, column(i), column(i + 4))
                              : hn::InterleaveUpper(d, column(i), column(i + 4));
        };
        const auto a = pair(0), b = pair(1), c = pair(2), e = pair(3);
        const auto ac0 = hn::InterleaveLower(d, a, c), ac1 = hn::InterleaveUpper(d, a, c);
        const auto be0 = hn::InterleaveLower(d, b, e), be1 = hn::InterleaveUpper(d, b, e);
        const auto put = [&](auto rows, Pitch row) HWY_ATTR {
            row += static_cast<Pitch>(8 * upper);
            hn::StoreU(hn::LowerHalf(half, rows), half, to + row * pitch);
            hn::StoreU(hn::UpperHalf(half, rows), half, to + (row + 1) * pitch);
        };
        put(hn::InterleaveLower(d, ac0, be0), 0);
        put(hn::InterleaveUpper(d, ac0, be0), 2);
        put(hn::InterleaveLower(d, ac1, be1), 4);
        put(hn::InterleaveUpper(d, ac1, be1), 6);
    }
}

/// The edge goes down.
template <bool strong>
void upright(Pixel* edge, Pitch pitch, const EdgeFilter& filter) {
    alignas(32) Pixel columns[8][16];
    columns_of(edge - 4, pitch, columns);
    level<false, strong>(columns[4], 16, filter);
    rows_of(columns, edge - 4, pitch);
}
template <bool strong>
void upright_chroma(Pixel* edge, Pitch pitch, const EdgeFilter& filter) {
    alignas(8) Pixel columns[4][8];
    for (Pitch row = 0; row < 8; ++row)
        for (Pitch i = 0; i < 4; ++i) columns[i][row] = edge[row * pitch + i - 2];
    level<true, strong>(columns[2], 8, filter);
    for (Pitch row = 0; row < 8; ++row) {
        edge[row * pitch - 1] = columns[1][row];
        edge[row * pitch] = columns[2][row];
    }
}

}  // namespace

std::size_t fill_loop_filters(h264::LoopFilters* table) {
    *table = {upright<false>,        upright<true>,        level<false, false>, level<false, true>,
              upright_chroma<false>, upright_chroma<true>, level<true, false>,  level<true, true>};
    return 1;
}

#else

inline std::size_t fill_loop_filters(h264::LoopFilters*) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

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
    LoopFilters table;
    if (PENSTOCK_PICK(fill_loop_filters)(&table) != 0) return table;
    return {upright<normal<false>>, upright<strong<false>>, level<normal<false>>, level<strong<false>>,
            upright<normal<true>>,  upright<strong<true>>,  level<normal<true>>,  level<strong<true>>};
}

}  // namespace penstock::kernels::h264

#endif
