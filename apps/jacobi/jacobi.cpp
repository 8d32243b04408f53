#include "apps/jacobi/jacobi.hpp"

#include <algorithm>

#include "apps/buffer.hpp"
#include "apps/random.hpp"
#include "kernels/jacobi.hpp"

namespace penstock::apps::jacobi {

std::string_view name(Variant variant) noexcept {
    switch (variant) {
        case Variant::shared:
            return "shared";
        case Variant::shared_flags:
            return "shared-flags";
        case Variant::push_barrier:
            return "push-barrier";
        case Variant::push:
            return "push";
        case Variant::push_word:
            return "push-word";
    }
    return "?";
}

void generate(Problem& problem, std::uint32_t seed) {
    Random random{seed};
    fill(problem.start.span(), nullptr, random, -1.0f, 1.0f);
    fill(problem.source.span(), nullptr, random, -1e-3f, 1e-3f);
}

void serial(std::span<const float> start, std::span<const float> source, std::span<float> result, std::size_t sweeps) {
    serial(start, source, result, Buffer<float>{start.size()}.span(), sweeps);
}

void serial(std::span<const float> start, std::span<const float> source, std::span<float> result,
            std::span<float> other, std::size_t sweeps) {
    // The last sweep ends in `result`.
    std::span<float> planes[] = {sweeps % 2 == 0 ? result : other, sweeps % 2 == 0 ? other : result};
    for (const auto plane : planes) std::ranges::copy(start, plane.begin());
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep)
        kernels::jacobi(planes[sweep % 2], source, planes[(sweep + 1) % 2].subspan(1, source.size()));
}

}  // namespace penstock::apps::jacobi
