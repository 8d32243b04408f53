// The likelihood of a tree, by Felsenstein's pruning (Tagged Procedure Calls, section 4.4: PBPI).
//
// One evaluation has two loops and a sum: over the branches, whose probabilities do not depend on one another; and over
// ranges of patterns, for each of which the whole tree is gone through, children first, so that what a node needs was
// written into the cache a moment ago. How many take part, and who takes which range, changes no bit of the result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/likelihood/model.hpp"
#include "apps/likelihood/patterns.hpp"
#include "apps/likelihood/tree.hpp"
#include "apps/team.hpp"
#include "kernels/likelihood.hpp"

namespace penstock::apps::likelihood {

/// A node that is computed, and whether its partials are then divided by powers of two, so that they do not underflow.
struct Step {
    Node node;
    bool rescaled;
    friend bool operator==(const Step&, const Step&) = default;
};

/// The branches of a tree under a model, and what each pattern adds to the likelihood. `Real`, float or double, is the
/// type of the partials.
template <class Real>
class Likelihood {
  public:
    /// `patterns` must live as long as this. `categories` of rates: Model::categories of each model, 64 at most.
    Likelihood(const Patterns& patterns, std::size_t categories);

    const Patterns& patterns() const noexcept { return *patterns_; }
    std::size_t blocks() const noexcept { return patterns_->blocks(); }
    std::size_t categories() const noexcept { return rates_.size(); }

    /// From now on. All branches are to be computed again.
    void set_model(const Model& model);

    /// The logarithm of the likelihood. `order` is that of a tree of this shape. `spread(n, body)` calls body(Range)
    /// for ranges that together are 0 ... n, in any order, on any threads, and returns when all have returned. Nothing
    /// is kept of the partials: they stay in the caches.
    template <class Spread>
    double evaluate(const Tree& tree, const Order& order, Spread&& spread) {
        spread(tree.branches(), [&](const Range& range) { compute_branches(tree, range); });
        const auto steps = plan(tree, order.nodes);
        spread(blocks(), [&](const Range& range) { compute(tree, order, steps, range); });
        return sum();
    }
    double evaluate(const Tree& tree) {
        return evaluate(tree, Order(tree), [](std::size_t n, auto&& body) { body(Range{0, n}); });
    }

    // The parts of an evaluation, for whoever orders them otherwise.

    /// The probabilities of the branches above the nodes 1 + range.begin ... range.end.
    void compute_branches(const Tree& tree, const Range& range);
    void compute_branch(const Tree& tree, Node node);
    /// What is to be rescaled, by the branches as they are. `nodes` come behind their children, or these have been
    /// planned before.
    std::vector<Step> plan(const Tree& tree, std::span<const Node> nodes);
    /// What each of the patterns of these blocks adds; `steps` are planned of this order.
    void compute(const Tree& tree, const Order& order, std::span<const Step> steps, const Range& range);
    /// The same from the partials of top() and the sums of all exponents.
    void compute_sites(const Tree& tree, std::span<const Real> partials, std::span<const std::int32_t> exponents,
                       const Range& range);
    /// The logarithm of the likelihood, from what the patterns add.
    double sum() const noexcept;
    /// What each pattern added in the last evaluation.
    std::span<const double> site_logs() const noexcept { return logs_.span().first(patterns_->count()); }

    /// A child for kernels::likelihood; `partials` of an inner node, for this range of blocks.
    kernels::likelihood::Child<Real> child(const Tree& tree, Node node, std::span<const Real> partials,
                                           const Range& range) const;
    /// How many numbers the partials of a block are.
    std::size_t block_size() const noexcept {
        return categories() * kernels::likelihood::block * kernels::likelihood::states;
    }

    /// Branches have two copies. What is computed for this one from now on goes into its other copy.
    void flip_branch(Node node) noexcept { copy_[node] ^= 1; }

  private:
    std::size_t index(Node node) const noexcept { return copy_[node] * copy_.size() + node; }
    std::span<Real> branch(Node node) const {
        return branches_.span().subspan(index(node) * branch_size_, branch_size_);
    }
    /// The part of it that a tip uses, and top() towards tip 0.
    std::span<Real> table(Node node) const {
        return branch(node).first(categories() * patterns_->bases().size() * kernels::likelihood::states);
    }

    const Patterns* patterns_;
    kernels::likelihood::Spectrum spectrum_{};
    std::array<double, 4> top_weights_{};  // of the bases at top()
    std::vector<double> rates_;
    std::size_t branch_size_;
    Buffer<Real> branches_;
    Buffer<double> logs_;
    std::vector<std::uint8_t> copy_;
    // The power of two that no probability of a branch is below, and that the greatest partial of a node is not below.
    std::vector<std::int32_t> least_, bound_;
};

}  // namespace penstock::apps::likelihood
