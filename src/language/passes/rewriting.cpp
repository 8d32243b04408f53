// What passes do to elements: names replaced in their expressions, prefixes put before the names of parts.
#include <iterator>

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

constexpr std::string_view kinds_of_parts = "component stream use repeat parallel manager option event signal";
/// Attributes that hold names of parts, by element.
constexpr std::string_view names_of_parts =
    "component.name component.near use.name parallel.name option.name stream.from stream.to stream.name on.component "
    "signal.from "
    "on.enable on.disable on.toggle input.to output.from";
/// And those that say how many there are of something.
constexpr std::string_view numbers_of_parts =
    "repeat.index repeat.from repeat.to repeat.step repeat.over parallel.slices parallel.index parallel.shape "
    "parallel.in parallel.above parallel.below parallel.out use.group input.name output.name";

std::string index_of(const Element& element) {
    if (element.name != "repeat" && element.name != "parallel") return {};
    if (const auto* const index = element.attribute("index")) return index->value;
    const auto& shape = element.value("shape");
    return shape.empty() || shape == "task" ? "" : "slice";
}

}  // namespace

void replace_names(Element& element, Replacements replacements) {
    for (auto& each : element.attributes) each.value = replaced(each.value, replacements);
    replacements.erase(index_of(element));
    if (replacements.empty()) return;
    for (auto& child : element.children)
        if (child.name != "group") replace_names(child, replacements);
}

void put_prefix(Element& element, const std::string& prefix) {
    for (auto& each : element.attributes)
        if (stands_in_list(names_of_parts, element.name + "." + each.name) && !each.value.empty())
            each.value.insert(0, prefix);
    // What stands in a parallel is called by names of its own.
    if (element.name == "parallel") return;
    for (auto& child : element.children) put_prefix(child, prefix);
}

bool is_structural(const Element& element, const Attribute& attribute) {
    const auto called = element.name + "." + attribute.name;
    return stands_in_list(names_of_parts, called) || stands_in_list(numbers_of_parts, called);
}

void collect_indices(const Element& element, std::set<std::string>& names) {
    if (auto index = index_of(element); !index.empty()) names.insert(std::move(index));
    for (const auto& child : element.children) collect_indices(child, names);
}

bool contains(const Element& element, std::string_view name) {
    return std::ranges::any_of(element.children, [&](const Element& child) {
        return child.name == name || (child.name != "group" && contains(child, name));
    });
}

bool is_part(const Element& element) noexcept { return stands_in_list(kinds_of_parts, element.name); }

void add_copies(std::vector<Element>& others, const Element& owner, const Replacements& replacements, bool first) {
    for (const auto& part : owner.children) {
        if (!is_part(part)) continue;
        auto& copy = others.emplace_back(part);
        if (!first) copy.comments.clear();
        replace_names(copy, replacements);
    }
}

void visit_below(Element& owner, const std::function<bool(Element&)>& visit) {
    for (auto& child : owner.children)
        if (visit(child)) visit_below(child, visit);
}

void replace_children(Element& owner, const std::function<bool(Element& child, std::vector<Element>& others)>& others) {
    std::vector<Element> all, made;
    for (auto& child : owner.children) {
        made.clear();
        if (!others(child, made)) {
            all.push_back(std::move(child));
            continue;
        }
        if (!made.empty()) {
            auto& comments = made.front().comments;
            comments.insert(comments.begin(), child.comments.begin(), child.comments.end());
        }
        std::move(made.begin(), made.end(), std::back_inserter(all));
    }
    owner.children = std::move(all);
}

void visit_owners(Element& owner, const std::function<void(Element&, const std::string& prefix)>& visit,
                  const std::function<bool(const Element&)>& entered, const std::string& prefix) {
    for (auto& child : owner.children) {
        if (child.name == "option" || child.name == "otherwise" || child.name == "manager")
            visit_owners(child, visit, entered, prefix);
        if (child.name == "parallel" && child.value("shape") == "task" && entered(child))
            visit_owners(child, visit, entered, prefix + child.value("name") + "/");
    }
    visit(owner, prefix);
}

bool lies_in(std::string_view part, std::string_view of) noexcept {
    return part.starts_with(of) && (part.size() == of.size() || part[of.size()] == '/');
}

}  // namespace penstock::language
