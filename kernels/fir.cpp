#include "kernels/fir.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace penstock::kernels {

template <class T>
void fir(std::span<const T> samples, std::span<const float> taps, std::span<T> out, std::size_t step) {
    if (taps.empty() || step == 0) throw std::invalid_argument("fir: give it one tap or more, and a step of 1 or more");
    if (out.empty()) return;
    if (samples.size() < (out.size() - 1) * step + taps.size())
        throw std::invalid_argument("fir: " + std::to_string(samples.size()) + " samples are too few for " +
                                    std::to_string(out.size()) + " results of " + std::to_string(taps.size()) +
                                    " taps");
    constexpr std::size_t side_by_side = 16;  // sums that do not wait for one another
    const auto n = taps.size();
    std::size_t i = 0;
    if (step == 1) {
        for (; i + side_by_side <= out.size(); i += side_by_side) {
            T sums[side_by_side]{};
            for (std::size_t k = 0; k < n; ++k) {
                const float tap = taps[n - 1 - k];
                const T* const at = samples.data() + i + k;
                for (std::size_t j = 0; j < side_by_side; ++j) sums[j] += tap * at[j];
            }
            for (std::size_t j = 0; j < side_by_side; ++j) out[i + j] = sums[j];
        }
    }
    for (; i < out.size(); ++i) {
        T sum{};
        for (std::size_t k = 0; k < n; ++k) sum += taps[n - 1 - k] * samples[i * step + k];
        out[i] = sum;
    }
}

template void fir(std::span<const float>, std::span<const float>, std::span<float>, std::size_t);
template void fir(std::span<const std::complex<float>>, std::span<const float>, std::span<std::complex<float>>,
                  std::size_t);

}  // namespace penstock::kernels
