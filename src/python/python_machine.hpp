// The machine as Python has it: closed once, and holding what its tasks need.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "ledger.hpp"
#include "penstock/machine.hpp"

namespace penstock::python {

/// A handle, and the ledger to tidy when its task is seen to be complete.
struct PythonHandle {
    Handle handle;
    std::shared_ptr<Ledger> ledger;

    void wait(bool helping) const;
};

class PythonMachine {
  public:
    explicit PythonMachine(const MachineOptions& options);

    /// The machine, kept from being destroyed as long as the result lives. Throws MachineGone after close().
    std::shared_ptr<Machine> live() const;
    bool closed() const noexcept { return machine_ == nullptr; }
    /// Finishes all tasks and gives the threads back. Throws the first failure that nobody has seen, after that.
    void close();

    PythonHandle call(int target, nb::handle body, const nb::args& arguments, nb::handle signature);
    void barrier();
    void finish();
    std::size_t held() const noexcept { return ledger_->size(); }

  private:
    bool may_block(const Machine& machine) const;

    std::shared_ptr<Machine> machine_;
    std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
    std::size_t issued_ = 0;  // since the last barrier of any thread: how full lanes and deques can be at most
};

void bind_machine(nb::module_& module);
void bind_errors(nb::module_& module);
void bind_trace(nb::module_& module, nb::class_<PythonMachine>& machine);
void bind_topology(nb::module_& module);
void bind_gallery(nb::module_& module);

}  // namespace penstock::python
