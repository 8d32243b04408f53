// Felsenstein's pruning over four states (Felsenstein, J. Mol. Evol. 17, 1981): the conditional likelihoods of an inner
// node of a tree from those of its two children. They are called partials here.
//
// Patterns (columns of an alignment that occur once) lie in blocks of 16, the last one filled up. Partials are
// [block][category of rates][pattern of the block][state], so a range of blocks is one piece of memory. Each number
// comes from the same operations in the same order with every instruction set and for every range of blocks: the same
// bits however the work is dealt out. `Real` is float or double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::kernels::likelihood {

inline constexpr std::size_t states = 4;
inline constexpr std::size_t block = 16;            ///< patterns
inline constexpr std::size_t most_categories = 64;  ///< of rates

/// A child of a node, for the same range of blocks as the node's own partials, and what the branch to it does.
template <class Real>
struct Child {
    /// Of an inner node; empty for a tip.
    std::span<const Real> partials;
    /// Of a tip: which of its codes each pattern has. Empty for an inner node.
    std::span<const std::uint8_t> codes;
    /// Inner node: the probabilities of the branch, [category][to][from]. Tip: those that lead to each of its codes,
    /// [category][code][from].
    std::span<const Real> branch;
};

/// The partials of a node with these children.
template <class Real>
void combine(const Child<Real>& left, const Child<Real>& right, std::span<Real> made);

/// The same in two steps: what comes over the branch of one child, and then times what comes over that of the other.
template <class Real>
void propagate(const Child<Real>& child, std::span<Real> made);
template <class Real>
void multiply(const Child<Real>& child, std::span<Real> made);

/// Divides the partials of each pattern by a power of two, so that the greatest lies in [1, 2). Writes the exponents,
/// one for each pattern. Exact.
template <class Real>
void rescale(std::span<Real> partials, std::span<std::int32_t> exponents);

/// The logarithm of each pattern's likelihood, seen from a tip: the sum over categories and states of `partials`, those
/// of the inner node next to it, times `branch` at the tip's codes; times 2 to the power of `exponents`.
template <class Real>
void log_sites(std::span<const std::uint8_t> codes, std::span<const Real> branch, std::span<const Real> partials,
               std::span<const std::int32_t> exponents, std::span<double> logs);

/// A matrix of rates Q = V diag(values) V^-1.
struct Spectrum {
    double values[states];
    double vectors[states * states];  ///< [k][i]: column k of V
    double inverse[states * states];  ///< [k][j]: row k of V^-1
};

/// The probabilities of a branch, [category][to][from], none below 0: exp(Q length rate) for each of the rates. Gives
/// the least of them.
double transitions(const Spectrum& spectrum, double length, std::span<const double> rates, std::span<double> made);

/// The branch of a tip from such probabilities, [category][set][from]: for each set of states (bits) the sum over its
/// members, 1 for all four, times the weight of `from`.
template <class Real>
void lead_to(std::span<const double> matrices, std::span<const std::uint8_t> sets, std::span<const double> weights,
             std::span<Real> made);

}  // namespace penstock::kernels::likelihood
