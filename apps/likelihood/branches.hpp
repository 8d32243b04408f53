// What the branches of a tree do under a model, and the partials of its nodes from it.
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

/// The probabilities of all branches of a tree. `Real`, float or double, is the type of the partials.
template <class Real>
class Branches {
  public:
    /// `patterns` must live as long as this. `categories` of rates: Model::categories of each model, 64 at most.
    Branches(const Patterns& patterns, std::size_t categories);

    const Patterns& patterns() const noexcept { return *patterns_; }
    std::size_t categories() const noexcept { return rates_.size(); }
    /// How many numbers the partials of a block are.
    std::size_t block_size() const noexcept {
        return categories() * kernels::likelihood::block * kernels::likelihood::states;
    }

    /// From now on. All branches are to be computed again.
    void set_model(const Model& model);
    /// Takes over the patterns and the model of the other. Memory is allotted only where sizes differ.
    void follow(const Branches& other);

    /// The branch above this node, or above all.
    void compute(const Tree& tree, Node node);
    void compute(const Tree& tree);
    /// What is to be rescaled, by the branches as they are. `nodes` come behind their children, or these have been
    /// planned before. bound(node) is where a power of two is kept that the node's greatest partial is not below.
    template <class Bound>
    std::vector<Step> plan(const Tree& tree, std::span<const Node> nodes, Bound&& bound) const {
        std::vector<Step> steps;
        steps.reserve(nodes.size());
        for (const Node node : nodes) {
            std::int32_t least = 0;
            for (const Node child : tree.children(node))
                least += (tree.is_tip(child) ? 0 : bound(child)) + least_[index(child)];
            const bool rescaled = least < rescale_below;
            bound(node) = rescaled ? 0 : least;
            steps.push_back({node, rescaled});
        }
        return steps;
    }
    /// The same for a whole tree.
    std::vector<Step> plan(const Tree& tree, std::span<const Node> nodes) {
        return plan(tree, nodes, [&](Node node) -> std::int32_t& { return bound_[node]; });
    }

    /// A child for kernels::likelihood; `partials` of an inner node, for this range of blocks.
    kernels::likelihood::Child<Real> child(const Tree& tree, Node node, std::span<const Real> partials,
                                           const Range& range) const;
    /// What each of the patterns of these blocks adds to the logarithm of the likelihood, from the partials of top()
    /// and the sums of all exponents. `logs` are those of all patterns.
    void add_sites(const Tree& tree, std::span<const Real> partials, std::span<const std::int32_t> exponents,
                   const Range& range, std::span<double> logs) const;
    /// The same from the tips on, a piece of the patterns after another, each through the whole tree: its partials stay
    /// in the caches, and are not kept. `steps` are planned of this order.
    void prune(const Tree& tree, const Order& order, std::span<const Step> steps, const Range& range,
               std::span<double> logs) const;

    /// Branches have two copies. What is computed for this one from now on goes into its other copy.
    void flip(Node node) noexcept { copy_[node] ^= 1; }

  private:
    /// A node is rescaled when its partials may have become smaller than two to this power. Two such children and their
    /// branches must not underflow: 2^-1022 is the least normal double, and 2^-126 the least normal float.
    static constexpr std::int32_t rescale_below = sizeof(Real) == 4 ? -30 : -400;
    /// Less than any probability is rounded to.
    static constexpr std::int32_t least_of_zero = -1100;

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
    std::vector<std::uint8_t> copy_;
    // The power of two that no probability of a branch is below, and that the greatest partial of a node is not below.
    std::vector<std::int32_t> least_, bound_;
};

}  // namespace penstock::apps::likelihood
