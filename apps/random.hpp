// The pseudo-random numbers of POSIX (srand48, lrand48, drand48), as values instead of one hidden state: the inputs of
// the SPLASH-2 applications are defined by them, and every system must make the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::apps {

/// One sequence of the 48-bit linear congruential generator of POSIX.
class Random {
  public:
    /// As srand48(seed).
    explicit Random(std::uint32_t seed) noexcept : state_{(std::uint64_t{seed} << 16) | 0x330E} {}

    /// As lrand48(): 0 to 2^31 - 1.
    std::int32_t integer() noexcept { return static_cast<std::int32_t>(next() >> 17); }

    /// As drand48(): 0 up to but not 1.
    double real() noexcept { return static_cast<double>(next()) * 0x1p-48; }

    /// A float in [low, high).
    float real(float low, float high) noexcept {
        return low + (high - low) * static_cast<float>(next() >> 24) * 0x1p-24f;
    }

  private:
    std::uint64_t next() noexcept { return state_ = (state_ * 0x5DEECE66D + 0xB) & 0xFFFF'FFFF'FFFF; }

    std::uint64_t state_;
};

/// Fills `values` with what the caller gave, or, where that is null, with numbers in [low, high).
inline void fill(std::span<float> values, const std::vector<float>* given, Random& random, float low, float high) {
    if (given != nullptr) {
        std::copy(given->begin(), given->end(), values.begin());
    } else {
        for (float& value : values) value = random.real(low, high);
    }
}

}  // namespace penstock::apps
