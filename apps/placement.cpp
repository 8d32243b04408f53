#include "apps/placement.hpp"

#include <algorithm>
#include <span>

#include "apps/team.hpp"
#include "penstock/machine.hpp"
#include "penstock/topology.hpp"

namespace penstock::apps {
namespace {

void tell_processor(std::span<int> processor) { processor[0] = current_processor(); }

// The processor that the caller runs on, if no target has it, or else the first that none has.
int free_processor(std::span<const int> taken) {
    const auto is_free = [&](int index) { return std::find(taken.begin(), taken.end(), index) == taken.end(); };
    const Topology& topology = Topology::here();
    const int here = current_processor();
    if (topology.find(here) != nullptr && is_free(here)) return here;
    for (const auto& processor : topology.processors()) {
        if (is_free(processor.index)) return processor.index;
    }
    return Team::anywhere;
}

}  // namespace

std::vector<int> processors_of(Machine& machine) {
    const auto targets = static_cast<std::size_t>(machine.targets());
    std::vector<int> processors(targets + 1, Team::anywhere);
    if (machine.targets() >= Topology::here().usable()) return processors;
    for (std::size_t t = 0; t < targets; ++t) {
        machine.on(static_cast<int>(t)).call<tell_processor>(out(std::span{processors}.subspan(t + 1, 1)));
    }
    machine.barrier();
    processors[0] = free_processor(std::span{processors}.subspan(1));
    return processors;
}

}  // namespace penstock::apps
