// What a machine's tasks still need of Python: bodies and arguments are held until their task has completed (contract
// 6).
//
// Guarded by the interpreter's lock. References are dropped outside of it: a destructor may run any code, this ledger's
// too.
#pragma once

#include <deque>
#include <vector>

#include "penstock/handle.hpp"
#include "python/binding.hpp"

namespace penstock::python {

class Ledger {
  public:
    /// Holds `body` and `arguments` until the task of `handle` has completed. Drops up to a few of what has.
    void keep(Handle handle, nb::object body, nb::object arguments) {
        held_.push_back({handle, std::move(body), std::move(arguments)});
        if (held_.size() >= full_sweep_) {
            sweep();
            full_sweep_ = std::max(least_full_sweep, 2 * held_.size());
            return;
        }
        for (int i = 0; i < dropped_a_call && !held_.empty() && held_.front().handle.ready(); ++i) {
            const Held done = std::move(held_.front());
            held_.pop_front();
        }
    }

    /// Drops what has completed.
    void sweep() {
        std::vector<Held> done;
        std::deque<Held> left;
        for (Held& held : held_) {
            if (held.handle.ready()) done.push_back(std::move(held));
            else left.push_back(std::move(held));
        }
        held_ = std::move(left);
    }

    std::size_t size() const noexcept { return held_.size(); }

  private:
    struct Held {
        Handle handle;
        nb::object body;
        nb::object arguments;
    };
    static constexpr std::size_t least_full_sweep = 1024;
    // more than one comes in, so that it shrinks while tasks complete in order
    static constexpr int dropped_a_call = 2;

    std::deque<Held> held_;
    std::size_t full_sweep_ = least_full_sweep;
};

}  // namespace penstock::python
