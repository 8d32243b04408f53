#include "apps/likelihood/partials.hpp"

#include <algorithm>
#include <array>

namespace penstock::apps::likelihood {

template <class Real>
void Partials<Real>::compute(const Branches<Real>& branches, const Tree& tree, std::span<const Step> steps,
                             const Range& range) const {
    // So much of a node before the next one that children are still in the cache.
    constexpr std::size_t piece_bytes = 8 << 10;
    const std::size_t piece = std::max<std::size_t>(1, piece_bytes / (block_size_ * sizeof(Real)));
    for (std::size_t begin = range.begin; begin < range.end; begin += piece) {
        const Range part{begin, std::min(begin + piece, range.end)};
        for (const auto& [node, rescaled] : steps) {
            const auto [a, b] = tree.children(node);
            kernels::likelihood::combine<Real>(branches.child(tree, a, of(a, part), part),
                                               branches.child(tree, b, of(b, part), part), of(node, part));
            if (rescaled) kernels::likelihood::rescale<Real>(of(node, part), exponents(node, part));
        }
    }
}

template <class Real>
void Partials<Real>::add_sites(const Branches<Real>& branches, const Tree& tree, const Range& range,
                               std::span<double> logs) const {
    constexpr std::size_t piece = 8;
    for (std::size_t begin = range.begin; begin < range.end; begin += piece) {
        const Range part{begin, std::min(begin + piece, range.end)};
        std::array<std::int32_t, piece * block> sums{};
        for (std::size_t node = taxa_; node < tree.nodes(); ++node) {
            if (rescaled_[index(static_cast<Node>(node))] == 0) continue;
            const auto found = exponents(static_cast<Node>(node), part);
            for (std::size_t i = 0; i < found.size(); ++i) sums[i] += found[i];
        }
        branches.add_sites(tree, of(tree.top(), part), std::span{sums}.first((part.end - part.begin) * block), part,
                           logs);
    }
}

template class Partials<float>;
template class Partials<double>;

}  // namespace penstock::apps::likelihood
