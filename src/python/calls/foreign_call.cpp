#include "python/calls/foreign_call.hpp"

namespace penstock::python {
namespace {

template <class Issue>
Handle issue_plan(const CallPlan& plan, const std::uint64_t* words, Issue&& issue) {
    entry_to_issue = plan.entry();
    return issue_smallest<ForeignCall>(&plan, {words, plan.counts().total() + 1}, std::forward<Issue>(issue));
}

}  // namespace

Handle issue_foreign(Machine& machine, int target, const OptionsOrHandles* way, const CallPlan& plan,
                     const std::uint64_t* words) {
    return issue_plan(plan, words, [&](auto&& closure) {
        if (!comes_after_others(way)) [[likely]]
            return issue_closure(machine, target, way, std::move(closure));
        const auto after = machine.after(std::span<const Handle>(std::get<std::vector<Handle>>(*way)));
        return target == Initiator::any_target ? after.call(std::move(closure))
                                               : after.on(target).call(std::move(closure));
    });
}

Handle issue_foreign_in_order(Dependences& order, int target, const CallPlan& plan, const std::uint64_t* words,
                              std::span<const ArgumentBlock> blocks, std::span<const std::uint32_t> addresses) {
    std::vector<std::uint32_t> places;
    for (const auto word : addresses)
        places.push_back(static_cast<std::uint32_t>(sizeof(const CallPlan*) + word * sizeof(std::uint64_t)));
    return issue_plan(plan, words,
                      [&](auto&& closure) { return order.call_blocks_on(target, blocks, places, std::move(closure)); });
}

}  // namespace penstock::python
