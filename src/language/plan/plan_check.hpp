// The rules of graphs, for a plan: as it is in the beginning, and with each option the other way round.
#pragma once

#include <vector>

#include "language/plan/plan.hpp"

namespace penstock::language {

/// `place`: of what concerns the whole application.
void check_plan(const Plan& plan, const SourcePlace& place, std::vector<Finding>& findings);

}  // namespace penstock::language
