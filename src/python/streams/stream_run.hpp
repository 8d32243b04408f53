// A run as Python has it. penstock.runs gives it its words.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "penstock/application.hpp"
#include "penstock/run.hpp"
#include "process/fork.hpp"
#include "python/calls/python_machine.hpp"

namespace penstock::python {

/// Of a graph, or of an application. Ends before its machine does. Let go of with the interpreter's lock.
struct LiveRun {
    const Origin origin{};
    std::shared_ptr<Machine> machine;
    std::optional<Run> of_graph{};
    std::optional<ApplicationRun> application{};
    /// Of the application, once somebody waits for it with a time limit: a thread waits, and runs its filters, so that
    /// another can look at it and at signals. With the interpreter's lock.
    std::shared_future<void> ending{};
    bool told = false;  ///< what it threw was thrown to somebody

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

/// `begin` makes the run, without the interpreter's lock; the machine stops it when it closes.
PythonRun start_on(nb::object machine, const std::function<void(LiveRun&)>& begin);

nb::dict object_of(const GraphDescription& description);

template <class Work>
auto without_interpreter(Work&& work) {
    const nb::gil_scoped_release release;
    return work();
}

void bind_stream_end(nb::module_& module);
void bind_stream_graph(nb::module_& module);
void bind_stream_run(nb::module_& module);

}  // namespace penstock::python
