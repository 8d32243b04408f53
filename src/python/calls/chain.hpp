// Chains of compiled bodies for Python: described by the task layer's own description, with plans as steps.
//
// A parameter's value takes these words: an array its address, elements, rows, columns and pitch (5), a scalar one.
// Each step's words lie packed as those of a plain call, and a patch says which of them come from a parameter or are
// the address of a local block.
#pragma once

#include "penstock/detail/task/chain_image.hpp"
#include "python/calls/foreign_call.hpp"
#include "python/words.hpp"

namespace penstock::python {

class PythonChain {
  public:
    /// `parameters`: "float32[]" for arrays, "float32" for scalars. Throws UsageError for a type that is not known.
    PythonChain(const std::vector<std::string>& parameters, const std::string& name);
    ~PythonChain() { change(); }
    PythonChain(const PythonChain&) = delete;
    PythonChain& operator=(const PythonChain&) = delete;

    /// What stands for the parameters, in order.
    nb::tuple parameters() const;
    /// A block in the local store, of one dimension or two.
    ChainArray local(nb::handle shape, const std::string& type);
    /// Throws ArgumentError for what a call would refuse, and for a local block that nothing has written.
    void add(nb::handle body, const nb::args& arguments, nb::handle signature);

    std::size_t size() const noexcept { return description_.steps().size(); }
    std::size_t local_bytes() const { return chain::Image(description_).local_bytes(); }
    const std::string& name() const noexcept { return label_; }

    /// The values of one issue, with a use of the image begun, which the task ends. Throws ArgumentError, UsageError.
    struct Issue {
        chain::Image* image;
        std::vector<std::uint64_t> values;
    };
    Issue begin(const Initiator& initiator, const nb::args& arguments);

  private:
    struct Parameter {
        Element element;
        bool array;
        std::uint16_t value;      ///< its first word
        bool written = false;     ///< by a step
        bool contiguous = false;  ///< a step takes no other
    };
    /// A step has this memory beside a parameter, and one of the two is written.
    struct Literal {
        std::uint32_t parameter;
        const ArrayArgument* memory;  ///< of held_
        std::string step;
        int argument;
    };

    void change() noexcept { LetGo{}(std::exchange(image_, nullptr)); }
    void note(const LaterArgument& later, const std::string& step, std::size_t base);
    void check_step(const nb::args& arguments, const Words& words);
    void place(std::vector<std::uint64_t>& values, std::size_t number, const ArrayArgument& array) const;

    std::string label_;
    std::vector<Parameter> parameters_;
    std::size_t value_words_ = 0;
    chain::Description description_;
    chain::Image* image_ = nullptr;  ///< of the description as it is, once it was issued
    std::vector<Literal> literals_;
    std::vector<nb::object> held_;  ///< bodies and arguments of the steps
};

/// Issues a chain, by a machine's plain or longer ways. Throws UsageError for calls after others.
Handle issue_chain(Machine& machine, int target, const OptionsOrHandles* way, const PythonChain::Issue& issue);

}  // namespace penstock::python
