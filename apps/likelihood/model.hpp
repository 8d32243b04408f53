// How bases change along a branch: time-reversible models with rates that differ between sites.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/likelihood.hpp"

namespace penstock::apps::likelihood {

/// Models by their parameters. JC69: none. HKY85: the shares of the bases, and kappa. GTR: the shares, and six rates.
enum class Kind { jc69, hky85, gtr };

/// "JC69", "HKY85", "GTR".
std::string_view name(Kind kind) noexcept;

/// A model with its parameters.
struct Model {
    Kind kind = Kind::jc69;
    std::array<double, 4> shares{0.25, 0.25, 0.25, 0.25};  ///< of A, C, G, T in the long run
    double kappa = 1;                                      ///< HKY85: rate of A-G and C-T over that of the others
    std::array<double, 6> rates{1, 1, 1, 1, 1, 1};         ///< GTR: of A-C, A-G, A-T, C-G, C-T, G-T
    double alpha = 1;                                      ///< shape of the gamma distribution of rates between sites
    std::size_t categories = 1;                            ///< of rates; 1: all sites have the same

    /// The spectrum of its matrix of rates, with one change a site in a unit of length.
    kernels::likelihood::Spectrum spectrum() const;

    /// The rate of each category: the mean of a gamma distribution (of mean 1) between two of its quantiles (Yang, J.
    /// Mol. Evol. 39, 1994).
    std::vector<double> category_rates() const;

    friend bool operator==(const Model&, const Model&) = default;
};

/// The share of a gamma distribution of this shape and scale 1 that lies below x.
double gamma_share(double shape, double x);

/// The x below which this share lies.
double gamma_quantile(double shape, double share);

}  // namespace penstock::apps::likelihood
