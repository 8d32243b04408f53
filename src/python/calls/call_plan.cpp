#include "python/calls/call_plan.hpp"

#include "python/calls/foreign_call.hpp"

namespace penstock::python {
namespace {

bool is_floating(const Parameter& parameter) noexcept {
    return !parameter.pointer && parameter.element.kind == ElementKind::floating;
}

bool is_size(const Parameter& parameter) noexcept {
    return !parameter.pointer && parameter.element.bytes == sizeof(std::intptr_t) &&
           (parameter.element.kind == ElementKind::integer || parameter.element.kind == ElementKind::natural);
}

constexpr const char* convention =
    "the body takes T*, intptr_t n for a contiguous argument, T*, intptr_t rows, intptr_t columns, intptr_t pitch for "
    "a strided one, and scalars as they are";

}  // namespace

void refuse_raised() {
    body_raised = false;
    throw Error(
        "the function of numba raised an exception, which compiled code cannot pass on; call it directly, or its "
        ".py_func, with these arguments to see it");
}

CallPlan::CallPlan(const std::string& name, const std::string& signature, const std::vector<Parameter>& parameters,
                   std::vector<ArgumentKind> arguments)
    : name_(name), arguments_(std::move(arguments)) {
    assign_forms(signature, parameters);
    assign_words(parameters);
    entry_ = with_room_for(counts_.total() + 1, []<class Values>(std::type_identity<Values>) {
        return EntryByPlan<ForeignCall<Values>>::entry;
    });
    entry_.name = name_;
    number_ = register_entry(entry_);
}

std::uint32_t CallPlan::resident_entry(const Entry& functions) const {
    if (resident_number_ == 0) {
        resident_entry_ = functions;
        resident_entry_.name = name_;
        resident_number_ = register_entry(resident_entry_);
    }
    return resident_number_;
}

void CallPlan::assign_forms(const std::string& signature, const std::vector<Parameter>& parameters) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
        const int number = static_cast<int>(i) + 1;
        Slot slot;
        const bool array = arguments_[i] != ArgumentKind::scalar;
        if (at >= parameters.size())
            throw ArgumentError(name_, number, "has no parameter left in " + signature + "; " + convention);
        if (array != parameters[at].pointer)
            throw ArgumentError(name_, number,
                                array
                                    ? "is an array, but its parameter in " + signature + " is no pointer; " + convention
                                    : "is a scalar, but its parameter in " + signature +
                                          " is a pointer; say In(x), Out(x) or InOut(x)");
        slot.element = parameters[at].element;
        slot.words[0] = static_cast<std::uint16_t>(at);
        std::size_t taken = 1;
        if (array) {
            // Up to the next pointer, what the scalars that follow do not take belongs to this array.
            std::size_t next = at + 1, scalars = 0;
            while (next < parameters.size() && !parameters[next].pointer) ++next;
            while (i + 1 + scalars < arguments_.size() && arguments_[i + 1 + scalars] == ArgumentKind::scalar)
                ++scalars;
            taken = next - at - std::min(scalars, next - at);
            bool fits = taken == 2 || taken == 4;
            for (std::size_t p = 1; fits && p < taken; ++p) fits = is_size(parameters[at + p]);
            if (!fits) throw ArgumentError(name_, number, "does not fit " + signature + ": " + convention);
            slot.form = taken == 2 ? Slot::Form::contiguous : Slot::Form::strided;
            slot.access = static_cast<Access>(arguments_[i]);
            slot.constant = parameters[at].constant;
            if (slot.constant && slot.access != Access::in)
                throw ArgumentError(name_, number,
                                    "is written, but its parameter in " + signature + " is const; say In(x)");
            for (std::size_t p = 1; p < taken; ++p) slot.words[p] = static_cast<std::uint16_t>(at + p);
        } else if (slot.element.kind == ElementKind::complex || slot.element.kind == ElementKind::other ||
                   slot.element.bytes > 8 || (slot.element.kind == ElementKind::floating && slot.element.bytes < 4)) {
            throw ArgumentError(name_, number,
                                "has a type that is not passed by value here; pass an array of one element");
        }
        slots_.push_back(slot);
        at += taken;
    }
    if (at != parameters.size())
        throw UsageError("call of " + name_ + ": " + std::to_string(arguments_.size()) + " arguments leave " +
                         std::to_string(parameters.size() - at) + " parameters of " + signature + " without a value; " +
                         convention);
}

void CallPlan::assign_words(const std::vector<Parameter>& parameters) {
    enum class Class { integer, floating, stack };
    std::vector<std::pair<Class, std::uint16_t>> places;
    for (const Parameter& parameter : parameters) {
        const bool floating = is_floating(parameter);
        if (floating && counts_.floating < floating_registers) places.emplace_back(Class::floating, counts_.floating++);
        else if (!floating && counts_.integers < integer_registers)
            places.emplace_back(Class::integer, counts_.integers++);
        else if (counts_.stack < most_stack_words) places.emplace_back(Class::stack, counts_.stack++);
        else
            throw UsageError("call of " + name_ +
                             ": this processor's calling convention carries no further parameter here (" +
                             std::to_string(parameters.size()) + " in all, at most " +
                             std::to_string(floating_registers) + " of them floating point in registers, " +
                             std::to_string(most_stack_words) + " on the stack); collect some of them in an array");
    }
    const std::size_t before[] = {0, counts_.integers, std::size_t{counts_.integers} + counts_.floating};
    const auto word_of = [&](std::uint16_t parameter) {
        const auto [kind, index] = places[parameter];
        return static_cast<std::uint16_t>(1 + before[static_cast<int>(kind)] + index);  // word 0 is the function
    };
    for (Slot& slot : slots_)
        for (std::size_t w = 0; w < slot.count(); ++w) slot.words[w] = word_of(slot.words[w]);
}

ArgumentBlock Slot::memory(const std::uint64_t* given) const noexcept {
    const auto* const base = reinterpret_cast<const std::byte*>(given[words[0]]);
    const std::size_t bytes = std::max<std::size_t>(element.bytes, 1);
    if (form == Form::contiguous) return {base, 1, given[words[1]] * bytes, 0, access};
    const auto pitch = static_cast<std::ptrdiff_t>(given[words[3]]) * static_cast<std::ptrdiff_t>(bytes);
    return {base, given[words[1]], given[words[2]] * bytes, pitch, access};
}

std::size_t CallPlan::describe(const std::uint64_t* words, ArgumentBlock* blocks) const noexcept {
    std::size_t count = 0;
    for (const Slot& slot : slots_) {
        if (!slot.is_array() || count == Entry::max_blocks) continue;
        const ArgumentBlock block = slot.memory(words);
        if (block.rows != 0 && block.row_bytes != 0) blocks[count++] = block;
    }
    return count;
}

Procedure& Procedure::find(const std::string& name, const std::string& signature,
                           const std::vector<Parameter>& parameters) {
    static auto& all = *new std::map<std::pair<std::string, std::string>, std::unique_ptr<Procedure>>;
    auto& found = all[{name, signature}];
    if (found == nullptr) found.reset(new Procedure(name, signature, parameters));
    return *found;
}

const CallPlan& Procedure::plan(const std::vector<ArgumentKind>& arguments) {
    for (const auto& plan : plans_)
        if (plan->arguments() == arguments) return *plan;
    plans_.push_back(std::make_unique<CallPlan>(name_, signature_, parameters_, arguments));
    return *plans_.back();
}

}  // namespace penstock::python
