// The one-dimensional transform that every variant uses: FFTW's, in single precision.
#pragma once

#include <complex>
#include <cstddef>

namespace penstock::apps::fft2d {

using Complex = std::complex<float>;

/// Plans of FFTW for rows of n elements. Made by one thread at a time (FFTW's planner is not made for more); used by
/// any, and by processes that were forked after it was made. All rows begin at lines of 64 bytes.
class Plan {
  public:
    /// Throws UsageError for n = 0. Costs milliseconds: FFTW measures what is fastest here.
    explicit Plan(std::size_t n);
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    std::size_t size() const noexcept { return n_; }
    /// The forward transform, not scaled. `from` is kept; the two must not overlap.
    void transform(const Complex* from, Complex* to) const noexcept;
    /// The same in place.
    void transform(Complex* row) const noexcept;

  private:
    std::size_t n_;
    void* apart_ = nullptr;
    void* in_place_ = nullptr;
};

}  // namespace penstock::apps::fft2d
