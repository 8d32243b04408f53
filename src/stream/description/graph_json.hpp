// Parts of what json_of() writes that others write, too.
#pragma once

#include <string>

#include "penstock/graph.hpp"

namespace penstock::streaming {

/// "inputs", "outputs" and "settings" of a filter, as members of a JSON object.
std::string json_of_parts(const FilterDescription& filter);

}  // namespace penstock::streaming
