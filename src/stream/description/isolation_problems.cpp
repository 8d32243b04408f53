#include "stream/description/isolation_problems.hpp"

#include "stream/isolated/filter_proxy.hpp"
#include "stream/isolated/isolated_run.hpp"
#include "stream/run/run_core.hpp"

namespace penstock::streaming {

std::vector<std::string> isolation_problems(const RunCore& core, const Model& model, const Model* before) {
    std::vector<std::string> problems;
    for (const auto& filter : model.filters) {
        const auto& options = filter.options;
        const bool in_worker = core.isolated() != nullptr && options.isolation != Isolation::none;
        if (options.isolation == Isolation::process && !in_worker)
            problems.push_back("filter '" + filter.name +
                               "' is to live in a worker process, and the machine has none (Isolation::process)");
        if (options.isolation == Isolation::none && core.isolated() != nullptr &&
            !(options.targets.empty() && options.near.empty()))
            problems.push_back("filter '" + filter.name +
                               "' is to live in the program, and cannot have a place among targets that are worker "
                               "processes");
        const auto limit = options.time_limit;
        if (limit.count() == 0) continue;
        if (!in_worker)
            problems.push_back("filter '" + filter.name +
                               "' has a time limit, which only worker processes keep (Isolation::process)");
        else if (limit < std::chrono::milliseconds(1) || limit > std::chrono::minutes(27))
            problems.push_back("filter '" + filter.name + "' has a time limit that is not from 1 ms to 27 minutes");
    }
    if (core.isolated() == nullptr) return problems;
    for (const auto& filter : model.filters) {
        if (filter.kind->external || filter.options.isolation == Isolation::none) continue;
        const auto* const same = before == nullptr ? nullptr : before->filter(filter.id);
        if (same == nullptr) {
            if (const auto why = why_not_carried(*filter.kind, *filter.first, core.isolated()->heap()); !why.empty())
                problems.push_back("filter '" + filter.name + "' of type " + std::string(filter.first->type()) +
                                   " cannot be made in a worker process: " + why +
                                   " (with Isolation::none of its own it stays in the program)");
            continue;
        }
        const bool begins_afresh = filter.first->has_state() || filter.kind->may_be_copied;
        for (int copy = 0; !begins_afresh && copy < filter.options.copies; ++copy)
            if (const int target = model.place(filter, copy); target >= 0 && target != before->place(*same, copy)) {
                problems.push_back(
                    "filter '" + filter.name +
                    "' cannot go to another worker process: it has no state() that could go with it, and does "
                    "not say that it may be copied");
                break;
            }
    }
    for (const auto& removal : model.removals) {
        if (!removal.take_over || before == nullptr) continue;
        const auto* const old = before->filter(removal.filter);
        const auto* const successor = model.filter(removal.successor);
        if (old == nullptr || successor == nullptr || successor->options.isolation == Isolation::none ||
            (old->first->has_state() && successor->first->has_state()))
            continue;
        problems.push_back("filter '" + old->name +
                           "' cannot be taken over between worker processes: both it and its successor need a state()");
    }
    return problems;
}

}  // namespace penstock::streaming
