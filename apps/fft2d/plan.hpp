// The one-dimensional transform that every variant uses: FFTW's, in single precision.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::apps::fft2d {

using Complex = std::complex<float>;

/// How FFTW is asked for the transform of a row.
enum class Transform : std::uint8_t {
    whole,  ///< at once: its numbers are seen when the row is done
    /// FFTW transforms the elements of even and of odd number, and the last pass, which joins them, is ours: a number
    /// can go where it is wanted from the registers in which it was computed. A row takes nearly twice as long.
    halves,
};

/// How FFTW chooses among its algorithms, whose last bits differ.
enum class Planning : std::uint8_t {
    measured,   ///< by what is fastest here and now
    estimated,  ///< without measuring: the same one in each process on such a processor
};

/// Plans of FFTW for rows of n elements. Made by any thread, one after the other (FFTW's planner is not made for more);
/// used by any, and by processes that were forked after it was made. All rows begin at lines of 64 bytes.
class Plan {
  public:
    /// `rows` says how rows are transformed that are kept; those in place are transformed whole. Throws UsageError for
    /// n = 0, and for halves of an odd number. Costs milliseconds where it measures.
    explicit Plan(std::size_t n, Transform rows = Transform::whole, Planning planning = Planning::measured);
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    std::size_t size() const noexcept { return n_; }
    Transform rows() const noexcept { return cosines_.empty() ? Transform::whole : Transform::halves; }
    /// The forward transform, not scaled. `from` is kept; the two must not overlap.
    void transform(const Complex* from, Complex* to) const noexcept;
    /// The same, with the same bits, where each number goes to store(index, value): by halves when it is computed, of a
    /// whole row when the row is done. `scratch` is as long as the row.
    template <class Store>
    void transform_each(const Complex* from, Complex* scratch, Store&& store) const {
        execute_apart(from, scratch);
        if (cosines_.empty())
            for (std::size_t index = 0; index < n_; ++index) store(index, scratch[index]);
        else join(scratch, store);
    }
    /// The transform in place.
    void transform(Complex* row) const noexcept;

  private:
    void execute_apart(const Complex* from, Complex* to) const noexcept;

    /// The last pass over the transforms of the elements of even and of odd number.
    template <class Store>
    void join(const Complex* halves, Store&& store) const {
        const std::size_t half = n_ / 2;
        for (std::size_t k = 0; k < half; ++k) {
            const Complex even = halves[k], odd = halves[half + k];
            const float cosine = cosines_[k], sine = sines_[k];
            const Complex turned{odd.real() * cosine - odd.imag() * sine, odd.real() * sine + odd.imag() * cosine};
            store(k, even + turned);
            store(half + k, even - turned);
        }
    }

    std::size_t n_;
    /// exp(-2 pi i k / n), where rows are joined of halves. Apart: of complex numbers g++ 12 makes vectors by way of
    /// the stack, which takes five times as long.
    std::vector<float> cosines_, sines_;
    void* apart_ = nullptr;
    void* in_place_ = nullptr;
};

}  // namespace penstock::apps::fft2d
