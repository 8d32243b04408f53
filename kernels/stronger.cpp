#include "kernels/stronger.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stronger.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

std::size_t stronger_row(const float* a, const float* b, float* out, std::size_t columns) {
    const hn::ScalableTag<float> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
        const auto left = hn::Abs(hn::LoadU(d, a + j)), right = hn::Abs(hn::LoadU(d, b + j));
        // Where right is not a number no comparison holds, and it is taken.
        hn::StoreU(hn::IfThenElse(hn::Or(hn::Gt(left, right), hn::IsNaN(left)), left, right), d, out + j);
    }
    return j;
}

#else

std::size_t stronger_row(const float*, const float*, float*, std::size_t) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

#include "kernels/shapes.hpp"

namespace penstock::kernels {

void stronger(view<const float, 2> a, view<const float, 2> b, view<float, 2> out) {
    need_same_shape("stronger", "a", a, "out", out);
    need_same_shape("stronger", "b", b, "out", out);
    need_rows("stronger", "a", a);
    need_rows("stronger", "b", b);
    need_rows("stronger", "out", out);
    const auto vectors = PENSTOCK_PICK(stronger_row);
    const std::size_t columns = out.extent(1);
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const float *first = a.row(i).data(), *second = b.row(i).data();
        float* to = out.row(i).data();
        for (std::size_t j = vectors(first, second, to, columns); j < columns; ++j) {
            const float left = std::abs(first[j]), right = std::abs(second[j]);
            to[j] = left > right || left != left ? left : right;
        }
    }
}

}  // namespace penstock::kernels

#endif
