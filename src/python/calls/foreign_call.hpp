// The task that calls a C function: a plan and words, in the smallest of three closures or in a box.
//
// The task layer knows a procedure by its type. All foreign calls of one size have one type, so procedure::Registered
// is specialised here: its number is that of the plan being issued, and with it every body has its own name in the
// trace, its own decision about prefetching, and blocks that say which argument is read and which is written. Calls
// with resident data and calls in worker processes do the same.
#pragma once

#include <iterator>

#include "penstock/dependences.hpp"
#include "python/calls/call_plan.hpp"

namespace penstock::python {

/// A plan and its words. `Values`: an array inside the descriptor (4 words stay in its line, 23 fill the extension), or
/// a vector for any number of them.
template <class Values>
struct ForeignCall {
    using EntryByPlan = void;
    const CallPlan* plan;
    Values words;

    void operator()() const { plan->run(std::data(words)); }
    std::size_t describe(ArgumentBlock* blocks) const noexcept { return plan->describe(std::data(words), blocks); }
};

inline constexpr std::size_t line_words = 4, middle_words = 11, extension_words = 23;
static_assert(sizeof(ForeignCall<std::array<std::uint64_t, line_words>>) == sizeof(TaskPayload::line));
static_assert(sizeof(ForeignCall<std::array<std::uint64_t, extension_words>>) == sizeof(Extension));

/// Calls `use` with the type of the smallest `Values` that hold so many words.
template <class Use>
auto with_room_for(std::size_t words, Use&& use) {
    if (words <= line_words) return use(std::type_identity<std::array<std::uint64_t, line_words>>{});
    if (words <= middle_words) return use(std::type_identity<std::array<std::uint64_t, middle_words>>{});
    if (words <= extension_words) return use(std::type_identity<std::array<std::uint64_t, extension_words>>{});
    return use(std::type_identity<std::vector<std::uint64_t>>{});
}
/// Calls `issue` with the smallest Closure<Values>{owner, words}, in a box where they are a vector.
template <template <class> class Closure, class Owner, class Issue>
Handle issue_smallest(Owner* owner, std::span<const std::uint64_t> words, Issue&& issue) {
    return with_room_for(words.size(), [&]<class Values>(std::type_identity<Values>) {
        Closure<Values> call{owner, {}};
        if constexpr (std::is_same_v<Values, std::vector<std::uint64_t>>) {
            call.words.assign(words.begin(), words.end());
            return issue(boxed(std::move(call)));
        } else {
            std::ranges::copy(words, call.words.begin());
            return issue(std::move(call));
        }
    });
}

/// The entry of the plan that this thread is issuing, for closures whose type does not say which.
inline thread_local constinit std::uint32_t entry_to_issue = 0;
struct EntryToIssue {
    operator std::uint32_t() const noexcept { return entry_to_issue; }
};

/// The entry of a closure whose type does not say which body it calls. Where it has `describe`, that tells the memory
/// of its arguments.
template <class F>
struct EntryByPlan {
    using Task = procedure::Call<F, procedure::Parameters<>>;
    static constexpr bool described = requires(const F& closure) { closure.describe(nullptr); };

    static std::size_t describe(const PackedArguments& packed, ArgumentBlock* blocks) noexcept {
        if constexpr (described) {
            using Pack = typename Task::Pack;
            if constexpr (!Pack::layout.boxed) {
                if (!packed.boxed) return Pack::template load<0>(packed).describe(blocks);
            }
            return std::get<0>(*Pack::box(packed)).describe(blocks);
        } else {
            return 0;
        }
    }
    static constexpr Entry entry{&Task::run, &Task::discard, &describe, "a compiled body", described, described};
    static constexpr EntryToIssue number{};
};
template <class F>
concept HasEntryByPlan = requires { typename F::EntryByPlan; };
/// A closure that is called by its run(), with nothing but the local store.
template <class F>
concept RunsInStore = requires { typename F::RunsInStore; };

/// How a closure becomes a task: with options, after others.
using OptionsOrHandles = std::variant<CallOptions, std::vector<Handle>>;

/// Issues a closure to a target, or to any, by a machine's plain way (null) or with options, which have a target of
/// their own. Not after others.
template <class F>
Handle issue_closure(Machine& machine, int target, const OptionsOrHandles* way, F&& closure) {
    return way == nullptr ? machine.initiator().call_on(target, std::forward<F>(closure))
                          : machine.initiator().call_on(std::get<CallOptions>(*way), std::forward<F>(closure));
}
inline bool comes_after_others(const OptionsOrHandles* way) noexcept {
    return way != nullptr && std::holds_alternative<std::vector<Handle>>(*way);
}

/// Calls `issue` with the closure of a plan and its words (plan.counts().total() + 1 of them).
template <class Issue>
Handle issue_foreign(const CallPlan& plan, const std::uint64_t* words, Issue&& issue) {
    entry_to_issue = plan.entry();
    return issue_smallest<ForeignCall>(&plan, {words, plan.counts().total() + 1}, std::forward<Issue>(issue));
}

}  // namespace penstock::python

template <penstock::python::HasEntryByPlan F>
struct penstock::procedure::Registered<penstock::procedure::Call<F, penstock::procedure::Parameters<>>,
                                       penstock::procedure::ClosureName<F>> : penstock::python::EntryByPlan<F> {};
template <penstock::python::RunsInStore F>
struct penstock::procedure::ParametersOf<F> {
    using List = Parameters<>;
    using Result = void;
};
