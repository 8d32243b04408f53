// Partials of all nodes that stay in memory: for loops over one node at a time, and for a sampler, whose next tree
// differs little from the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/likelihood/branches.hpp"

namespace penstock::apps::likelihood {

template <class Real>
class Partials {
  public:
    /// For trees over these patterns. `copies`, 1 or 2, of each node's.
    Partials(const Branches<Real>& branches, std::size_t copies)
        : taxa_{branches.patterns().taxa()}, blocks_{branches.patterns().blocks()}, block_size_{branches.block_size()},
          stride_{blocks_ * block_size_ + gap_bytes / sizeof(Real)}, numbers_{copies * (taxa_ - 2) * stride_},
          exponents_{copies * (taxa_ - 2) * blocks_ * block}, copy_(2 * taxa_), rescaled_(copies * taxa_),
          bound_(copies * taxa_) {}

    std::size_t blocks() const noexcept { return blocks_; }

    /// Of a range of blocks; empty for a tip.
    std::span<Real> of(Node node, const Range& range) const {
        if (node < taxa_) return {};
        return numbers_.span().subspan(index(node) * stride_ + range.begin * block_size_,
                                       (range.end - range.begin) * block_size_);
    }
    std::span<std::int32_t> exponents(Node inner, const Range& range) const {
        return exponents_.span().subspan((index(inner) * blocks_ + range.begin) * block,
                                         (range.end - range.begin) * block);
    }

    /// Says which of these nodes are to be rescaled, as Branches has it.
    std::vector<Step> plan(const Branches<Real>& branches, const Tree& tree, std::span<const Node> nodes) {
        auto steps = branches.plan(tree, nodes, [&](Node node) -> std::int32_t& { return bound_[index(node)]; });
        for (const auto& [node, rescaled] : steps) rescaled_[index(node)] = rescaled ? 1 : 0;
        return steps;
    }
    /// These nodes, each behind its children, for a range of blocks.
    void compute(const Branches<Real>& branches, const Tree& tree, std::span<const Step> steps,
                 const Range& range) const;
    /// What the patterns add, from top().
    void add_sites(const Branches<Real>& branches, const Tree& tree, const Range& range, std::span<double> logs) const;

    /// What is computed and planned for this node from now on goes into its other copy.
    void flip(Node inner) noexcept { copy_[inner] ^= 1; }

  private:
    static constexpr std::size_t block = kernels::likelihood::block;
    /// Nodes lie so much farther apart than they are large, or the same place in several is in one set of a cache.
    static constexpr std::size_t gap_bytes = 5 * 64;
    std::size_t index(Node inner) const noexcept { return copy_[inner] * (taxa_ - 2) + inner - taxa_; }

    std::size_t taxa_, blocks_, block_size_, stride_;
    Buffer<Real> numbers_;
    Buffer<std::int32_t> exponents_;
    std::vector<std::uint8_t> copy_, rescaled_;
    std::vector<std::int32_t> bound_;
};

}  // namespace penstock::apps::likelihood
