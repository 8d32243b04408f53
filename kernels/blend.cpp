#include "kernels/blend.hpp"

#include <stdexcept>

#include "kernels/shapes.hpp"

namespace penstock::kernels {

void blend(view<const std::uint8_t, 2> a, view<const std::uint8_t, 2> b, view<std::uint8_t, 2> out, unsigned share) {
    need_same_shape("blend", "b", b, "a", a);
    need_same_shape("blend", "out", out, "a", a);
    need_rows("blend", "a", a);
    need_rows("blend", "b", b);
    need_rows("blend", "out", out);
    if (share > 256) throw std::invalid_argument("blend: the share of the second image is 0 to 256");
    for (std::size_t i = 0; i < a.extent(0); ++i) {
        const std::uint8_t *const left = a.row(i).data(), *const right = b.row(i).data();
        std::uint8_t* const to = out.row(i).data();
        for (std::size_t j = 0; j < a.extent(1); ++j)
            to[j] = static_cast<std::uint8_t>((left[j] * (256 - share) + right[j] * share + 128) >> 8);
    }
}

}  // namespace penstock::kernels
