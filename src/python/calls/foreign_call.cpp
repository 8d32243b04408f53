#include "python/calls/foreign_call.hpp"

#include <algorithm>
#include <utility>

namespace penstock::python {
namespace {

/// Calls `issue` with the smallest closure that holds the plan's words: as large as its entry takes it for
/// (foreign_entry).
template <class Issue>
Handle issue_smallest(const CallPlan& plan, const std::uint64_t* words, Issue&& issue) {
    entry_to_issue = plan.entry();
    const std::size_t count = plan.counts().total() + 1;
    const auto issue_sized = [&]<std::size_t capacity>(std::integral_constant<std::size_t, capacity>) {
        ShortForeignCall<capacity> call{&plan, {}};
        std::copy_n(words, count, call.words.begin());
        return issue(std::move(call));
    };
    if (count <= line_words) return issue_sized(std::integral_constant<std::size_t, line_words>{});
    if (count <= middle_words) return issue_sized(std::integral_constant<std::size_t, middle_words>{});
    if (count <= extension_words) return issue_sized(std::integral_constant<std::size_t, extension_words>{});
    return issue(boxed(LongForeignCall{&plan, {words, words + count}}));
}

}  // namespace

Entry foreign_entry(std::size_t words) noexcept {
    return words <= line_words        ? EntryByPlan<ShortForeignCall<line_words>>::entry
           : words <= middle_words    ? EntryByPlan<ShortForeignCall<middle_words>>::entry
           : words <= extension_words ? EntryByPlan<ShortForeignCall<extension_words>>::entry
                                      : EntryByPlan<LongForeignCall>::entry;
}

Handle issue_foreign(Machine& machine, int target, const OptionsOrHandles* way, const CallPlan& plan,
                     const std::uint64_t* words) {
    return issue_smallest(plan, words, [&](auto&& closure) {
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
    return issue_smallest(
        plan, words, [&](auto&& closure) { return order.call_blocks_on(target, blocks, places, std::move(closure)); });
}

}  // namespace penstock::python
