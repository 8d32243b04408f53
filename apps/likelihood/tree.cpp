#include "apps/likelihood/tree.hpp"

#include <algorithm>

namespace penstock::apps::likelihood {

Order::Order(const Tree& tree) : places(tree.nodes()) {
    std::vector<Node> found{tree.top()};  // parents before children
    found.reserve(tree.taxa() - 2);
    for (std::size_t at = 0; at < found.size(); ++at)
        for (const Node child : tree.children(found[at]))
            if (!tree.is_tip(child)) found.push_back(child);
    // How many results are there at once while a node is computed: the child that needs more goes first (Sethi and
    // Ullman, J. ACM 17, 1970).
    std::vector<std::uint8_t> needs(tree.nodes());
    for (auto at = found.rbegin(); at != found.rend(); ++at) {
        const auto [a, b] = tree.children(*at);
        const auto most = std::max(needs[a], needs[b]);
        needs[*at] = static_cast<std::uint8_t>(needs[a] == needs[b] ? most + 1 : most);
    }
    // From the last to the first: a node, then all of the child that goes second, then all of the other.
    std::vector<Node> left{tree.top()};
    while (!left.empty()) {
        const Node node = left.back();
        left.pop_back();
        nodes.push_back(node);
        const auto [a, b] = tree.children(node);
        const bool first_needs_more = needs[a] >= needs[b];
        for (const Node child : {first_needs_more ? a : b, first_needs_more ? b : a})
            if (!tree.is_tip(child)) left.push_back(child);
    }
    std::ranges::reverse(nodes);
    std::vector<std::uint32_t> free;
    for (const Node node : nodes) {
        if (free.empty()) free.push_back(room++);
        places[node] = free.back();
        free.pop_back();
        for (const Node child : tree.children(node))
            if (!tree.is_tip(child)) free.push_back(places[child]);
    }
}

double Tree::length() const noexcept {
    double sum = 0;
    for (std::size_t node = 1; node < nodes(); ++node) sum += nodes_[node].length;
    return sum;
}

std::string shape_of(const Tree& tree) {
    std::vector<std::vector<Node>> below(tree.nodes());
    for (std::size_t tip = 0; tip < tree.taxa(); ++tip) below[tip] = {static_cast<Node>(tip)};
    std::vector<std::string> splits;
    for (const Node node : Order(tree).nodes) {
        std::vector<Node>& all = below[node];
        for (const Node child : tree.children(node)) all.insert(all.end(), below[child].begin(), below[child].end());
        std::ranges::sort(all);
        if (node == tree.top()) continue;
        std::string split;
        for (const Node tip : all) split += (split.empty() ? "" : " ") + std::to_string(tip);
        splits.push_back(std::move(split));
    }
    std::ranges::sort(splits);
    std::string shape;
    for (const auto& split : splits) shape += (shape.empty() ? "" : " | ") + split;
    return shape;
}

}  // namespace penstock::apps::likelihood
