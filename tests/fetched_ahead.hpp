// What the trace says of the jobs of firings: how many had their inputs fetched ahead, and how many chains ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// How many chains the timeline shows.
template <class Work>
std::size_t chains(Machine& machine, Work&& work) {
    machine.start_timeline();
    work();
    machine.stop_timeline();
    const auto text = machine.timeline_json();
    std::size_t found = 0;
    for (auto at = text.find("\"chain\""); at != text.npos; at = text.find("\"chain\"", at + 1)) ++found;
    return found;
}

}  // namespace penstock::tests
