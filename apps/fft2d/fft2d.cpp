#include "apps/fft2d/fft2d.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/fft2d/layout.hpp"
#include "apps/random.hpp"

namespace penstock::apps::fft2d {

std::string_view name(Variant variant) noexcept {
    switch (variant) {
        case Variant::shared:
            return "shared";
        case Variant::bulk:
            return "bulk";
        case Variant::pencils:
            return "pencils";
        case Variant::dma_bulk:
            return "dma-bulk";
        case Variant::dma_pencils:
            return "dma-pencils";
        case Variant::elements:
            return "elements";
        case Variant::push:
            return "push";
        case Variant::pull:
            return "pull";
        case Variant::choice:
            return "choice";
    }
    return "?";
}

void generate(Problem& problem, std::uint32_t seed) {
    Random random{seed};
    for (std::size_t row = 0; row < problem.n; ++row) {
        for (std::size_t column = 0; column < problem.n; ++column) {
            const float real = random.real(0.0f, 1.0f);
            problem.image[row * problem.pitch + column] = {real, random.real(0.0f, 1.0f)};
        }
    }
}

void serial(const Problem& problem, std::span<Complex> result) {
    serial(problem, result, Buffer<Complex>{problem.n * problem.pitch}.span());
}

void serial(const Problem& problem, std::span<Complex> result, std::span<Complex> rows) {
    const std::size_t n = problem.n, pitch = problem.pitch;
    for (std::size_t row = 0; row < n; ++row) problem.plan.transform(&problem.image[row * pitch], &rows[row * pitch]);
    transpose(rows.data(), pitch, result.data(), pitch, n, n);
    for (std::size_t column = 0; column < n; ++column) problem.plan.transform(&result[column * pitch]);
}

double relative_error(const Problem& problem, std::span<const Complex> result, std::size_t samples) {
    using Exact = std::complex<double>;
    const std::size_t n = problem.n, pitch = problem.pitch;
    std::vector<Exact> root(n);  // exp(-2 pi i k / n)
    for (std::size_t k = 0; k < n; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
        root[k] = {std::cos(angle), -std::sin(angle)};
    }
    double square = 0;
    for (std::size_t c = 0; c < n; ++c)
        for (std::size_t r = 0; r < n; ++r) square += std::norm(Exact{result[c * pitch + r]});
    const double scale = std::sqrt(square) / static_cast<double>(n);
    const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(samples))));
    const std::size_t step = std::max<std::size_t>(1, n / side);
    double worst = 0;
    for (std::size_t c = step / 3; c < n; c += step) {
        std::vector<Exact> sums(n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) sums[i] += Exact{problem.image[i * pitch + j]} * root[c * j % n];
        for (std::size_t r = step / 2; r < n; r += step) {
            Exact exact;
            for (std::size_t i = 0; i < n; ++i) exact += sums[i] * root[r * i % n];
            const double error = std::abs(exact - Exact{result[c * pitch + r]});
            worst = worse(error == 0 ? 0 : error / scale, worst);
        }
    }
    return worst;
}

}  // namespace penstock::apps::fft2d
