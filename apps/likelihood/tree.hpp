// Trees without a root whose inner nodes have three neighbours, and their text form, Newick.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/likelihood/malformed.hpp"

namespace penstock::apps::likelihood {

/// A node by its number: tips come first, in the order of the alignment.
using Node = std::uint32_t;

/// A tree, seen from its tip 0: every other node has a parent in that direction, and a branch to it. So each inner node
/// has two children, and the one next to tip 0, top(), stands over all others.
class Tree {
  public:
    /// `taxa` tips (3 at least) without branches.
    explicit Tree(std::size_t taxa) : taxa_{taxa}, nodes_(2 * taxa - 2) {}

    std::size_t taxa() const noexcept { return taxa_; }
    std::size_t nodes() const noexcept { return nodes_.size(); }
    std::size_t branches() const noexcept { return nodes_.size() - 1; }
    bool is_tip(Node node) const noexcept { return node < taxa_; }

    Node parent(Node node) const noexcept { return nodes_[node].parent; }
    const std::array<Node, 2>& children(Node inner) const noexcept { return nodes_[inner].children; }
    Node top() const noexcept { return top_; }
    /// The other child of the parent; top() has none.
    Node sibling(Node node) const noexcept {
        const auto& both = nodes_[nodes_[node].parent].children;
        return both[0] == node ? both[1] : both[0];
    }
    /// Of the branch to the parent; for any node but tip 0.
    double length(Node node) const noexcept { return nodes_[node].length; }
    void set_length(Node node, double length) noexcept { nodes_[node].length = length; }

    /// Makes `child` the first or second child of `inner`.
    void attach(Node inner, std::size_t place, Node child) noexcept {
        nodes_[inner].children[place] = child;
        nodes_[child].parent = inner;
    }
    /// Puts `made` where `old` is among the children of `inner`.
    void replace(Node inner, Node old, Node made) noexcept { attach(inner, children(inner)[0] == old ? 0 : 1, made); }
    /// Makes this inner node the neighbour of tip 0.
    void set_top(Node inner) noexcept {
        top_ = inner;
        nodes_[inner].parent = 0;
    }

    /// The sum of all lengths.
    double length() const noexcept;

    friend bool operator==(const Tree&, const Tree&) = default;

  private:
    struct Branch {
        Node parent = 0;
        std::array<Node, 2> children{};
        double length = 0;
        friend bool operator==(const Branch&, const Branch&) = default;
    };
    std::size_t taxa_;
    std::vector<Branch> nodes_;
    Node top_ = 0;
};

/// In which order to compute the inner nodes of a tree: each behind its children, so that the fewest wait for their
/// parents at once. A change of lengths leaves it as it is.
struct Order {
    explicit Order(const Tree& tree);

    std::vector<Node> nodes;
    /// Where each node's result lies, by its number, when room is used again as soon as the parent is there. It is not
    /// where one of its children's lies.
    std::vector<std::uint32_t> places;
    std::uint32_t room = 0;  ///< how many places there are
};

/// A tree in Newick's form over these names: with a length for each branch, in any order of the tips. Names may stand
/// in quotes, comments in brackets; what stands behind a ')' and before its ':' (support values) is not looked at.
/// Where the root has two children, the branches to them become one; a node with more than two gets further nodes at a
/// distance of 0. Neither changes a likelihood. `file` is its name in messages. Throws MalformedFile.
Tree parse_newick(std::string_view text, std::span<const std::string> names, const std::string& file);

/// A name as Newick's form has it: in quotes where it must be.
std::string newick_name(const std::string& name);

/// In Newick's form, beginning with tip 0, lengths with so many digits.
std::string to_newick(const Tree& tree, std::span<const std::string> names, int digits = 9);

/// The same for every tree of this shape, whatever its lengths and the order of its nodes: for each branch between
/// inner nodes the tips on the side without tip 0.
std::string shape_of(const Tree& tree);

}  // namespace penstock::apps::likelihood
