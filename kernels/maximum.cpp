#include "kernels/maximum.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/maximum.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

template <class T, class D = hn::ScalableTag<T>, class V = hn::Vec<D>>
HWY_INLINE V greater(V a, V b) {
    if constexpr (hwy::IsFloat<T>()) {
        return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);  // a NaN in b: no comparison holds, b it is
    } else {
        return hn::Max(a, b);
    }
}

template <class T>
std::size_t maximum_row(const T* a, const T* b, T* out, std::size_t columns) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    if (columns < lanes) return 0;
    std::size_t j = 0;
    for (; j + 2 * lanes <= columns; j += 2 * lanes) {
        const auto first = greater<T>(hn::LoadU(d, a + j), hn::LoadU(d, b + j));
        const auto second = greater<T>(hn::LoadU(d, a + j + lanes), hn::LoadU(d, b + j + lanes));
        hn::StoreU(first, d, out + j);
        hn::StoreU(second, d, out + j + lanes);
    }
    if (j + lanes <= columns) {
        hn::StoreU(greater<T>(hn::LoadU(d, a + j), hn::LoadU(d, b + j)), d, out + j);
        j += lanes;
    }
    return j;
}

#else

template <class T>
std::size_t maximum_row(const T*, const T*, T*, std::size_t) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstdint>

#include "kernels/shapes.hpp"

namespace penstock::kernels {

template <class T>
void maximum(view<const T, 2> a, view<const T, 2> b, view<T, 2> out) {
    need_same_shape("maximum", "a", a, "out", out);
    need_same_shape("maximum", "b", b, "out", out);
    need_rows("maximum", "a", a);
    need_rows("maximum", "b", b);
    need_rows("maximum", "out", out);
    const auto vectors = PENSTOCK_PICK(maximum_row<T>);
    const std::size_t columns = out.extent(1);
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const T *left = a.row(i).data(), *right = b.row(i).data();
        T* to = out.row(i).data();
        for (std::size_t j = vectors(left, right, to, columns); j < columns; ++j)
            to[j] = left[j] > right[j] || left[j] != left[j] ? left[j] : right[j];
    }
}

template void maximum<std::uint8_t>(view<const std::uint8_t, 2>, view<const std::uint8_t, 2>, view<std::uint8_t, 2>);
template void maximum<float>(view<const float, 2>, view<const float, 2>, view<float, 2>);

}  // namespace penstock::kernels

#endif
