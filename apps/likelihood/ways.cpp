#include "apps/likelihood/ways.hpp"

#include <algorithm>

#include "penstock/for_each.hpp"

namespace penstock::apps::likelihood {
namespace {

using kernels::likelihood::block;

// The tasks of PBPI's loops: kernels whose operands are arguments with tags.

template <class Real>
void from_inner(std::span<const Real> partials, std::span<const Real> branch, std::span<Real> made) {
    kernels::likelihood::propagate<Real>({partials, {}, branch}, made);
}
template <class Real>
void from_tip(std::span<const std::uint8_t> codes, std::span<const Real> branch, std::span<Real> made) {
    kernels::likelihood::propagate<Real>({{}, codes, branch}, made);
}
template <class Real>
void times_inner(std::span<const Real> partials, std::span<const Real> branch, std::span<Real> made) {
    kernels::likelihood::multiply<Real>({partials, {}, branch}, made);
}
template <class Real>
void times_tip(std::span<const std::uint8_t> codes, std::span<const Real> branch, std::span<Real> made) {
    kernels::likelihood::multiply<Real>({{}, codes, branch}, made);
}

/// All branches, dealt out.
template <class Real>
void compute_branches(Branches<Real>& branches, const Tree& tree, Machine& machine) {
    machine.for_each(tree.branches(), [&](std::size_t i) { branches.compute(tree, static_cast<Node>(i + 1)); });
}

}  // namespace

std::vector<Range> equal_ranges(std::size_t blocks, std::size_t wanted, std::size_t workers) {
    std::size_t count = workers;
    if (wanted != 0) {
        const std::size_t rounds = (blocks * block + wanted * workers / 2) / (wanted * workers);
        count = std::max<std::size_t>(1, rounds) * workers;
    }
    count = std::min(count, blocks);
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < count; ++i) ranges.push_back({i * blocks / count, (i + 1) * blocks / count});
    return ranges;
}

template <class Real>
double hand(Likelihood<Real>& likelihood, const Tree& tree, const Order& order, Team& team, std::size_t evaluations,
            double& found) {
    // Branches are shared out, and each thread reads them all.
    Branches<Real>& branches = likelihood.branches();
    std::vector<Step> steps;
    return team.run([&](int rank) {
        for (std::size_t i = 0; i < evaluations; ++i) {
            const Range mine = team.share(rank, tree.branches());
            for (std::size_t node = mine.begin + 1; node <= mine.end; ++node)
                branches.compute(tree, static_cast<Node>(node));
            team.barrier(rank);
            if (rank == 0) steps = branches.plan(tree, order.nodes);
            team.barrier(rank);
            branches.prune(tree, order, steps, team.share(rank, likelihood.blocks()), likelihood.logs());
            team.barrier(rank);
            if (rank == 0) found = likelihood.sum();
        }
    });
}

template <class Real>
double tagged(Likelihood<Real>& likelihood, const Tree& tree, const Order& order, Machine& machine,
              std::size_t wanted) {
    const auto ranges = equal_ranges(likelihood.blocks(), wanted, static_cast<std::size_t>(machine.targets()) + 1);
    return likelihood.evaluate(tree, order, [&](std::size_t, auto&& body) { deal(machine, ranges, body); });
}

template <class Real>
double automatic(Likelihood<Real>& likelihood, const Tree& tree, const Order& order, Machine& machine) {
    return likelihood.evaluate(tree, order, [&](std::size_t n, auto&& body) {
        machine.for_each(n, [&](Piece part) { body(Range{part.begin, part.end}); });
    });
}

template <class Real>
double loops(Likelihood<Real>& likelihood, Partials<Real>& partials, const Tree& tree, const Order& order,
             Machine& machine, std::size_t wanted) {
    Branches<Real>& branches = likelihood.branches();
    compute_branches(branches, tree, machine);
    const auto steps = partials.plan(branches, tree, order.nodes);
    const auto ranges = equal_ranges(likelihood.blocks(), wanted, static_cast<std::size_t>(machine.targets()) + 1);
    for (const auto& [node, rescaled] : steps) {
        const auto [a, b] = tree.children(node);
        for (const Range& range : ranges) {
            const auto child = branches.child(tree, a, partials.of(a, range), range);
            if (tree.is_tip(a))
                machine.call<from_tip<Real>>(in(child.codes), in(child.branch), out(partials.of(node, range)));
            else machine.call<from_inner<Real>>(in(child.partials), in(child.branch), out(partials.of(node, range)));
        }
        machine.barrier();
        for (const Range& range : ranges) {
            const auto child = branches.child(tree, b, partials.of(b, range), range);
            if (tree.is_tip(b))
                machine.call<times_tip<Real>>(in(child.codes), in(child.branch), inout(partials.of(node, range)));
            else machine.call<times_inner<Real>>(in(child.partials), in(child.branch), inout(partials.of(node, range)));
        }
        machine.barrier();
        if (!rescaled) continue;
        for (const Range& range : ranges)
            machine.call<kernels::likelihood::rescale<Real>>(inout(partials.of(node, range)),
                                                             out(partials.exponents(node, range)));
        machine.barrier();
    }
    machine.for_each(
        ranges.size(), [&](std::size_t i) { partials.add_sites(branches, tree, ranges[i], likelihood.logs()); }, 1);
    return likelihood.sum();
}

template <class Real>
Dependent<Real>::Dependent(Likelihood<Real>& likelihood, Partials<Real>& partials, const Tree& tree, const Order& order,
                           Machine& machine, std::size_t wanted)
    : likelihood_{&likelihood}, partials_{&partials}, tree_{&tree}, order_{&order}, machine_{&machine},
      ranges_{equal_ranges(likelihood.blocks(), wanted, static_cast<std::size_t>(machine.targets()) + 1)},
      calls_{machine} {}

template <class Real>
void Dependent<Real>::combine_node(std::span<const Real>, std::span<const Real>, std::span<Real> made,
                                   const NodeTask* task) {
    kernels::likelihood::combine<Real>(task->left, task->right, made);
    if (!task->exponents.empty()) kernels::likelihood::rescale<Real>(made, task->exponents);
}

template <class Real>
void Dependent<Real>::add_sites(std::span<const Real>, const Dependent* all, std::size_t range) {
    all->partials_->add_sites(all->likelihood_->branches(), *all->tree_, all->ranges_[range], all->likelihood_->logs());
}

template <class Real>
bool Dependent<Real>::prepare() {
    Branches<Real>& branches = likelihood_->branches();
    compute_branches(branches, *tree_, *machine_);
    auto steps = partials_->plan(branches, *tree_, order_->nodes);
    if (steps == steps_) return true;
    steps_ = std::move(steps);
    tasks_.clear();
    for (const auto& [node, rescaled] : steps_) {
        const auto [a, b] = tree_->children(node);
        for (const Range& range : ranges_)
            tasks_.push_back({branches.child(*tree_, a, partials_->of(a, range), range),
                              branches.child(*tree_, b, partials_->of(b, range), range),
                              rescaled ? partials_->exponents(node, range) : std::span<std::int32_t>{}});
    }
    return false;
}

template <class Real>
void Dependent<Real>::issue() {
    const NodeTask* task = tasks_.data();
    for (const Step& step : steps_)
        for (const Range& range : ranges_) {
            calls_.call<combine_node>(in(task->left.partials), in(task->right.partials),
                                      out(partials_->of(step.node, range)), task);
            ++task;
        }
    for (std::size_t range = 0; range < ranges_.size(); ++range)
        calls_.call<add_sites>(in(std::span<const Real>(partials_->of(tree_->top(), ranges_[range]))), this, range);
}

template <class Real>
double Dependent<Real>::evaluate() {
    prepare();
    issue();
    calls_.wait();
    return likelihood_->sum();
}

template <class Real>
double Dependent<Real>::replay() {
    if (prepare() && recording_) recording_->replay();
    else recording_.emplace(calls_.record([&] { issue(); }));
    return likelihood_->sum();
}

#define PENSTOCK_FOR(Real)                                                                                       \
    template double hand(Likelihood<Real>&, const Tree&, const Order&, Team&, std::size_t, double&);             \
    template double tagged(Likelihood<Real>&, const Tree&, const Order&, Machine&, std::size_t);                 \
    template double automatic(Likelihood<Real>&, const Tree&, const Order&, Machine&);                           \
    template double loops(Likelihood<Real>&, Partials<Real>&, const Tree&, const Order&, Machine&, std::size_t); \
    template class Dependent<Real>
PENSTOCK_FOR(float);
PENSTOCK_FOR(double);
#undef PENSTOCK_FOR

}  // namespace penstock::apps::likelihood
