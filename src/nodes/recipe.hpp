// How a filter of the program is made in another process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/components.hpp"

namespace penstock::nodes {

/// Of which form, a name in that form, and bytes.
///   "component"  a class that both sides know by name
///   "build"      a type of the program itself, where the agent is the same build of it
///   others       of languages: FilterKind::recipe()
struct Recipe {
    std::string form;
    std::string name;
    std::vector<std::byte> bytes;
};

/// Where something lies in the program, so that another process of the same build finds it.
struct BuildPlace {
    std::string identity{};  ///< of the object file
    std::uint64_t offset = 0;
};
/// Throws UsageError where the program was linked without a build-id.
BuildPlace place_in_build(const void* address);
/// Null where this process has no such object file.
const void* address_in_build(const std::string& identity, std::uint64_t offset);

/// Nothing, with `why`, where it cannot be made anywhere else.
std::optional<Recipe> recipe_of(const streaming::FilterKind& kind, const std::string& type,
                                const Components& components, std::string& why);
/// Throws UsageError, saying what is missing here.
std::shared_ptr<const streaming::FilterKind> kind_of(const Recipe& recipe, const Components& components);

}  // namespace penstock::nodes
