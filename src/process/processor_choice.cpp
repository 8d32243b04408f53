#include <algorithm>
#include <set>
#include <tuple>

#include "process/processor_budget.hpp"

namespace penstock::budget {

std::vector<int> chosen(const Topology& topology, const Claims& claims, int wanted, int near) {
    const auto claims_of = [&](int index) {
        const auto found = claims.find(index);
        return found == claims.end() ? 0 : found->second;
    };
    std::map<int, int> used_cores;
    std::vector<const Processor*> left;
    for (const auto& processor : topology.processors()) {
        used_cores[processor.core] += claims_of(processor.index);
        left.push_back(&processor);
    }
    int centre = topology.find(near) != nullptr ? near : -1;
    const auto rank = [&](const Processor* processor) {
        const auto away = centre < 0 ? Distance::same_processor : topology.distance(centre, processor->index);
        return std::tuple(claims_of(processor->index), processor->index != near, used_cores[processor->core], away,
                          processor->index);
    };
    std::vector<int> taken;
    while (!left.empty() && static_cast<int>(taken.size()) < wanted) {
        const auto best = std::min_element(left.begin(), left.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
        taken.push_back((*best)->index);
        ++used_cores[(*best)->core];
        if (centre < 0) centre = taken.front();
        left.erase(best);
    }
    return taken;
}

}  // namespace penstock::budget
