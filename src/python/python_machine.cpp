#include "python_machine.hpp"

#include <utility>

#include "foreign_call.hpp"
#include "penstock/error.hpp"
#include "words.hpp"

namespace penstock::python {
namespace {

/// Destroying a machine waits for its tasks, and a body may need the interpreter (a ctypes callback). The last reference
/// always goes where the interpreter's lock is held: live() is called, and its result dropped, outside of releases.
struct DestroyWithoutInterpreter {
    void operator()(Machine* machine) const {
        const nb::gil_scoped_release release;
        delete machine;
    }
};

}  // namespace

void PythonHandle::wait(bool helping) const {
    if (!handle.ready()) {
        const nb::gil_scoped_release release;
        helping ? handle.wait(help) : handle.wait();
    } else {
        handle.wait();  // complete: returns, or throws what the task threw
    }
    ledger->sweep();
}

PythonMachine::PythonMachine(const MachineOptions& options) {
    const nb::gil_scoped_release release;
    machine_ = std::shared_ptr<Machine>(new Machine(options), DestroyWithoutInterpreter{});
}

std::shared_ptr<Machine> PythonMachine::live() const {
    if (machine_ == nullptr) throw MachineGone("this machine was closed; make a new one");
    return machine_;
}

void PythonMachine::close() {
    if (machine_ == nullptr) return;
    auto machine = live();
    if (machine->in_task()) throw WouldDeadlock("a machine cannot be closed by one of its own tasks; close it where it was made");
    std::exception_ptr failure;
    {
        const nb::gil_scoped_release release;
        try {
            machine->finish();
        } catch (...) {
            failure = std::current_exception();
        }
    }
    machine_ = nullptr;
    machine = nullptr;
    ledger_->sweep();
    if (failure != nullptr) std::rethrow_exception(failure);
}

bool PythonMachine::may_block(const Machine& machine) const {
    const MachineOptions& options = machine.options();
    if (machine.targets() == 0) return true;  // the body runs inside the call
    const bool deferred = options.when_full == WhenFull::defer;
    const std::size_t room = deferred ? options.pending_limit : options.depth;
    return (room != 0 && issued_ >= room) || machine.in_task();
}

PythonHandle PythonMachine::call(int target, nb::handle body, const nb::args& arguments, nb::handle signature) {
    const auto machine = live();
    nb::object held_body = body_of(body, signature);
    const Words words{*nb::inst_ptr<Body>(held_body), arguments};
    const auto issue = [&] {
        if (target != Initiator::any_target) machine->on(target);  // refuses a target that there is not
        return issue_foreign(machine->initiator(), target, words.plan(), words.data());
    };
    PythonHandle handle{{}, ledger_};
    if (may_block(*machine)) [[unlikely]] {
        const nb::gil_scoped_release release;
        handle.handle = issue();
    } else {
        handle.handle = issue();
    }
    ++issued_;
    ledger_->keep(handle.handle, std::move(held_body), nb::borrow(arguments));
    return handle;
}

void PythonMachine::barrier() {
    const auto machine = live();
    const auto tidy = [&] {
        ledger_->sweep();
        issued_ = ledger_->size();
    };
    try {
        const nb::gil_scoped_release release;
        machine->barrier();
    } catch (...) {
        tidy();
        throw;
    }
    tidy();
}

void PythonMachine::finish() {
    const auto machine = live();
    {
        const nb::gil_scoped_release release;
        machine->finish();
    }
    ledger_->sweep();
    issued_ = ledger_->size();
}

}  // namespace penstock::python
