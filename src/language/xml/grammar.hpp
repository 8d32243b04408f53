// Which elements there are, which attributes each has, and what may stand in it. The schema
// share/penstock/application.rng says the same.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "language/xml/document.hpp"

namespace penstock::language {

inline constexpr std::string_view namespace_name = "urn:penstock:application:1";

/// Finds what is wrong with names, attributes and nesting, below and at `root`, which should be one of `roots`.
void check_grammar(const Element& root, std::span<const std::string_view> roots, std::vector<Finding>& findings);

}  // namespace penstock::language
