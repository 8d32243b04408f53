// What passes do to elements: names replaced in their expressions, prefixes put before the names of parts.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "language/expression/expression.hpp"
#include "language/xml/document.hpp"

namespace penstock::language {

/// Replaces names in all expressions at and below an element, but not where an index of the same name hides them.
/// Throws ExpressionError.
void replace_names(Element& element, Replacements replacements);
/// Puts a prefix before what the element, and what stands beside its parts in repetitions, options and managers, calls
/// parts of this scope.
void put_prefix(Element& element, const std::string& prefix);
/// Whether an attribute of an element says which parts there are, how many, or how they are called.
bool is_structural(const Element& element, const Attribute& attribute);
/// The names in those expressions at and below an element that are `wanted`.
template <class Wanted>
void collect_names(const Element& element, std::set<std::string>& names, const Wanted& wanted) {
    for (const auto& each : element.attributes)
        if (wanted(element, each)) names.merge(names_in(each.value));
    for (const auto& child : element.children)
        if (child.name != "group") collect_names(child, names, wanted);
}
/// The indices of repetitions and parallel parts below an element.
void collect_indices(const Element& element, std::set<std::string>& names);

/// Whether there is an element of that name below.
bool contains(const Element& element, std::string_view name);
/// What stands in applications, groups and options: not their parameters, events, ports.
bool is_part(const Element& element) noexcept;
/// Copies of the parts of an owner, with these names replaced, behind the others; without comments, unless these are
/// the `first` copies.
void add_copies(std::vector<Element>& others, const Element& owner, const Replacements& replacements, bool first);
/// Calls `visit` for each child of `owner` and, where `visit` says so, for their children, and so on.
void visit_below(Element& owner, const std::function<bool(Element&)>& visit);
/// Calls `visit` for each owner of parts, those within first: this one, its options and managers, and its parallel
/// tasks, where these are to be `entered`. `prefix`: how the names of the parts begin.
void visit_owners(
    Element& owner, const std::function<void(Element&, const std::string& prefix)>& visit,
    const std::function<bool(const Element&)>& entered = [](const Element&) { return true; },
    const std::string& prefix = "");
/// Replaces each child for which `others` returns something by that, in place; its comments go to the first.
void replace_children(Element& owner, const std::function<bool(Element& child, std::vector<Element>& others)>& others);

/// Whether `part` is `of`, or a part of it.
bool lies_in(std::string_view part, std::string_view of) noexcept;

}  // namespace penstock::language
