// The likelihood of a tree, by Felsenstein's pruning (Tagged Procedure Calls, section 4.4: PBPI).
//
// An evaluation is one loop over ranges of patterns and a sum. For each range the whole tree is gone through, children
// first, so that what a node needs was written into the cache a moment ago. Each thread computes the branches for
// itself: 8 us for 42 sequences, where fetching half of them from another core takes 25 us (`./bench likelihood`: by
// hand, OpenMP). How many take part, and who takes which range, changes no bit of the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/likelihood/branches.hpp"

namespace penstock::apps::likelihood {

template <class Real>
class Likelihood {
  public:
    /// As Branches.
    Likelihood(const Patterns& patterns, std::size_t categories);

    const Patterns& patterns() const noexcept { return branches_.patterns(); }
    std::size_t blocks() const noexcept { return patterns().blocks(); }

    /// From now on.
    void set_model(const Model& model) { branches_.set_model(model); }

    /// The logarithm of the likelihood. `order` is that of a tree of this shape. `spread(n, body)` calls body(Range)
    /// for ranges that together are 0 ... n, in any order, on any threads, and returns when all have returned. A thread
    /// keeps memory for the branches, for its next evaluation.
    template <class Spread>
    double evaluate(const Tree& tree, const Order& order, Spread&& spread) {
        const std::uint64_t number = next_number();
        spread(blocks(), [&](const Range& range) { prune(tree, order, number, range); });
        return sum();
    }
    double evaluate(const Tree& tree) {
        return evaluate(tree, Order(tree), [](std::size_t n, auto&& body) { body(Range{0, n}); });
    }

    /// The branches that all threads see, for whoever goes another way; and what the patterns add, as he found it.
    Branches<Real>& branches() noexcept { return branches_; }
    const Branches<Real>& branches() const noexcept { return branches_; }
    std::span<double> logs() noexcept { return logs_.span(); }

    /// The logarithm of the likelihood, from what the patterns add.
    double sum() const noexcept { return weighted_sum(patterns(), logs_.span()); }
    /// What each pattern added in the last evaluation.
    std::span<const double> site_logs() const noexcept { return logs_.span().first(patterns().count()); }

  private:
    /// Unlike any before, of all likelihoods.
    static std::uint64_t next_number() noexcept;
    /// With this thread's own branches, which are computed where they are not those of this evaluation yet.
    void prune(const Tree& tree, const Order& order, std::uint64_t number, const Range& range);

    Branches<Real> branches_;
    Buffer<double> logs_;
};

}  // namespace penstock::apps::likelihood
