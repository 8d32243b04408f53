// Several Markov chains over trees, of which one samples the posterior and the others flatter ones; now and then two
// exchange their heats (Metropolis-coupled chains, as in PBPI and MrBayes). Chains are dealt out to ranks, which send
// one another what an exchange needs to know and, to rank 0, the samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/likelihood/chain.hpp"
#include "apps/likelihood/patterns.hpp"

namespace penstock::apps::likelihood {

/// What is to be sampled. The samples follow from these alone but for `ranks`, which changes nothing in them.
struct Sampling {
    std::uint64_t generations = 10'000;
    std::uint64_t every = 100;  ///< generations from one sample to the next
    std::size_t chains = 4;
    int ranks = 1;                  ///< threads that share the chains, at most one for each
    double temperature = 0.1;       ///< chain i has the heat 1 / (1 + i temperature) at first
    std::uint64_t swap_every = 10;  ///< generations from one wish to exchange heats to the next
    double mean_length = 0.1;       ///< of branches, by the prior
    std::uint64_t seed = 1;
    bool single_precision = false;
};

/// The state of the chain whose heat is 1.
struct Sample {
    std::uint64_t generation = 0;
    double log_likelihood = 0, log_prior = 0;
    Tree tree;
    Model model;
};

/// What happened in all chains together.
struct Tally {
    std::array<std::uint64_t, moves> proposed{}, taken{};
    std::uint64_t swaps_proposed = 0, swaps_taken = 0;
};

/// Samples, the start included. `take` is called for each sample in their order, on one thread at a time; `watch` on
/// the caller's, some times a second, with the fraction done. Either may throw to give up. Throws UsageError for
/// numbers that make no sense; as spmd().
Tally sample(const Patterns& patterns, const Tree& tree, const Model& model, const Sampling& sampling,
             const std::function<void(const Sample&)>& take, const std::function<void(double)>& watch = {});

/// The trace of the parameters, tab-separated, as Tracer reads it: the line above the first sample, and that of a
/// sample.
std::string trace_head(const Model& model);
std::string trace_line(const Sample& sample);

/// Which branches samples have in common.
class Consensus {
  public:
    explicit Consensus(std::size_t taxa) : taxa_{taxa} {}

    void add(const Tree& tree);
    std::size_t trees() const noexcept { return trees_; }
    /// The tree of all branches that more than half of the trees have, in Newick's form: the share of trees that have
    /// it behind each, and the mean of its lengths.
    std::string newick(std::span<const std::string> names) const;
    /// How many trees had each shape (shape_of()), the most frequent first.
    std::vector<std::pair<std::string, std::size_t>> shapes() const;

  private:
    struct Split {
        std::size_t count = 0;
        double length = 0;  ///< of all together
    };
    std::size_t taxa_, trees_ = 0;
    std::map<std::vector<Node>, Split> splits_;  ///< by the tips on the side without tip 0
    std::map<std::string, std::size_t> shapes_;
};

}  // namespace penstock::apps::likelihood
