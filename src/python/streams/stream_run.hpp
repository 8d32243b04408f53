// A run as Python has it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "penstock/application.hpp"
#include "penstock/run.hpp"
#include "process/fork.hpp"
#include "python/calls/python_machine.hpp"
#include "python/language/running.hpp"

namespace penstock::python {

/// Of a graph, or of an application. Ends before its machine does. Let go of with the interpreter's lock.
struct LiveRun {
    const Origin origin{};
    std::shared_ptr<Machine> machine;
    std::optional<Run> of_graph{};
    std::optional<ApplicationRun> application{};
    std::unique_ptr<Ending> ending{};  ///< of the application, once somebody waits for it with a time limit

    LiveRun() = default;
    ~LiveRun();
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;
    Run& run() noexcept { return application ? application->run() : *of_graph; }
    /// Without the interpreter's lock.
    void stop();
};

struct PythonRun {
    std::shared_ptr<LiveRun> live;
    nb::object machine;

    Run& run() const noexcept { return live->run(); }
};

/// Throws what a signal's handler raised. In the thread that waits, without the interpreter's lock.
void look_for_signals();

template <class Work>
auto without_interpreter(Work&& work) {
    const nb::gil_scoped_release release;
    return work();
}

}  // namespace penstock::python
