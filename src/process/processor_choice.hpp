// Which processors a machine should take, given what others have.
#pragma once

#include <map>
#include <vector>

#include "penstock/topology.hpp"

namespace penstock::budget {

/// How many claims each processor has; absent means none.
using Claims = std::map<int, int>;

/// At most `wanted` processors, each once, best first: the least claimed; then `near` itself; then those whose core is
/// least used; then those closest to `near` (or to the first chosen); then by index.
std::vector<int> chosen(const Topology& topology, const Claims& claims, int wanted, int near);

}  // namespace penstock::budget
