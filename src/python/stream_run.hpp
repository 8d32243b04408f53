// A run as Python has it.
#pragma once

#include <memory>
#include <optional>

#include "penstock/run.hpp"

namespace penstock::python {

/// Ends before its machine does. Let go of with the interpreter's lock.
struct LiveRun {
    std::shared_ptr<Machine> machine;
    std::optional<Run> run{};

    LiveRun() = default;
    ~LiveRun();
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;
    /// Without the interpreter's lock.
    void stop();
};

}  // namespace penstock::python
