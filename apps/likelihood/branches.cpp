#include "apps/likelihood/branches.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::apps::likelihood {
namespace {

using namespace kernels::likelihood;

/// How much of a node's partials is computed before the next node is begun: what waits for its parent stays in the
/// first two caches.
constexpr std::size_t piece_bytes = 8 << 10, most_blocks = 64;

/// So much farther apart than they are large do partials lie, or the same places of several were in one set of a cache.
constexpr std::size_t gap_bytes = 128;

/// Memory of this thread, at the beginning of a line of the cache.
template <class Real>
Real* scratch(std::size_t size) {
    constexpr std::size_t line = 64;
    thread_local std::vector<Real> memory;
    if (memory.size() < size + line / sizeof(Real)) memory.resize(size + line / sizeof(Real));
    const auto off = reinterpret_cast<std::uintptr_t>(memory.data()) % line;
    return memory.data() + (line - off) / sizeof(Real);
}

}  // namespace

template <class Real>
Branches<Real>::Branches(const Patterns& patterns, std::size_t categories)
    : patterns_{&patterns}, rates_(categories, 1.0),
      branch_size_{categories * states * std::max(states, patterns.bases().size())},
      branches_{4 * patterns.taxa() * branch_size_}, copy_(2 * patterns.taxa()), least_(4 * patterns.taxa()),
      bound_(2 * patterns.taxa()) {}

template <class Real>
void Branches<Real>::set_model(const Model& model) {
    spectrum_ = model.spectrum();
    for (std::size_t i = 0; i < states; ++i)
        top_weights_[i] = (model.kind == Kind::jc69 ? 0.25 : model.shares[i]) / static_cast<double>(categories());
    rates_ = model.category_rates();
}

template <class Real>
void Branches<Real>::follow(const Branches& other) {
    if (branch_size_ != other.branch_size_ || copy_.size() != other.copy_.size())
        *this = Branches(*other.patterns_, other.categories());
    patterns_ = other.patterns_;
    spectrum_ = other.spectrum_;
    top_weights_ = other.top_weights_;
    rates_ = other.rates_;
}

template <class Real>
void Branches<Real>::compute(const Tree& tree) {
    for (Node node = 1; node < tree.nodes(); ++node) compute(tree, node);
}

template <class Real>
void Branches<Real>::compute(const Tree& tree, Node node) {
    constexpr std::array<double, states> alike{1, 1, 1, 1};
    std::array<double, most_categories * states * states> room;
    const auto matrices = std::span{room}.first(categories() * states * states);
    const double least = transitions(spectrum_, tree.length(node), rates_, matrices);
    if (node == tree.top()) lead_to<Real>(matrices, patterns_->bases(), top_weights_, table(node));
    else if (tree.is_tip(node)) lead_to<Real>(matrices, patterns_->bases(), alike, table(node));
    else std::ranges::transform(matrices, branch(node).begin(), [](double value) { return static_cast<Real>(value); });
    least_[index(node)] = least > 0 ? std::ilogb(least) : least_of_zero;
}

template <class Real>
Child<Real> Branches<Real>::child(const Tree& tree, Node node, std::span<const Real> partials,
                                  const Range& range) const {
    if (!tree.is_tip(node)) return {partials, {}, branch(node).first(categories() * states * states)};
    return {{}, patterns_->codes(node).subspan(range.begin * block, (range.end - range.begin) * block), table(node)};
}

template <class Real>
void Branches<Real>::prune(const Tree& tree, const Order& order, std::span<const Step> steps, const Range& range,
                           std::span<double> logs) const {
    const std::size_t blocks_at_once =
        std::clamp<std::size_t>(piece_bytes / (block_size() * sizeof(Real)), 1, most_blocks);
    const std::size_t stride = blocks_at_once * block_size() + gap_bytes / sizeof(Real);
    Real* const memory = scratch<Real>(order.room * stride);
    std::array<std::int32_t, most_blocks * block> sums, exponents;
    for (std::size_t begin = range.begin; begin < range.end; begin += blocks_at_once) {
        const Range part{begin, std::min(begin + blocks_at_once, range.end)};
        const std::size_t patterns_of_part = (part.end - part.begin) * block;
        const auto partials = [&](Node node) {
            if (tree.is_tip(node)) return std::span<Real>{};
            return std::span{memory + order.places[node] * stride, (part.end - part.begin) * block_size()};
        };
        std::fill_n(sums.begin(), patterns_of_part, 0);
        for (const auto& [node, rescaled] : steps) {
            const auto [a, b] = tree.children(node);
            combine<Real>(child(tree, a, partials(a), part), child(tree, b, partials(b), part), partials(node));
            if (!rescaled) continue;
            rescale<Real>(partials(node), std::span{exponents}.first(patterns_of_part));
            for (std::size_t i = 0; i < patterns_of_part; ++i) sums[i] += exponents[i];
        }
        add_sites(tree, partials(tree.top()), std::span{sums}.first(patterns_of_part), part, logs);
    }
}

template <class Real>
void Branches<Real>::add_sites(const Tree& tree, std::span<const Real> partials,
                               std::span<const std::int32_t> exponents, const Range& range,
                               std::span<double> logs) const {
    const std::size_t first = range.begin * block, count = (range.end - range.begin) * block;
    log_sites<Real>(patterns_->codes(0).subspan(first, count), table(tree.top()), partials, exponents,
                    logs.subspan(first, count));
}

template class Branches<float>;
template class Branches<double>;

}  // namespace penstock::apps::likelihood
