#include "python/calls/foreign_call.hpp"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

namespace penstock::python {
namespace {

template <class F>
using CallOf = procedure::Call<F, procedure::Parameters<>>;

/// Blocks of a task whose closure is F.
template <class F>
std::size_t describe(const PackedArguments& packed, ArgumentBlock* blocks) noexcept {
    using Pack = typename CallOf<F>::Pack;
    if constexpr (!Pack::layout.boxed) {
        if (!packed.boxed) return Pack::template load<0>(packed).describe(blocks);
    }
    return std::get<0>(*Pack::box(packed)).describe(blocks);
}

template <class F>
constexpr Entry entry_for{&CallOf<F>::run, &CallOf<F>::discard, &describe<F>, "a compiled body", true, true};

}  // namespace

template <class F>
inline constexpr bool is_foreign = false;
template <class Values>
inline constexpr bool is_foreign<ForeignCall<Values>> = true;
template <class F>
concept Foreign = is_foreign<F>;

}  // namespace penstock::python

template <penstock::python::Foreign F>
struct penstock::procedure::Registered<penstock::procedure::Call<F, penstock::procedure::Parameters<>>,
                                       penstock::procedure::ClosureName<F>> {
    static constexpr const Entry& entry = python::entry_for<F>;
    static constexpr python::EntryToIssue number{};
};

namespace penstock::python {
namespace {

/// Calls `issue` with the smallest closure that holds the plan's words: as large as its entry takes it for
/// (foreign_entry).
template <class Issue>
Handle issue_closure(const CallPlan& plan, const std::uint64_t* words, Issue&& issue) {
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
    return words <= line_words        ? entry_for<ShortForeignCall<line_words>>
           : words <= middle_words    ? entry_for<ShortForeignCall<middle_words>>
           : words <= extension_words ? entry_for<ShortForeignCall<extension_words>>
                                      : entry_for<LongForeignCall>;
}

Handle issue_foreign_by(Machine& machine, int target, const OptionsOrHandles& way, const CallPlan& plan,
                        const std::uint64_t* words) {
    return issue_closure(plan, words, [&](auto&& closure) {
        if (const auto* const options = std::get_if<CallOptions>(&way))
            return machine.initiator().call_on(*options, std::move(closure));
        const auto after = machine.after(std::span<const Handle>(std::get<std::vector<Handle>>(way)));
        return target == Initiator::any_target ? after.call(std::move(closure))
                                               : after.on(target).call(std::move(closure));
    });
}

Handle issue_foreign_in_order(Dependences& order, int target, const CallPlan& plan, const std::uint64_t* words,
                              std::span<const ArgumentBlock> blocks, std::span<const std::uint32_t> addresses) {
    std::vector<std::uint32_t> places;
    for (const auto word : addresses)
        places.push_back(static_cast<std::uint32_t>(sizeof(const CallPlan*) + word * sizeof(std::uint64_t)));
    return issue_closure(
        plan, words, [&](auto&& closure) { return order.call_blocks_on(target, blocks, places, std::move(closure)); });
}

Handle issue_foreign(Initiator& initiator, int target, const CallPlan& plan, const std::uint64_t* words) {
    return issue_closure(plan, words, [&](auto&& closure) { return initiator.call_on(target, std::move(closure)); });
}

}  // namespace penstock::python
