#include "apps/likelihood/made.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace penstock::apps::likelihood {
namespace {

/// One of the numbers by their weights.
std::size_t pick(std::span<const double> weights, Chance& chance) {
    double left = chance.real();
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
        if (left < weights[i]) return i;
        left -= weights[i];
    }
    return weights.size() - 1;
}

/// How far two sequences are apart: changes a site, by the share of sites that differ, at most 3.
double distance(const std::vector<Bases>& a, const std::vector<Bases>& b) {
    double same = 0, sites = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] == any_base || b[i] == any_base) continue;
        sites += 1;
        if ((a[i] & b[i]) != 0) same += 1;
    }
    const double differ = sites == 0 ? 0.75 : 1 - same / sites;
    constexpr double farthest = 3;
    return differ < 0.73 ? -0.75 * std::log(1 - differ / 0.75) : farthest;
}

}  // namespace

double Chance::exponential(double mean) { return -mean * std::log(real()); }

double Chance::normal() {
    // Marsaglia's polar method; the second number is thrown away.
    while (true) {
        const double x = 2 * real() - 1, y = 2 * real() - 1, square = x * x + y * y;
        if (square < 1 && square > 0) return x * std::sqrt(-2 * std::log(square) / square);
    }
}

double Chance::gamma(double shape) {
    // Marsaglia and Tsang, ACM TOMS 26, 2000.
    if (shape < 1) return gamma(shape + 1) * std::pow(real(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
        const double x = normal(), one = 1 + c * x;
        if (one <= 0) continue;
        const double v = one * one * one;
        if (std::log(real()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
}

Tree random_tree(std::size_t taxa, double mean_length, Chance& chance) {
    Tree tree(taxa);
    auto inner = static_cast<Node>(taxa);
    tree.set_top(inner);
    tree.attach(inner, 0, 1);
    tree.attach(inner, 1, 2);
    for (std::size_t tip = 3; tip < taxa; ++tip) {
        ++inner;
        // Any branch there is; the one above top() is tip 0's.
        const std::size_t number = chance.below(2 * tip - 3);
        const Node below =
            number < tip - 1 ? static_cast<Node>(number + 1) : static_cast<Node>(taxa + number - (tip - 1));
        if (below == tree.top()) {
            tree.set_top(inner);
        } else {
            tree.replace(tree.parent(below), below, inner);
        }
        tree.attach(inner, 0, below);
        tree.attach(inner, 1, static_cast<Node>(tip));
    }
    for (Node node = 1; node < tree.nodes(); ++node) tree.set_length(node, chance.exponential(mean_length));
    return tree;
}

Alignment evolve(const Tree& tree, const Model& model, std::size_t sites, Chance& chance) {
    constexpr std::size_t bases = 4, size = bases * bases;
    const auto spectrum = model.spectrum();
    const auto rates = model.category_rates();
    // [node][category][to][from]
    std::vector<double> matrices(tree.nodes() * rates.size() * size);
    for (Node node = 1; node < tree.nodes(); ++node)
        kernels::likelihood::transitions(spectrum, tree.length(node), rates,
                                         std::span{matrices}.subspan(node * rates.size() * size, rates.size() * size));
    const auto shares = model.kind == Kind::jc69 ? Model{}.shares : model.shares;
    auto order = Order(tree).nodes;
    std::ranges::reverse(order);
    Alignment alignment;
    for (std::size_t tip = 0; tip < tree.taxa(); ++tip) {
        alignment.names.push_back("t" + std::to_string(tip + 1));
        alignment.sequences.emplace_back(sites);
    }
    std::vector<std::size_t> state(tree.nodes());
    for (std::size_t site = 0; site < sites; ++site) {
        const std::size_t category = chance.below(rates.size());
        const auto change = [&](Node node, std::size_t from) {
            std::array<double, bases> weights;
            const double* const matrix = &matrices[(node * rates.size() + category) * size];
            for (std::size_t to = 0; to < bases; ++to) weights[to] = matrix[to * bases + from];
            state[node] = pick(weights, chance);
        };
        state[0] = pick(shares, chance);
        change(tree.top(), state[0]);
        for (const Node node : order)
            for (const Node child : tree.children(node)) change(child, state[node]);
        for (std::size_t tip = 0; tip < tree.taxa(); ++tip)
            alignment.sequences[tip][site] = static_cast<Bases>(1 << state[tip]);
    }
    return alignment;
}

Tree join_neighbours(const Alignment& alignment) {
    const std::size_t taxa = alignment.taxa();
    Tree tree(taxa);
    // Tip 0 is never joined: it is what is left beside the last node.
    std::vector<Node> left;
    std::vector<std::vector<double>> apart(tree.nodes(), std::vector<double>(tree.nodes()));
    for (std::size_t i = 0; i < taxa; ++i) {
        left.push_back(static_cast<Node>(i));
        for (std::size_t j = 0; j < i; ++j)
            apart[i][j] = apart[j][i] = distance(alignment.sequences[i], alignment.sequences[j]);
    }
    constexpr double shortest = 1e-6;
    auto made = static_cast<Node>(taxa);
    while (left.size() > 3) {
        const auto count = static_cast<double>(left.size());
        std::vector<double> sums(tree.nodes());
        for (const Node i : left)
            for (const Node j : left) sums[i] += apart[i][j];
        double least = std::numeric_limits<double>::infinity();
        std::size_t first = 1, second = 2;
        for (std::size_t i = 1; i < left.size(); ++i) {
            for (std::size_t j = i + 1; j < left.size(); ++j) {
                const double q = (count - 2) * apart[left[i]][left[j]] - sums[left[i]] - sums[left[j]];
                if (q < least) least = q, first = i, second = j;
            }
        }
        const Node a = left[first], b = left[second];
        const double to_a = apart[a][b] / 2 + (sums[a] - sums[b]) / (2 * (count - 2));
        tree.attach(made, 0, a);
        tree.attach(made, 1, b);
        tree.set_length(a, std::max(to_a, shortest));
        tree.set_length(b, std::max(apart[a][b] - to_a, shortest));
        for (const Node k : left) apart[made][k] = apart[k][made] = (apart[a][k] + apart[b][k] - apart[a][b]) / 2;
        left[first] = made++;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(second));
    }
    const Node a = left[1], b = left[2];
    tree.attach(made, 0, a);
    tree.attach(made, 1, b);
    tree.set_top(made);
    tree.set_length(a, std::max((apart[a][b] + apart[a][0] - apart[b][0]) / 2, shortest));
    tree.set_length(b, std::max((apart[a][b] + apart[b][0] - apart[a][0]) / 2, shortest));
    tree.set_length(made, std::max((apart[a][0] + apart[b][0] - apart[a][b]) / 2, shortest));
    return tree;
}

}  // namespace penstock::apps::likelihood
