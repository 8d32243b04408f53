#include "kernels/blas.hpp"

#include <cstddef>

namespace penstock::kernels {
namespace {

// 16 partial sums: four vectors of four floats hide the latency of the addition, and the compiler may not reorder a
// single sum by itself.
constexpr std::size_t lanes = 16;

float dot(const float* __restrict a, const float* __restrict x, std::size_t n) {
    float sum[lanes] = {};
    std::size_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) sum[l] += a[j + l] * x[j + l];
    }
    for (std::size_t l = 0; j + l < n; ++l) sum[l] += a[j + l] * x[j + l];
    for (std::size_t width = lanes / 2; width > 0; width /= 2) {
        for (std::size_t l = 0; l < width; ++l) sum[l] += sum[l + width];
    }
    return sum[0];
}

}  // namespace

void saxpy(std::span<const float> x, std::span<float> y, float a) {
    const float* __restrict from = x.data();
    float* __restrict to = y.data();
    const std::size_t n = y.size();
    for (std::size_t i = 0; i < n; ++i) to[i] += a * from[i];
}

void sgemv(std::span<const float> a, std::span<const float> x, std::span<float> y, float alpha, float beta) {
    const std::size_t columns = x.size();
    for (std::size_t i = 0; i < y.size(); ++i) {
        const float product = alpha * dot(a.data() + i * columns, x.data(), columns);
        y[i] = beta == 0.0f ? product : product + beta * y[i];
    }
}

}  // namespace penstock::kernels
