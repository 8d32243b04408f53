#include "apps/likelihood/likelihood.hpp"

#include <atomic>
#include <optional>

namespace penstock::apps::likelihood {
namespace {

/// The branches of this thread.
template <class Real>
struct Own {
    std::uint64_t evaluation = 0;  ///< in which they were computed
    std::optional<Branches<Real>> branches;
    std::vector<Step> steps;
};

}  // namespace

template <class Real>
Likelihood<Real>::Likelihood(const Patterns& patterns, std::size_t categories)
    : branches_{patterns, categories}, logs_{patterns.weights().size()} {}

template <class Real>
std::uint64_t Likelihood<Real>::next_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <class Real>
void Likelihood<Real>::prune(const Tree& tree, const Order& order, std::uint64_t number, const Range& range) {
    thread_local Own<Real> own;
    if (own.evaluation != number) {
        own.evaluation = 0;
        if (!own.branches) own.branches.emplace(patterns(), branches_.categories());
        own.branches->follow(branches_);
        own.branches->compute(tree);
        own.steps = own.branches->plan(tree, order.nodes);
        own.evaluation = number;
    }
    own.branches->prune(tree, order, own.steps, range, logs_.span());
}

template class Likelihood<float>;
template class Likelihood<double>;

}  // namespace penstock::apps::likelihood
