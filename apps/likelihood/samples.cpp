// What is written of samples: the trace, and the tree of what they have in common.
#include <algorithm>
#include <charconv>
#include <functional>

#include "apps/likelihood/sampler.hpp"

namespace penstock::apps::likelihood {
namespace {

/// As many digits as tell this number from any other; or so many.
std::string number(double value, int digits = 0) {
    char text[64];
    const auto end = digits == 0
                         ? std::to_chars(text, text + sizeof text, value).ptr
                         : std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
    return {text, end};
}

}  // namespace

std::string trace_head(const Model& model) {
    std::string line = "Sample\tposterior\tlikelihood\tprior\ttree length";
    if (model.categories > 1) line += "\talpha";
    if (model.kind == Kind::hky85) line += "\tkappa";
    if (model.kind != Kind::jc69) line += "\tshare A\tshare C\tshare G\tshare T";
    if (model.kind == Kind::gtr) line += "\trate AC\trate AG\trate AT\trate CG\trate CT\trate GT";
    return line + "\n";
}

std::string trace_line(const Sample& sample) {
    const Model& model = sample.model;
    std::string line = std::to_string(sample.generation);
    const auto add = [&](double value) { line += "\t" + number(value); };
    add(sample.log_likelihood + sample.log_prior);
    add(sample.log_likelihood);
    add(sample.log_prior);
    add(sample.tree.length());
    if (model.categories > 1) add(model.alpha);
    if (model.kind == Kind::hky85) add(model.kappa);
    if (model.kind != Kind::jc69) std::ranges::for_each(model.shares, add);
    if (model.kind == Kind::gtr) std::ranges::for_each(model.rates, add);
    return line + "\n";
}

void Consensus::add(const Tree& tree) {
    ++trees_;
    std::vector<std::vector<Node>> below(tree.nodes());
    for (std::size_t tip = 0; tip < taxa_; ++tip) below[tip] = {static_cast<Node>(tip)};
    const auto count = [&](Node node) {
        Split& split = splits_[below[node]];
        ++split.count;
        split.length += tree.length(node);
    };
    for (const Node node : Order(tree).nodes) {
        for (const Node child : tree.children(node)) {
            below[node].insert(below[node].end(), below[child].begin(), below[child].end());
            count(child);
        }
        std::ranges::sort(below[node]);
    }
    count(tree.top());
    ++shapes_[shape_of(tree)];
}

std::vector<std::pair<std::string, std::size_t>> Consensus::shapes() const {
    std::vector<std::pair<std::string, std::size_t>> all(shapes_.begin(), shapes_.end());
    std::ranges::stable_sort(all, std::ranges::greater{}, &std::pair<std::string, std::size_t>::second);
    return all;
}

std::string Consensus::newick(std::span<const std::string> names) const {
    // What more than half of the trees have lies one in the other or apart, so the larger ones come first and each goes
    // into the smallest that holds it.
    struct Group {
        const std::vector<Node>* tips;
        const Split* split;
        std::vector<std::size_t> inside;
    };
    std::vector<Group> groups;
    for (const auto& [tips, split] : splits_)
        if (2 * split.count > trees_) groups.push_back({&tips, &split, {}});
    std::ranges::stable_sort(groups, std::ranges::greater{}, [](const Group& group) { return group.tips->size(); });
    for (std::size_t i = 1; i < groups.size(); ++i)
        for (std::size_t j = i; j-- > 0;)
            if (std::ranges::includes(*groups[j].tips, *groups[i].tips)) {
                groups[j].inside.push_back(i);
                break;
            }
    const std::function<std::string(std::size_t)> text = [&](std::size_t i) {
        const Group& group = groups[i];
        std::string inside;
        for (const std::size_t each : group.inside) inside += (inside.empty() ? "" : ",") + text(each);
        const std::string length = ":" + number(group.split->length / static_cast<double>(group.split->count), 9);
        if (group.tips->size() == 1) return newick_name(names[group.tips->front()]) + length;
        const double share = static_cast<double>(group.split->count) / static_cast<double>(trees_);
        return "(" + inside + ")" + number(share, 4) + length;
    };
    if (groups.empty()) return "";
    // The first holds all tips but tip 0: what is in it hangs at the same node.
    std::string all = "(" + newick_name(names[0]) + ":" +
                      number(groups[0].split->length / static_cast<double>(groups[0].split->count), 9);
    for (const std::size_t each : groups[0].inside) all += "," + text(each);
    return all + ");";
}

}  // namespace penstock::apps::likelihood
