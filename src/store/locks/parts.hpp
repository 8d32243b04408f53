// What all ranks of a team have of one object: a part at each of them, mapped by all.
#pragma once

#include <vector>

#include "penstock/rank.hpp"

namespace penstock {

/// The parts in what Rank::exchange gave, in the order of the ranks. Each rank's part is constructed before anybody is
/// granted it, by being all zeroes.
template <class Part>
std::vector<Part*> parts_in(const std::vector<RankMemory>& memory) {
    std::vector<Part*> parts;
    for (const auto& one : memory) parts.push_back(reinterpret_cast<Part*>(one.data()));
    return parts;
}

}  // namespace penstock
