// A Markov chain over trees and the parameters of a model, whose long run is their posterior distribution (Metropolis
// and Hastings), in the manner of PBPI and MrBayes.
//
// Prior: all shapes of trees alike; lengths exponential; shares of bases and GTR's rates uniform over all that add up
// to 1; kappa / (1 + kappa) uniform; alpha exponential of mean 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "apps/likelihood/branches.hpp"
#include "apps/likelihood/made.hpp"
#include "apps/likelihood/partials.hpp"

namespace penstock::apps::likelihood {

/// What a chain may change in one generation.
enum class Move : std::uint8_t { length, neighbours, regraft, scale, alpha, kappa, shares, rates };
inline constexpr std::size_t moves = 8;
std::string_view name(Move move) noexcept;

/// The logarithms of the prior's density, without what is the same for all.
double log_prior(const Tree& tree, const Model& model, double mean_length);

template <class Real>
class Chain {
  public:
    /// Deals out 0 ... n in ranges; see Likelihood::evaluate.
    using Spread = std::function<void(std::size_t n, const std::function<void(const Range&)>& body)>;

    /// Begins at this tree and model. `patterns` must live as long as this. An empty `spread`: alone.
    Chain(const Patterns& patterns, const Tree& tree, const Model& model, double mean_length, std::uint64_t seed,
          Spread spread = {});

    /// One proposal, which is taken or not. `heat` in (0, 1]: 1 samples the posterior itself, less a flatter one.
    void step(double heat);

    const Tree& tree() const noexcept { return tree_; }
    const Model& model() const noexcept { return model_; }
    double log_likelihood() const noexcept { return log_likelihood_; }
    double log_prior() const noexcept { return log_prior_; }
    double log_posterior() const noexcept { return log_likelihood_ + log_prior_; }

    struct Count {
        std::uint64_t proposed = 0, taken = 0;
    };
    const std::array<Count, moves>& counts() const noexcept { return counts_; }

  private:
    /// Changes tree or model and says what is to be computed again; gives the logarithm of Hastings' ratio, or minus
    /// infinity for what cannot be.
    double propose(Move move);
    double change_length();
    double change_neighbours();
    double regraft();
    double scale();
    double change_shares(std::span<double> shares);
    double multiply(double& value);

    /// From this inner node to top() all are to be computed again.
    void touch_up(Node inner);
    void touch_all();
    void compute();
    void take_back();

    Tree tree_, tree_before_;
    Model model_, model_before_;
    double mean_length_;
    Chance chance_;
    Spread spread_;
    Branches<Real> branches_;
    Partials<Real> partials_;
    std::vector<double> logs_;
    double log_likelihood_ = 0, log_prior_ = 0;
    std::vector<Move> choices_;  ///< each as often as its weight
    // Of the proposal under way.
    std::vector<Node> touched_nodes_, touched_branches_;
    bool model_touched_ = false;
    std::array<Count, moves> counts_{};
};

}  // namespace penstock::apps::likelihood
