// Cycles of a graph: which filters are in one, and which cycles nobody declared. Linear in filters and streams.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "stream/description/model.hpp"

namespace penstock::streaming {

/// Which cycle each filter is in: numbers from 1, 0 for none. By position in model.filters.
std::vector<std::size_t> cycles_of(const Model& model);

/// Says of each cycle without a feedback stream that it is not declared, and of each feedback stream that closes no
/// cycle that it does not.
void find_undeclared_cycles(const Model& model, const std::function<void(std::string)>& say);

}  // namespace penstock::streaming
