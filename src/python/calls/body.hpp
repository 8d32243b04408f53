// A compiled body: the address of a C function with its signature and name, and the Python object that owns its code.
#pragma once

#include "python/binding.hpp"
#include "python/calls/call_plan.hpp"

namespace penstock::python {

/// What was given as a body cannot be one there.
struct BodyError : UsageError {
    using UsageError::UsageError;
};

class Body {
  public:
    /// `parameters`: NumPy names of the parameters' types in order, with '*' behind a pointer and "const " before a
    /// pointer to const; "void*" points to anything. `keep` is held as long as this lives. Throws UsageError for an
    /// address of 0 or a type that is not known.
    Body(std::uint64_t address, const std::string& signature, const nb::list& parameters, const std::string& name,
         nb::object keep);

    std::uint64_t address() const noexcept { return address_; }
    Procedure& procedure() const noexcept { return *procedure_; }
    nb::object keep() const { return keep_; }

  private:
    std::uint64_t address_;
    Procedure* procedure_;
    nb::object keep_;
};

/// The body of a Python object: a Body itself, or what penstock.body.compiled makes of it (once for each object, except
/// where a signature is given).
nb::object body_of(nb::handle object, nb::handle signature);

void bind_bodies(nb::module_& module);

}  // namespace penstock::python
