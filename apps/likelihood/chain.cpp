#include "apps/likelihood/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::apps::likelihood {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

// Lengths and parameters beyond these are refused: there is nothing to learn there, and exp() loses its digits.
constexpr double shortest = 1e-8, longest = 100, least_share = 1e-4, least_value = 1e-3, greatest_value = 1e3;

}  // namespace

std::string_view name(Move move) noexcept {
    constexpr std::string_view names[moves] = {"length", "neighbours", "regraft", "scale",
                                               "alpha",  "kappa",      "shares",  "rates"};
    return names[static_cast<std::size_t>(move)];
}

double log_prior(const Tree& tree, const Model& model, double mean_length) {
    double sum = -tree.length() / mean_length - static_cast<double>(tree.branches()) * std::log(mean_length);
    if (model.categories > 1) sum -= model.alpha;
    if (model.kind == Kind::hky85) sum -= 2 * std::log1p(model.kappa);
    return sum;
}

template <class Real>
Chain<Real>::Chain(const Patterns& patterns, const Tree& tree, const Model& model, double mean_length,
                   std::uint64_t seed, Spread spread)
    : tree_{tree}, tree_before_{tree}, model_{model}, model_before_{model}, mean_length_{mean_length}, chance_{seed},
      spread_{std::move(spread)}, branches_{patterns, model.categories}, partials_{branches_, 2},
      logs_(patterns.weights().size()) {
    if (!spread_) spread_ = [](std::size_t n, const auto& body) { body(Range{0, n}); };
    // Rates on the scale on which they are sampled; it changes nothing else.
    double sum = 0;
    for (const double rate : model_.rates) sum += rate;
    for (double& rate : model_.rates) rate /= sum;
    for (Node node = 1; node < tree_.nodes(); ++node)
        tree_.set_length(node, std::clamp(tree_.length(node), shortest, longest));
    const auto weigh = [&](Move move, std::size_t weight, bool there = true) {
        if (there) choices_.insert(choices_.end(), weight, move);
    };
    weigh(Move::length, 12);
    weigh(Move::neighbours, 8, tree.taxa() > 3);
    weigh(Move::regraft, 8, tree.taxa() > 3);
    weigh(Move::scale, 1);
    weigh(Move::alpha, 1, model.categories > 1);
    weigh(Move::kappa, 1, model.kind == Kind::hky85);
    weigh(Move::shares, 1, model.kind != Kind::jc69);
    weigh(Move::rates, 1, model.kind == Kind::gtr);
    touch_all();
    model_touched_ = true;
    compute();
    log_prior_ = likelihood::log_prior(tree_, model_, mean_length_);
}

template <class Real>
void Chain<Real>::touch_up(Node inner) {
    for (; inner != 0; inner = tree_.parent(inner)) touched_nodes_.push_back(inner);
}

template <class Real>
void Chain<Real>::touch_all() {
    touched_nodes_ = Order(tree_).nodes;
    for (Node node = 1; node < tree_.nodes(); ++node) touched_branches_.push_back(node);
}

template <class Real>
void Chain<Real>::compute() {
    if (model_touched_) branches_.set_model(model_);
    for (const Node node : touched_branches_) {
        branches_.flip(node);
        branches_.compute(tree_, node);
    }
    for (const Node node : touched_nodes_) partials_.flip(node);
    const auto steps = partials_.plan(branches_, tree_, touched_nodes_);
    spread_(partials_.blocks(), [&](const Range& range) {
        partials_.compute(branches_, tree_, steps, range);
        partials_.add_sites(branches_, tree_, range, logs_);
    });
    log_likelihood_ = weighted_sum(branches_.patterns(), logs_);
}

template <class Real>
void Chain<Real>::take_back() {
    for (const Node node : touched_branches_) branches_.flip(node);
    for (const Node node : touched_nodes_) partials_.flip(node);
    tree_ = tree_before_;
    if (!model_touched_) return;
    model_ = model_before_;
    branches_.set_model(model_);
}

template <class Real>
void Chain<Real>::step(double heat) {
    const Move move = choices_[chance_.below(choices_.size())];
    Count& count = counts_[static_cast<std::size_t>(move)];
    ++count.proposed;
    touched_nodes_.clear();
    touched_branches_.clear();
    model_touched_ = false;
    tree_before_ = tree_;
    model_before_ = model_;
    const double likelihood_before = log_likelihood_, prior_before = log_prior_;
    const double ratio = propose(move);
    // Always drawn, so that what was impossible does not shift what comes.
    const double threshold = std::log(chance_.real());
    if (ratio == impossible) {
        tree_ = tree_before_;
        model_ = model_before_;
        return;
    }
    compute();
    log_prior_ = likelihood::log_prior(tree_, model_, mean_length_);
    const double gain = log_likelihood_ + log_prior_ - likelihood_before - prior_before;
    if (threshold < heat * gain + ratio) {  // false for what is not a number
        ++count.taken;
        return;
    }
    take_back();
    log_likelihood_ = likelihood_before;
    log_prior_ = prior_before;
}

template <class Real>
double Chain<Real>::propose(Move move) {
    switch (move) {
        case Move::length:
            return change_length();
        case Move::neighbours:
            return change_neighbours();
        case Move::regraft:
            return regraft();
        case Move::scale:
            return scale();
        case Move::alpha:
        case Move::kappa: {
            double& value = move == Move::alpha ? model_.alpha : model_.kappa;
            model_touched_ = true;
            touch_all();
            const double ratio = multiply(value);
            return value > least_value && value < greatest_value ? ratio : impossible;
        }
        default:
            model_touched_ = true;
            touch_all();
            return move == Move::shares ? change_shares(model_.shares) : change_shares(model_.rates);
    }
}

/// By a factor whose logarithm is uniform; that factor is Hastings' ratio.
template <class Real>
double Chain<Real>::multiply(double& value) {
    constexpr double width = 1.5;
    const double logarithm = width * (chance_.real() - 0.5);
    value *= std::exp(logarithm);
    return logarithm;
}

template <class Real>
double Chain<Real>::change_length() {
    const auto node = static_cast<Node>(1 + chance_.below(tree_.branches()));
    double length = tree_.length(node);
    const double ratio = multiply(length);
    if (length < shortest || length > longest) return impossible;
    tree_.set_length(node, length);
    touched_branches_.push_back(node);
    if (node != tree_.top()) touch_up(tree_.parent(node));
    return ratio;
}

/// A child of an inner node changes places with the node's sibling: the nearest two other shapes around one branch.
template <class Real>
double Chain<Real>::change_neighbours() {
    const auto node = static_cast<Node>(tree_.taxa() + chance_.below(tree_.taxa() - 2));
    const std::size_t which = chance_.below(2);
    if (node == tree_.top()) return impossible;
    const Node parent = tree_.parent(node), sibling = tree_.sibling(node), child = tree_.children(node)[which];
    tree_.replace(parent, sibling, child);
    tree_.attach(node, which, sibling);
    touch_up(node);
    return 0;
}

/// What hangs at a node, with the branch to it, is put onto any other branch, at any point of it.
template <class Real>
double Chain<Real>::regraft() {
    const auto moved = static_cast<Node>(1 + chance_.below(tree_.branches()));
    const double point = chance_.real(), choice = chance_.real();
    if (moved == tree_.top()) return impossible;
    const Node joint = tree_.parent(moved), sibling = tree_.sibling(moved), above = tree_.parent(joint);
    if (joint == tree_.top() && tree_.is_tip(sibling)) return impossible;  // there is one other branch: the same place
    // Taken out: sibling comes where joint was.
    const double joined = tree_.length(joint) + tree_.length(sibling);
    if (joint == tree_.top()) tree_.set_top(sibling);
    else tree_.replace(above, joint, sibling);
    tree_.set_length(sibling, joined);
    // All branches that are left, in the order of a walk from the top.
    std::vector<Node> left{tree_.top()};
    for (std::size_t at = 0; at < left.size(); ++at)
        if (!tree_.is_tip(left[at]))
            for (const Node child : tree_.children(left[at])) left.push_back(child);
    const Node below = left[static_cast<std::size_t>(choice * static_cast<double>(left.size()))];
    const double length = tree_.length(below);
    if (length * point < shortest || length * (1 - point) < shortest || joined > longest) return impossible;
    // Put in above it.
    const Node top_between = tree_.top();
    if (below == tree_.top()) {
        tree_.set_top(joint);
    } else {
        tree_.replace(tree_.parent(below), below, joint);
    }
    tree_.attach(joint, 0, below);
    tree_.attach(joint, 1, moved);
    tree_.set_length(below, length * point);
    tree_.set_length(joint, length * (1 - point));
    // What is under the old place first, as far as the way from the new place does not come there.
    touch_up(joint);
    if (above != 0) {
        std::vector<Node> way;
        for (Node node = above; node != 0 && std::ranges::find(touched_nodes_, node) == touched_nodes_.end();
             node = tree_.parent(node))
            way.push_back(node);
        touched_nodes_.insert(touched_nodes_.begin(), way.begin(), way.end());
    }
    const auto touch_branch = [&](Node node) {
        if (std::ranges::find(touched_branches_, node) == touched_branches_.end()) touched_branches_.push_back(node);
    };
    // A branch towards tip 0 is kept in another form than the others.
    for (const Node node : {sibling, joint, below, tree_before_.top(), top_between, tree_.top()}) touch_branch(node);
    return std::log(length / joined);
}

template <class Real>
double Chain<Real>::scale() {
    double factor = 1;
    const double ratio = multiply(factor) / 4;
    factor = std::exp(ratio);
    for (Node node = 1; node < tree_.nodes(); ++node) {
        tree_.set_length(node, tree_.length(node) * factor);
        if (tree_.length(node) < shortest || tree_.length(node) > longest) return impossible;
    }
    touch_all();
    return ratio * static_cast<double>(tree_.branches());
}

/// A part of one share goes to another: their sum stays.
template <class Real>
double Chain<Real>::change_shares(std::span<double> shares) {
    const std::size_t from = chance_.below(shares.size());
    const std::size_t to = (from + 1 + chance_.below(shares.size() - 1)) % shares.size();
    const double part = std::pow(chance_.real(), 3);  // mostly small, as the posterior's width is; sometimes not
    shares[from] -= part;
    shares[to] += part;
    return shares[from] > least_share ? 0 : impossible;
}

template class Chain<float>;
template class Chain<double>;

}  // namespace penstock::apps::likelihood
