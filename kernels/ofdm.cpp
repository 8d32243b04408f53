#include "kernels/ofdm.hpp"

#include "kernels/ofdm_loops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ofdm.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if defined(HWY_TARGET) && HWY_TARGET == HWY_AVX2
using Vector = ofdm::loops::Eight;
#else
using Vector = ofdm::loops::Four;
#endif

// Each gives 1: all is done.
std::size_t ofdm_lay(const ofdm::Sample* samples, std::size_t pitch, std::size_t count, const ofdm::Sample* rotation,
                     std::size_t n, float* re, float* im) {
    return ofdm::loops::lay_side_by_side(samples, pitch, count, rotation, n, re, im), 1;
}
std::size_t ofdm_fourier(std::size_t n, const ofdm::Sample* roots, ofdm::Block* data, ofdm::Block* scratch) {
    return ofdm::loops::fourier<Vector>(n, roots, *data, *scratch), 1;
}
std::size_t ofdm_equalise(const ofdm::ConstBlock* from, const ofdm::Carrier* carriers, std::size_t count,
                          const ofdm::Sample* turn, const ofdm::Sample* step, const ofdm::Block* to) {
    return ofdm::loops::equalise<Vector>(*from, carriers, count, turn, step, *to), 1;
}
std::size_t ofdm_soft(const ofdm::ConstBlock* from, const float* unit, std::size_t count, std::size_t bits, float scale,
                      std::int8_t* to) {
    return ofdm::loops::soft_bits<Vector>(*from, unit, count, bits, scale, to), 1;
}
std::size_t ofdm_correlate(const ofdm::ConstBlock* x, const ofdm::Sample* pattern, std::size_t length, ofdm::Sample* to,
                           std::size_t count) {
    return ofdm::loops::correlate<Vector>(*x, pattern, length, to, count), 1;
}
std::size_t ofdm_later(const ofdm::Sample* x, std::size_t lag, std::size_t count, ofdm::Correlation* to) {
    return ofdm::loops::correlate_with_later(x, lag, count, to), 1;
}

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <bit>
#include <stdexcept>

namespace penstock::kernels::ofdm {

using loops::Four;

void lay_side_by_side(const Sample* samples, std::size_t pitch, std::size_t count, std::span<const Sample> rotation,
                      Block to) {
    if (count > side || rotation.size() % 2 != 0)
        throw std::invalid_argument("ofdm::lay_side_by_side: a block holds eight stretches of an even length");
    if (PENSTOCK_PICK(ofdm_lay)(samples, pitch, count, rotation.data(), rotation.size(), to.re, to.im) == 0)
        loops::lay_side_by_side(samples, pitch, count, rotation.data(), rotation.size(), to.re, to.im);
}

Block fourier(std::size_t n, std::span<const Sample> roots, Block data, Block scratch) {
    if (!std::has_single_bit(n) || std::countr_zero(n) % 2 != 0 || roots.size() != n)
        throw std::invalid_argument(
            "ofdm::fourier: the number of elements is a power of four, and as many roots are needed");
    if (PENSTOCK_PICK(ofdm_fourier)(n, roots.data(), &data, &scratch) == 0)
        loops::fourier<Four>(n, roots.data(), data, scratch);
    return data;
}

void equalise(ConstBlock from, std::span<const Carrier> carriers, const std::array<Sample, side>& turn,
              const std::array<Sample, side>& step, Block to) {
    if (PENSTOCK_PICK(ofdm_equalise)(&from, carriers.data(), carriers.size(), turn.data(), step.data(), &to) == 0)
        loops::equalise<Four>(from, carriers.data(), carriers.size(), turn.data(), step.data(), to);
}

void soft_bits(ConstBlock carriers, std::span<const float> unit, std::size_t bits, float scale, std::int8_t* to) {
    if (bits != 1 && bits != 2 && bits != 4 && bits != 6)
        throw std::invalid_argument("ofdm::soft_bits: a carrier has 1, 2, 4 or 6 bits");
    if (PENSTOCK_PICK(ofdm_soft)(&carriers, unit.data(), unit.size(), bits, scale, to) == 0)
        loops::soft_bits<Four>(carriers, unit.data(), unit.size(), bits, scale, to);
}

void correlate(ConstBlock x, std::span<const Sample> pattern, std::span<Sample> to) {
    if (to.size() % side != 0) throw std::invalid_argument("ofdm::correlate: ask for a multiple of eight places");
    if (PENSTOCK_PICK(ofdm_correlate)(&x, pattern.data(), pattern.size(), to.data(), to.size()) == 0)
        loops::correlate<Four>(x, pattern.data(), pattern.size(), to.data(), to.size());
}

Correlation correlate_with_later(const Sample* x, std::size_t lag, std::size_t count) {
    if (count % side != 0) throw std::invalid_argument("ofdm::correlate_with_later: give a multiple of eight");
    Correlation found;
    if (PENSTOCK_PICK(ofdm_later)(x, lag, count, &found) == 0) loops::correlate_with_later(x, lag, count, &found);
    return found;
}

}  // namespace penstock::kernels::ofdm

#endif
