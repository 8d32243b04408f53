// task layer: what a step of a chain threw, on its way to whoever keeps the failure of the chain's task.
#pragma once

#include <exception>
#include <string>

namespace penstock::chain {

/// `task`: the step's procedure, and which step of which chain it is.
struct StepFailed {
    std::string task;
    std::exception_ptr cause;
};

}  // namespace penstock::chain
