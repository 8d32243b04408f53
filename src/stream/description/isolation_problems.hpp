// What a graph asks for that the run's targets, worker processes or threads, cannot do.
#pragma once

#include <string>
#include <vector>

#include "stream/description/model.hpp"

namespace penstock::streaming {

class RunCore;

/// In words; also what threads cannot do for it. `before`: the graph that an edit changes, or null.
std::vector<std::string> isolation_problems(const RunCore& core, const Model& model, const Model* before = nullptr);

}  // namespace penstock::streaming
