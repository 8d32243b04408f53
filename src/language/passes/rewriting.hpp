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
/// The names in all expressions at and below an element.
void collect_names(const Element& element, std::set<std::string>& names);
/// The same for those attributes on which it depends which parts there are, how many, and how they are called.
void collect_structural_names(const Element& element, std::set<std::string>& names);
/// The indices of repetitions and parallel parts below an element.
void collect_indices(const Element& element, std::set<std::string>& names);

/// Whether there is an element of that name below.
bool contains(const Element& element, std::string_view name);
/// What stands in applications, groups and options: not their parameters, events, ports.
bool is_part(const Element& element) noexcept;
/// Calls `visit` for each child of `owner` and, where `visit` says so, for their children, and so on.
void visit_below(Element& owner, const std::function<bool(Element&)>& visit);
/// Replaces each child for which `others` returns something by that, in place; its comments go to the first.
void replace_children(Element& owner, const std::function<bool(Element& child, std::vector<Element>& others)>& others);

/// "left/scale" of "left/scale.out".
std::string part_of(std::string_view endpoint);
/// Whether `part` is `of`, or a part of it.
bool lies_in(std::string_view part, std::string_view of) noexcept;

}  // namespace penstock::language
