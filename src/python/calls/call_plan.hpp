// How the arguments of one Python call become the parameters of one C function.
//
// A C signature alone does not say whether T*, intptr_t, intptr_t, intptr_t is a strided argument, or a contiguous one
// and two scalars; with the number of arguments and which of them are arrays it does. So a plan belongs to a signature
// and a pattern of arrays and scalars, and it is made once for each.
#pragma once

#include <vector>

#include "python/calls/c_call.hpp"
#include "python/calls/element.hpp"

namespace penstock::python {

/// Set by a body in this thread that cannot throw into C++ (a function of numba that raised): see
/// penstock/just_in_time.py.
inline thread_local constinit bool body_raised = false;
/// Takes note of that. Throws Error.
[[noreturn]] void refuse_raised();

/// One parameter of a C function. A pointer to `other` is void*.
struct Parameter {
    Element element;
    bool pointer = false;
    bool constant = false;  ///< of a pointer: to const
};

/// What one Python argument becomes.
struct Slot {
    enum class Form : std::uint8_t { scalar, contiguous, strided };
    Form form = Form::scalar;
    Access access = Access::in;
    bool constant = false;
    Element element;
    std::array<std::uint16_t, 4>
        words{};  ///< where its words go: value; or address, elements; or address, rows, columns, pitch

    bool is_array() const noexcept { return form != Form::scalar; }
    /// How many of these.
    std::size_t count() const noexcept { return form == Form::scalar ? 1 : form == Form::contiguous ? 2 : 4; }
    /// The memory of an array, given the words of its call.
    ArgumentBlock memory(const std::uint64_t* given) const noexcept;
};

/// What an argument is, as far as a plan depends on it: an Access, or no array.
enum class ArgumentKind : std::uint8_t { in, out, inout, scalar };
static_assert(static_cast<int>(ArgumentKind::out) == static_cast<int>(Access::out) &&
              static_cast<int>(ArgumentKind::inout) == static_cast<int>(Access::inout));

/// Made once for a signature and a pattern of arguments, and kept for ever: the entry of the task layer points into it.
class CallPlan {
  public:
    /// Throws ArgumentError, and UsageError for what this processor's calling convention does not carry.
    CallPlan(const std::string& name, const std::string& signature, const std::vector<Parameter>& parameters,
             std::vector<ArgumentKind> arguments);
    CallPlan(const CallPlan&) = delete;
    CallPlan& operator=(const CallPlan&) = delete;

    const std::string& name() const noexcept { return name_; }
    const std::vector<Slot>& slots() const noexcept { return slots_; }
    const std::vector<ArgumentKind>& arguments() const noexcept { return arguments_; }
    const WordCounts& counts() const noexcept { return counts_; }
    /// Number of this plan's entry in the task layer.
    std::uint32_t entry() const noexcept { return number_; }
    /// Number of its entry for calls with resident data, made at the first one. `functions`: what runs these. With the
    /// interpreter's lock.
    std::uint32_t resident_entry(const Entry& functions) const;

    /// Runs the function at words[0] with the words behind it.
    void run(const std::uint64_t* words) const {
        call_c(words[0], words + 1, counts_);
        if (body_raised) [[unlikely]]
            refuse_raised();
    }
    /// The memory of each array, for the prefetcher and the trace.
    std::size_t describe(const std::uint64_t* words, ArgumentBlock* blocks) const noexcept;

  private:
    void assign_forms(const std::string& signature, const std::vector<Parameter>& parameters);
    void assign_words(const std::vector<Parameter>& parameters);

    std::string name_;
    std::vector<ArgumentKind> arguments_;
    std::vector<Slot> slots_;
    WordCounts counts_;
    Entry entry_{};
    std::uint32_t number_ = 0;
    mutable Entry resident_entry_{};
    mutable std::uint32_t resident_number_ = 0;
};

/// A name and a signature, with its plans. Kept for ever, one for each name and signature.
class Procedure {
  public:
    /// The one with this name and signature.
    static Procedure& find(const std::string& name, const std::string& signature,
                           const std::vector<Parameter>& parameters);

    const std::string& name() const noexcept { return name_; }
    const std::string& signature() const noexcept { return signature_; }
    /// The plan for these arguments. Throws as CallPlan does.
    const CallPlan& plan(const std::vector<ArgumentKind>& arguments);

  private:
    Procedure(std::string name, std::string signature, std::vector<Parameter> parameters)
        : name_(std::move(name)), signature_(std::move(signature)), parameters_(std::move(parameters)) {}

    std::string name_;
    std::string signature_;
    std::vector<Parameter> parameters_;
    std::vector<std::unique_ptr<CallPlan>> plans_;
};

}  // namespace penstock::python
