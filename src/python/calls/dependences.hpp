// Calls of compiled bodies in the order of their tags, and recordings of these, for Python.
//
// A Dependences belongs to one thread and must not outlive its machine. Python collects objects wherever it likes and
// closes machines while others still refer to them, so the machine ends those that are left, and what another thread
// drops is not destroyed there: its records may be in use by its own thread.
#pragma once

#include "python/calls/python_machine.hpp"

namespace penstock::python {

class PythonRecording {
  public:
    PythonRecording(nb::object machine, Recording recording, std::vector<nb::object> held)
        : machine_(std::move(machine)), recording_(std::move(recording)), held_(std::move(held)) {}

    void replay();
    std::size_t rebind(nb::handle from, nb::handle to);
    std::size_t tasks() const noexcept { return recording_.tasks(); }
    std::size_t crossings() const noexcept { return recording_.crossings(); }

  private:
    nb::object machine_;
    Recording recording_;
    std::vector<nb::object> held_;  ///< bodies and arguments of the recorded calls
    int running_ = 0;               ///< replays under way, in other threads
};

class PythonDependences {
  public:
    explicit PythonDependences(nb::object machine);
    ~PythonDependences();

    PythonHandle call(nb::handle body, const nb::args& arguments, nb::handle signature, nb::handle target);
    void wait();
    PythonRecording record(nb::handle body);

    /// The machine ends. Its tasks have completed.
    void end() noexcept;

    /// Throws MachineGone, and UsageError in another thread.
    Dependences& use() const;

  private:
    nb::object machine_;
    std::unique_ptr<Dependences> order_;
    std::uint64_t thread_;
    bool recording_ = false;
    std::vector<nb::object> recorded_;
};

}  // namespace penstock::python
