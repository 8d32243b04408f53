#include "apps/fft2d/plan.hpp"

#include <fftw3.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <string>

#include "apps/buffer.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::fft2d {
namespace {

// FFTW declares that its complex numbers have the layout of these. It does not write to what FFTW_PRESERVE_INPUT
// covers.
fftwf_complex* words(const Complex* row) noexcept {
    return reinterpret_cast<fftwf_complex*>(const_cast<Complex*>(row));
}

/// Of FFTW's planner.
std::mutex& planner() {
    static std::mutex one;
    return one;
}

}  // namespace

Plan::Plan(std::size_t n, Transform rows, Planning planning) : n_{n} {
    if (n == 0 || n > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw UsageError("fft2d: there is no transform of " + std::to_string(n) + " elements; ask for at least 1");
    const Buffer<Complex> from{n}, to{n};
    const auto size = static_cast<int>(n);
    if (rows == Transform::halves) {
        if (n % 2 != 0)
            throw UsageError("fft2d: " + std::to_string(n) +
                             " elements have no halves; ask for an even number, or for whole rows");
        for (std::size_t k = 0; k < n / 2; ++k) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
            cosines_.push_back(static_cast<float>(std::cos(angle)));
            sines_.push_back(static_cast<float>(-std::sin(angle)));
        }
    }
    // Halves: the elements of even number, then those of odd number, two apart in the row and side by side behind it.
    const int parts = cosines_.empty() ? 1 : 2, part = size / parts;
    const auto how = planning == Planning::measured ? FFTW_MEASURE : FFTW_ESTIMATE;
    const std::lock_guard lock{planner()};
    apart_ = fftwf_plan_many_dft(1, &part, parts, words(from.data()), nullptr, parts, 1, words(to.data()), nullptr, 1,
                                 part, FFTW_FORWARD, how | FFTW_PRESERVE_INPUT);
    in_place_ = fftwf_plan_dft_1d(size, words(to.data()), words(to.data()), FFTW_FORWARD, how);
    if (apart_ == nullptr || in_place_ == nullptr)
        throw UsageError("fft2d: FFTW has no plan for " + std::to_string(n) + " elements");
}

Plan::~Plan() {
    const std::lock_guard lock{planner()};
    if (apart_ != nullptr) fftwf_destroy_plan(static_cast<fftwf_plan>(apart_));
    if (in_place_ != nullptr) fftwf_destroy_plan(static_cast<fftwf_plan>(in_place_));
}

void Plan::execute_apart(const Complex* from, Complex* to) const noexcept {
    fftwf_execute_dft(static_cast<fftwf_plan>(apart_), words(from), words(to));
}

void Plan::transform(const Complex* from, Complex* to) const noexcept {
    execute_apart(from, to);
    if (!cosines_.empty()) join(to, [to](std::size_t index, Complex value) { to[index] = value; });
}

void Plan::transform(Complex* row) const noexcept {
    fftwf_execute_dft(static_cast<fftwf_plan>(in_place_), words(row), words(row));
}

}  // namespace penstock::apps::fft2d
