#include "kernels/likelihood.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/likelihood.cpp"
#include "kernels/each_target.hpp"

#if !defined(PENSTOCK_KERNELS_LIKELIHOOD_PLAIN)
#define PENSTOCK_KERNELS_LIKELIHOOD_PLAIN

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace penstock::kernels::likelihood {

/// How many blocks and categories partials have, and codes a tip.
struct Extent {
    std::size_t blocks, categories, codes;
    /// Where the partials of a block's category begin.
    std::size_t place(std::size_t in_block, std::size_t category) const noexcept {
        return (in_block * categories + category) * block * states;
    }
};

/// Of a floating-point number: how many of its bits stand behind its exponent, and what is added to that.
template <class Real>
inline constexpr int mantissa_bits = sizeof(Real) == 4 ? 23 : 52;
template <class Real>
inline constexpr int bias = sizeof(Real) == 4 ? 127 : 1023;

/// What one side of a product is.
enum class Side { inner, tip, there, none };  ///< `there`: what the memory for the result holds already

template <class Real>
struct Operand {
    const Real* partials;
    const std::uint8_t* codes;
    const Real* branch;
};

}  // namespace penstock::kernels::likelihood
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;
namespace lk = penstock::kernels::likelihood;
using lk::block, lk::states, lk::Side;

/// Vectors hold one pattern's states, half of them, or those of two patterns.
template <class Real>
using Tag = hn::CappedTag<Real, 32 / sizeof(Real)>;

/// Element `at` of the pattern in all lanes of that pattern.
template <int at, class Real, class D = Tag<Real>, class V = hn::Vec<D>>
HWY_INLINE V spread(const Real* pattern) {
    const D d;
    if constexpr (sizeof(Real) == 4) return hn::Broadcast<at>(hn::LoadU(d, pattern));
    else return hn::Set(d, pattern[at]);
}

/// The four numbers at `from`, beginning with the lane of this part, for each pattern of a vector.
template <class Real, class D = Tag<Real>, class V = hn::Vec<D>>
HWY_INLINE V column(const Real* from, std::size_t part) {
    const D d;
    if constexpr (sizeof(Real) == 4) return hn::LoadDup128(d, from);
    else return hn::LoadU(d, from + part * hn::Lanes(d));
}

/// What comes over a branch from the child of one kind, for the patterns of one vector. Made for one category.
template <Side side, class Real>
struct From {
    using D = Tag<Real>;
    using V = hn::Vec<D>;
    HWY_INLINE From(const lk::Operand<Real>& operand, const lk::Extent& extent, std::size_t category,
                    std::size_t at_part)
        : part{at_part}, partials{operand.partials}, codes{operand.codes} {
        if constexpr (side == Side::inner) {
            const Real* const matrix = operand.branch + category * states * states;
            c0 = column<Real>(matrix, part), c1 = column<Real>(matrix + 4, part);
            c2 = column<Real>(matrix + 8, part), c3 = column<Real>(matrix + 12, part);
        } else if constexpr (side == Side::tip) {
            table = operand.branch + category * extent.codes * states;
        }
    }
    /// Of the pattern `place` numbers into the partials, which is the `pattern`th of all.
    HWY_INLINE V at(std::size_t place, std::size_t pattern) const {
        const D d;
        if constexpr (side == Side::inner) {
            const Real* const x = partials + place;
            return hn::Add(hn::Add(hn::Mul(c0, spread<0>(x)), hn::Mul(c1, spread<1>(x))),
                           hn::Add(hn::Mul(c2, spread<2>(x)), hn::Mul(c3, spread<3>(x))));
        } else if constexpr (side == Side::tip) {
            if constexpr (sizeof(Real) == 4 && hn::MaxLanes(d) == 8) {
                const hn::Half<D> half;
                return hn::Combine(d, hn::LoadU(half, table + codes[pattern + 1] * states),
                                   hn::LoadU(half, table + codes[pattern] * states));
            } else {
                return column<Real>(table + codes[pattern] * states, part);
            }
        } else {
            return hn::LoadU(d, partials + place + part * hn::Lanes(d));
        }
    }
    V c0, c1, c2, c3;
    std::size_t part;
    const Real* partials;
    const std::uint8_t* codes;
    const Real* table;
};

/// Gives whether it did all.
template <Side left_side, Side right_side, class Real>
std::size_t make_partials(const lk::Operand<Real>& left, const lk::Operand<Real>& right, const lk::Extent& extent,
                          Real* made) {
    const Tag<Real> d;
    constexpr std::size_t lanes = hn::MaxLanes(d), step = lanes > states ? lanes / states : 1;
    constexpr std::size_t parts = lanes < states ? states / lanes : 1;
    for (std::size_t category = 0; category < extent.categories; ++category) {
        for (std::size_t part = 0; part < parts; ++part) {
            const From<left_side, Real> a(left, extent, category, part);
            const From<right_side, Real> b(right, extent, category, part);
            for (std::size_t in_block = 0; in_block < extent.blocks; ++in_block) {
                const std::size_t first = extent.place(in_block, category);
                for (std::size_t p = 0; p < block; p += step) {
                    const std::size_t place = first + p * states, pattern = in_block * block + p;
                    auto value = a.at(place, pattern);
                    if constexpr (right_side != Side::none) value = hn::Mul(value, b.at(place, pattern));
                    hn::StoreU(value, d, made + place + part * lanes);
                }
            }
        }
    }
    return extent.blocks;
}

/// The same in all four lanes of a pattern: the greatest of them.
template <class Real, class D = Tag<Real>, class V = hn::Vec<D>>
HWY_INLINE V greatest_of_four(V v) {
    const D d;
    v = hn::Max(v, hn::Reverse2(d, v));
    if constexpr (hn::MaxLanes(d) >= states) v = hn::Max(v, hn::Reverse4(d, v));
    return v;
}

template <class Real>
std::size_t rescale_blocks(Real* partials, std::int32_t* exponents, const lk::Extent& extent) {
    const Tag<Real> d;
    const hn::RebindToUnsigned<decltype(d)> bits;
    using Bits = hn::TFromD<decltype(bits)>;
    constexpr int mantissa = lk::mantissa_bits<Real>;
    constexpr std::size_t lanes = hn::MaxLanes(d), step = lanes > states ? lanes / states : 1;
    constexpr std::size_t parts = lanes < states ? states / lanes : 1;
    for (std::size_t in_block = 0; in_block < extent.blocks; ++in_block) {
        for (std::size_t p = 0; p < block; p += step) {
            Real* const first = partials + extent.place(in_block, 0) + p * states;
            auto most = hn::Zero(d);
            for (std::size_t category = 0; category < extent.categories; ++category)
                for (std::size_t part = 0; part < parts; ++part)
                    most = hn::Max(most, hn::LoadU(d, first + category * block * states + part * lanes));
            const auto exponent = hn::ShiftRight<mantissa>(hn::BitCast(bits, greatest_of_four<Real>(most)));
            const auto reversed = hn::Sub(hn::Set(bits, static_cast<Bits>(2 * lk::bias<Real>)), exponent);
            const auto factor = hn::BitCast(d, hn::ShiftLeft<mantissa>(reversed));
            for (std::size_t category = 0; category < extent.categories; ++category) {
                for (std::size_t part = 0; part < parts; ++part) {
                    Real* const values = first + category * block * states + part * lanes;
                    hn::StoreU(hn::Mul(hn::LoadU(d, values), factor), d, values);
                }
            }
            HWY_ALIGN Bits found[lanes];
            hn::Store(exponent, bits, found);
            for (std::size_t k = 0; k < step; ++k)
                exponents[in_block * block + p + k] = static_cast<std::int32_t>(found[k * states]) - lk::bias<Real>;
        }
    }
    return extent.blocks;
}

/// sums[pattern of a block][state] of weights times partials.
template <class Real>
std::size_t weigh_block(const lk::Operand<Real>& tip, const Real* partials, const lk::Extent& extent, Real* sums) {
    const Tag<Real> d;
    constexpr std::size_t lanes = hn::MaxLanes(d), step = lanes > states ? lanes / states : 1;
    constexpr std::size_t parts = lanes < states ? states / lanes : 1;
    for (std::size_t category = 0; category < extent.categories; ++category) {
        for (std::size_t part = 0; part < parts; ++part) {
            const From<Side::tip, Real> weights(tip, extent, category, part);
            for (std::size_t p = 0; p < block; p += step) {
                const std::size_t place = p * states + part * lanes;
                const auto values = hn::LoadU(d, partials + category * block * states + place);
                hn::StoreU(hn::Add(hn::LoadU(d, sums + place), hn::Mul(weights.at(0, p), values)), d, sums + place);
            }
        }
    }
    return block;
}

/// Matrices [to][from] of exp(Q t), from exp(values t) of each category; and the least of their numbers in `least`.
inline std::size_t make_matrices(const lk::Spectrum& spectrum, const double* grown, std::size_t categories,
                                 double* made, double& least) {
    const Tag<double> d;
    constexpr std::size_t lanes = hn::MaxLanes(d);
    auto lowest = hn::Set(d, 1.0);
    for (std::size_t category = 0; category < categories; ++category) {
        const double* const e = grown + category * states;
        double* const matrix = made + category * states * states;
        for (std::size_t part = 0; part * lanes < states; ++part) {
            const auto of = [&](std::size_t k) HWY_ATTR {
                return hn::Mul(column<double>(spectrum.vectors + k * states, part), hn::Set(d, e[k]));
            };
            const auto v0 = of(0), v1 = of(1), v2 = of(2), v3 = of(3);
            for (std::size_t to = 0; to < states; ++to) {
                const auto inverse = [&](std::size_t k)
                                         HWY_ATTR { return hn::Set(d, spectrum.inverse[k * states + to]); };
                const auto sum = hn::Add(hn::Add(hn::Mul(v0, inverse(0)), hn::Mul(v1, inverse(1))),
                                         hn::Add(hn::Mul(v2, inverse(2)), hn::Mul(v3, inverse(3))));
                const auto positive = hn::Max(sum, hn::Zero(d));
                lowest = hn::Min(lowest, positive);
                hn::StoreU(positive, d, matrix + to * states + part * lanes);
            }
        }
    }
    HWY_ALIGN double all[lanes];
    hn::Store(lowest, d, all);
    for (const double one : all) least = one < least ? one : least;
    return categories;
}

#else

template <penstock::kernels::likelihood::Side, penstock::kernels::likelihood::Side, class Real>
std::size_t make_partials(const penstock::kernels::likelihood::Operand<Real>&,
                          const penstock::kernels::likelihood::Operand<Real>&,
                          const penstock::kernels::likelihood::Extent&, Real*) {
    return 0;
}

template <class Real>
std::size_t rescale_blocks(Real*, std::int32_t*, const penstock::kernels::likelihood::Extent&) {
    return 0;
}

template <class Real>
std::size_t weigh_block(const penstock::kernels::likelihood::Operand<Real>&, const Real*,
                        const penstock::kernels::likelihood::Extent&, Real*) {
    return 0;
}

inline std::size_t make_matrices(const penstock::kernels::likelihood::Spectrum&, const double*, std::size_t, double*,
                                 double&) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace penstock::kernels::likelihood {
namespace {

/// One number of From, in the same order of operations.
template <Side side, class Real>
Real number(const Operand<Real>& operand, const Extent& extent, std::size_t category, std::size_t place,
            std::size_t pattern, std::size_t state) {
    if constexpr (side == Side::inner) {
        const Real* const m = operand.branch + category * states * states + state;
        const Real* const x = operand.partials + place;
        return (m[0] * x[0] + m[4] * x[1]) + (m[8] * x[2] + m[12] * x[3]);
    } else if constexpr (side == Side::tip) {
        return operand.branch[(category * extent.codes + operand.codes[pattern]) * states + state];
    } else if constexpr (side == Side::there) {
        return operand.partials[place + state];
    } else {
        return 1;
    }
}

template <Side left_side, Side right_side, class Real>
void make(const Operand<Real>& left, const Operand<Real>& right, const Extent& extent, Real* made) {
    const auto vectors = PENSTOCK_PICK(make_partials<left_side, right_side, Real>);
    for (std::size_t in_block = vectors(left, right, extent, made); in_block < extent.blocks; ++in_block) {
        for (std::size_t category = 0; category < extent.categories; ++category) {
            const std::size_t first = extent.place(in_block, category);
            for (std::size_t p = 0; p < block; ++p) {
                const std::size_t place = first + p * states, pattern = in_block * block + p;
                for (std::size_t state = 0; state < states; ++state) {
                    Real value = number<left_side>(left, extent, category, place, pattern, state);
                    if constexpr (right_side != Side::none)
                        value *= number<right_side>(right, extent, category, place, pattern, state);
                    made[place + state] = value;
                }
            }
        }
    }
}

template <class Real>
Operand<Real> operand_of(const Child<Real>& child) {
    return {child.partials.data(), child.codes.data(), child.branch.data()};
}

template <class Real>
Extent extent_of(std::span<const Real> partials, const Child<Real>& tip_or_inner) {
    const bool tip = tip_or_inner.partials.empty();
    const std::size_t patterns = tip ? tip_or_inner.codes.size() : 0;
    const std::size_t categories =
        tip ? partials.size() / (patterns * states) : tip_or_inner.branch.size() / (states * states);
    return {partials.size() / (categories * block * states), categories,
            tip ? tip_or_inner.branch.size() / (categories * states) : 0};
}

}  // namespace

template <class Real>
void combine(const Child<Real>& left, const Child<Real>& right, std::span<Real> made) {
    if (made.empty()) return;
    const bool left_tip = left.partials.empty(), right_tip = right.partials.empty();
    const auto a = operand_of(left), b = operand_of(right);
    const Extent extent = extent_of<Real>(made, left_tip ? left : right);
    if (left_tip && right_tip) make<Side::tip, Side::tip>(a, b, extent, made.data());
    else if (left_tip) make<Side::tip, Side::inner>(a, b, extent, made.data());
    else if (right_tip) make<Side::inner, Side::tip>(a, b, extent, made.data());
    else make<Side::inner, Side::inner>(a, b, extent, made.data());
}

template <class Real>
void propagate(const Child<Real>& child, std::span<Real> made) {
    if (made.empty()) return;
    const Extent extent = extent_of<Real>(made, child);
    if (child.partials.empty()) make<Side::tip, Side::none>(operand_of(child), {}, extent, made.data());
    else make<Side::inner, Side::none>(operand_of(child), {}, extent, made.data());
}

template <class Real>
void multiply(const Child<Real>& child, std::span<Real> made) {
    if (made.empty()) return;
    const Extent extent = extent_of<Real>(made, child);
    const Operand<Real> there{made.data(), nullptr, nullptr};
    if (child.partials.empty()) make<Side::there, Side::tip>(there, operand_of(child), extent, made.data());
    else make<Side::there, Side::inner>(there, operand_of(child), extent, made.data());
}

template <class Real>
void rescale(std::span<Real> partials, std::span<std::int32_t> exponents) {
    using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    if (exponents.empty()) return;
    const Extent extent{exponents.size() / block, partials.size() / (exponents.size() * states), 0};
    const auto vectors = PENSTOCK_PICK(rescale_blocks<Real>);
    for (std::size_t in_block = vectors(partials.data(), exponents.data(), extent); in_block < extent.blocks;
         ++in_block) {
        for (std::size_t p = 0; p < block; ++p) {
            Real* const first = partials.data() + extent.place(in_block, 0) + p * states;
            Real most = 0;
            for (std::size_t category = 0; category < extent.categories; ++category)
                for (std::size_t state = 0; state < states; ++state)
                    most = std::max(most, first[category * block * states + state]);
            // A number below the normal ones has the exponent 0, and so has zero: they get the greatest factor there
            // is.
            const int exponent = static_cast<int>(std::bit_cast<Bits>(most) >> mantissa_bits<Real>);
            const auto reversed = static_cast<Bits>(2 * bias<Real> - exponent);
            exponents[in_block * block + p] = exponent - bias<Real>;
            for (std::size_t category = 0; category < extent.categories; ++category)
                for (std::size_t state = 0; state < states; ++state)
                    first[category * block * states + state] *= std::bit_cast<Real>(reversed << mantissa_bits<Real>);
        }
    }
}

template <class Real>
void log_sites(std::span<const std::uint8_t> codes, std::span<const Real> branch, std::span<const Real> partials,
               std::span<const std::int32_t> exponents, std::span<double> logs) {
    constexpr double log_of_two = 0.693147180559945309417232121458;
    if (logs.empty()) return;
    const std::size_t categories = partials.size() / (logs.size() * states);
    const Extent extent{logs.size() / block, categories, branch.size() / (categories * states)};
    const auto vectors = PENSTOCK_PICK(weigh_block<Real>);
    for (std::size_t in_block = 0; in_block < extent.blocks; ++in_block) {
        Real sums[block * states] = {};
        const Operand<Real> tip{nullptr, codes.data() + in_block * block, branch.data()};
        const Real* const values = partials.data() + extent.place(in_block, 0);
        for (std::size_t p = vectors(tip, values, extent, sums); p < block; ++p)
            for (std::size_t category = 0; category < extent.categories; ++category)
                for (std::size_t state = 0; state < states; ++state)
                    sums[p * states + state] += number<Side::tip>(tip, extent, category, 0, p, state) *
                                                values[(category * block + p) * states + state];
        for (std::size_t p = 0; p < block; ++p) {
            const Real* const of = sums + p * states;
            const std::size_t pattern = in_block * block + p;
            logs[pattern] =
                std::log(static_cast<double>((of[0] + of[1]) + (of[2] + of[3]))) + exponents[pattern] * log_of_two;
        }
    }
}

double transitions(const Spectrum& spectrum, double length, std::span<const double> rates, std::span<double> made) {
    if (length == 0) {  // rounding would leave a little beside the diagonal, and so make the impossible possible
        for (std::size_t i = 0; i < made.size(); ++i) made[i] = i % (states * states) % (states + 1) == 0 ? 1 : 0;
        return 0;
    }
    double grown[most_categories * states];
    for (std::size_t category = 0; category < rates.size(); ++category)
        for (std::size_t k = 0; k < states; ++k)
            grown[category * states + k] =
                spectrum.values[k] == 0 ? 1.0 : std::exp(spectrum.values[k] * length * rates[category]);
    double least = 1;
    const auto vectors = PENSTOCK_PICK(make_matrices);
    for (std::size_t category = vectors(spectrum, grown, rates.size(), made.data(), least); category < rates.size();
         ++category) {
        const double* const e = grown + category * states;
        for (std::size_t i = 0; i < states * states; ++i) {
            const std::size_t to = i / states, from = i % states;
            const auto part = [&](std::size_t k) {
                return spectrum.vectors[k * states + from] * e[k] * spectrum.inverse[k * states + to];
            };
            const double value = std::max((part(0) + part(1)) + (part(2) + part(3)), 0.0);
            made[category * states * states + i] = value;
            least = std::min(least, value);
        }
    }
    return least;
}

template <class Real>
void lead_to(std::span<const double> matrices, std::span<const std::uint8_t> sets, std::span<const double> weights,
             std::span<Real> made) {
    constexpr std::uint8_t all = (1 << states) - 1;
    Real* row = made.data();
    for (const double* matrix = matrices.data(); matrix != matrices.data() + matrices.size();
         matrix += states * states) {
        for (const std::uint8_t set : sets) {
            double sums[states] = {};
            if (set == all) std::fill_n(sums, states, 1.0);
            for (unsigned rest = set == all ? 0u : set; rest != 0; rest &= rest - 1) {
                const double* const one = matrix + static_cast<std::size_t>(std::countr_zero(rest)) * states;
                for (std::size_t from = 0; from < states; ++from) sums[from] += one[from];
            }
            for (std::size_t from = 0; from < states; ++from) row[from] = static_cast<Real>(sums[from] * weights[from]);
            row += states;
        }
    }
}

#define PENSTOCK_FOR(Real)                                                                                 \
    template void combine(const Child<Real>&, const Child<Real>&, std::span<Real>);                        \
    template void propagate(const Child<Real>&, std::span<Real>);                                          \
    template void multiply(const Child<Real>&, std::span<Real>);                                           \
    template void rescale(std::span<Real>, std::span<std::int32_t>);                                       \
    template void log_sites(std::span<const std::uint8_t>, std::span<const Real>, std::span<const Real>,   \
                            std::span<const std::int32_t>, std::span<double>);                             \
    template void lead_to(std::span<const double>, std::span<const std::uint8_t>, std::span<const double>, \
                          std::span<Real>)
PENSTOCK_FOR(float);
PENSTOCK_FOR(double);
#undef PENSTOCK_FOR

}  // namespace penstock::kernels::likelihood

#endif
