// BEAGLE (Ayres et al., Syst. Biol. 68, 2019), the library that BEAST and MrBayes compute likelihoods with: one tree
// over one alignment, on one thread or on several.
#pragma once

#if defined(PENSTOCK_BENCH_BEAGLE)

#include <libhmsbeagle/beagle.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "apps/likelihood/likelihood.hpp"

namespace bench {

/// By itself BEAGLE uses no threads on a machine of two processors, nor for fewer than 768 patterns: more than one are
/// asked for as partitions of the patterns, each of which has a thread of its own.
class Beagle {
  public:
    Beagle(const penstock::apps::likelihood::Patterns& patterns, const penstock::apps::likelihood::Tree& tree,
           const penstock::apps::likelihood::Model& model, int threads)
        : tree_{tree}, threads_{threads} {
        const int taxa = static_cast<int>(patterns.taxa()), categories = static_cast<int>(model.categories),
                  count = static_cast<int>(patterns.count());
        int resource = 0;  // the processors
        const long flags = BEAGLE_FLAG_PRECISION_DOUBLE | BEAGLE_FLAG_VECTOR_SSE | BEAGLE_FLAG_PROCESSOR_CPU |
                           (threads > 1 ? BEAGLE_FLAG_THREADING_CPP : BEAGLE_FLAG_THREADING_NONE);
        BeagleInstanceDetails details;
        instance_ = beagleCreateInstance(taxa, taxa, taxa, 4, count, 1, 2 * taxa, categories, 0, &resource, 1, flags, 0,
                                         &details);
        if (instance_ < 0) throw std::runtime_error("BEAGLE made no instance");
        name_ = details.implName;
        std::vector<int> states(patterns.count());
        for (int tip = 0; tip < taxa; ++tip) {
            const auto codes = patterns.codes(static_cast<std::size_t>(tip));
            for (std::size_t i = 0; i < states.size(); ++i) {
                const auto bases = patterns.bases()[codes[i]];
                states[i] = bases == 1 ? 0 : bases == 2 ? 1 : bases == 4 ? 2 : bases == 8 ? 3 : 4;
            }
            check(beagleSetTipStates(instance_, tip, states.data()));
        }
        check(beagleSetPatternWeights(instance_, patterns.weights().data()));
        check(beagleSetStateFrequencies(instance_, 0, model.shares.data()));
        check(beagleSetCategoryWeights(instance_, 0, std::vector<double>(model.categories, 1.0 / categories).data()));
        check(beagleSetCategoryRates(instance_, model.category_rates().data()));
        const auto spectrum = model.spectrum();
        double vectors[16];
        for (int k = 0; k < 4; ++k)
            for (int i = 0; i < 4; ++i) vectors[i * 4 + k] = spectrum.vectors[k * 4 + i];
        check(beagleSetEigenDecomposition(instance_, 0, vectors, spectrum.inverse, spectrum.values));
        if (threads > 1) {
            std::vector<int> partition(patterns.count());
            for (std::size_t i = 0; i < partition.size(); ++i)
                partition[i] = static_cast<int>(i * static_cast<std::size_t>(threads) / partition.size());
            check(beagleSetPatternPartitions(instance_, threads, partition.data()));
        }
        for (penstock::apps::likelihood::Node node = 1; node < tree.nodes(); ++node) {
            branches_.push_back(static_cast<int>(node));
            lengths_.push_back(tree.length(node));
        }
        constexpr int none = BEAGLE_OP_NONE;
        for (const auto node : penstock::apps::likelihood::Order(tree).nodes) {
            const int made = static_cast<int>(node), a = static_cast<int>(tree.children(node)[0]),
                      b = static_cast<int>(tree.children(node)[1]);
            operations_.push_back({made, none, none, a, a, b, b});
            for (int part = 0; part < threads; ++part) in_parts_.push_back({made, none, none, a, a, b, b, part, none});
        }
    }
    ~Beagle() { beagleFinalizeInstance(instance_); }
    Beagle(const Beagle&) = delete;
    Beagle& operator=(const Beagle&) = delete;

    /// All of it: the branches, the partials, and the sum at tip 0.
    double evaluate() {
        check(beagleUpdateTransitionMatrices(instance_, 0, branches_.data(), nullptr, nullptr, lengths_.data(),
                                             static_cast<int>(branches_.size())));
        const int top = static_cast<int>(tree_.top());
        double found = 0;
        if (threads_ == 1) {
            check(beagleUpdatePartials(instance_, operations_.data(), static_cast<int>(operations_.size()),
                                       BEAGLE_OP_NONE));
            const int tip = 0, zero = 0, none = BEAGLE_OP_NONE;
            check(beagleCalculateEdgeLogLikelihoods(instance_, &top, &tip, &top, nullptr, nullptr, &zero, &zero, &none,
                                                    1, &found, nullptr, nullptr));
            return found;
        }
        check(beagleUpdatePartialsByPartition(instance_, in_parts_.data(), static_cast<int>(in_parts_.size())));
        const auto parts = static_cast<std::size_t>(threads_);
        const std::vector<int> tops(parts, top), zeros(parts), nones(parts, BEAGLE_OP_NONE);
        std::vector<int> numbers(parts);
        for (std::size_t i = 0; i < parts; ++i) numbers[i] = static_cast<int>(i);
        std::vector<double> sums(parts);
        check(beagleCalculateEdgeLogLikelihoodsByPartition(
            instance_, tops.data(), zeros.data(), tops.data(), nullptr, nullptr, zeros.data(), zeros.data(),
            nones.data(), numbers.data(), threads_, 1, sums.data(), &found, nullptr, nullptr, nullptr, nullptr));
        return found;
    }
    /// What BEAGLE calls the code that it chose.
    const std::string& name() const noexcept { return name_; }

  private:
    static void check(int status) {
        if (status != BEAGLE_SUCCESS) throw std::runtime_error("BEAGLE failed with status " + std::to_string(status));
    }
    const penstock::apps::likelihood::Tree& tree_;
    int threads_, instance_;
    std::string name_;
    std::vector<int> branches_;
    std::vector<double> lengths_;
    std::vector<BeagleOperation> operations_;
    std::vector<BeagleOperationByPartition> in_parts_;
};

}  // namespace bench

#endif
