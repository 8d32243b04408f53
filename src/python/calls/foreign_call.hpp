// The task that calls a C function: a plan and words, in the smallest of three closures or in a box.
//
// The task layer knows a procedure by its type. All foreign calls of one size have one type, so procedure::Registered
// is specialised here: its number is that of the plan being issued, and with it every body has its own name in the
// trace, its own decision about prefetching, and blocks that say which argument is read and which is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <variant>
#include <vector>

#include "penstock/dependences.hpp"
#include "penstock/machine.hpp"
#include "python/calls/call_plan.hpp"

namespace penstock::python {

/// A plan and its words. `Values`: an array inside the descriptor (4 words stay in its line, 23 fill the extension), or
/// a vector for any number of them.
template <class Values>
struct ForeignCall {
    const CallPlan* plan;
    Values words;

    void operator()() const { plan->run(std::data(words)); }
    std::size_t describe(ArgumentBlock* blocks) const noexcept { return plan->describe(std::data(words), blocks); }
};
template <std::size_t capacity>
using ShortForeignCall = ForeignCall<std::array<std::uint64_t, capacity>>;
using LongForeignCall = ForeignCall<std::vector<std::uint64_t>>;

inline constexpr std::size_t line_words = 4, middle_words = 11, extension_words = 23;
static_assert(sizeof(ShortForeignCall<line_words>) == sizeof(TaskPayload::line));
static_assert(sizeof(ShortForeignCall<extension_words>) == sizeof(Extension));

/// Entry functions for calls of this many words; the name is the plan's to set.
Entry foreign_entry(std::size_t words) noexcept;

/// The entry of the plan that this thread is issuing, for closures whose type does not say which.
inline thread_local constinit std::uint32_t entry_to_issue = 0;
struct EntryToIssue {
    operator std::uint32_t() const noexcept { return entry_to_issue; }
};

/// The entry of a closure whose type does not say which body it calls, and that tells nothing of its arguments' memory.
template <class F>
struct EntryByPlan {
    using Task = procedure::Call<F, procedure::Parameters<>>;
    static std::size_t describe_nothing(const PackedArguments&, ArgumentBlock*) noexcept { return 0; }

    static constexpr Entry entry{&Task::run, &Task::discard, &describe_nothing, "a compiled body", false, false};
    static constexpr EntryToIssue number{};
};

/// How a closure becomes a task: with options, after others.
using OptionsOrHandles = std::variant<CallOptions, std::vector<Handle>>;

/// The same as issue_foreign below, by a machine's longer ways. `target` for calls after others; options have their
/// own.
Handle issue_foreign_by(Machine& machine, int target, const OptionsOrHandles& way, const CallPlan& plan,
                        const std::uint64_t* words);

/// The same in the order of tags. `blocks`: the memory of its arguments. `addresses`: words that hold addresses.
Handle issue_foreign_in_order(Dependences& order, int target, const CallPlan& plan, const std::uint64_t* words,
                              std::span<const ArgumentBlock> blocks, std::span<const std::uint32_t> addresses);

/// Issues the plan with these words (plan.counts().total() + 1 of them) to a target, or to any.
Handle issue_foreign(Initiator& initiator, int target, const CallPlan& plan, const std::uint64_t* words);

}  // namespace penstock::python
