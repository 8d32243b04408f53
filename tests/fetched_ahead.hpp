// How many tasks had their inputs fetched ahead.
#pragma once

#include <cstdint>
#include <variant>

#include "penstock/machine.hpp"

namespace penstock::tests {

template <class Work>
std::uint64_t fetched_ahead(Machine& machine, Work&& work) {
    const auto before = machine.snapshot();
    work();
    const auto after = machine.snapshot() - before;
    std::uint64_t found = 0;
    for (const auto& [key, entry] : after.tracks())
        if (key.first == trace::Role::target) found += std::get<trace::TargetTotals>(entry.totals).prefetched_tasks;
    return found;
}

}  // namespace penstock::tests
