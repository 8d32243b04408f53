// task layer: a graph of tasks that was issued once, kept so that it can be run again for almost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "penstock/detail/task/descriptor.hpp"

namespace penstock {

class Machine;
class Ring;
struct Replay;

/// Where a packed argument holds an address.
struct AddressPlace {
    bool in_line = true;
    std::uint32_t offset = 0;
};

/// One call as it was recorded: its packed arguments, where these hold addresses, and what it comes after (by the
/// numbers of calls recorded before it).
struct RecordedTask {
    TaskPayload payload;
    Extension extension;
    std::vector<AddressPlace> addresses;
    std::vector<std::uint32_t> predecessors;
    int target = -1;  ///< the only one that may run it, or -1
};

/// Tasks that a Dependences recorded; see Dependences::record. Each replay runs all of them, in their order, on all
/// targets and the calling thread:
///
///     auto step = order.record([&] {  // runs once
///         order.call<relax>(in(a), out(b));
///         order.call<relax>(in(b), out(a));
///     });
///     for (int i = 0; i < 1000; ++i) step.replay();
///
/// The tasks are dealt out to the workers when the recording is made and again after the first replay, which measures
/// them. The next few try some ways of dealing them out, and the fastest is kept: each task where it would end first,
/// or strips of memory for each worker, which runs what writes there. Those of one worker simply follow one another;
/// only where a task comes after one of another worker, a counter is waited for that lies with the one who waits. From
/// then on nothing is allocated, and nothing is ever reset. `./bench dependences` prints what a task costs. The idea of
/// recording a graph of tasks to run it again is known from CUDA graphs and OpenMP's taskgraph.
class Recording {
  public:
    Recording(Machine& machine, std::vector<RecordedTask> tasks);
    ~Recording();
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;

    /// Runs all tasks and returns when they have completed. A task that comes after a failed one does not run, all
    /// others do; then TaskFailed is thrown for the first failure, with the number of the others, and the recording can
    /// be replayed again. Nothing else may touch the tasks' memory meanwhile. One replay at a time runs on a machine:
    /// others wait. Throws UsageError inside a task, where two replays could wait for one another's targets.
    void replay();

    /// From now on every argument that lay in `from` lies at the same distance in `to`, which must be as large. Returns
    /// how many arguments moved. Throws UsageError when the sizes differ. What depends on what stays as recorded.
    template <class T>
    std::size_t rebind(std::span<T> from, std::span<T> to) {
        return rebind(const_cast<std::byte*>(reinterpret_cast<const std::byte*>(from.data())), from.size_bytes(),
                      const_cast<std::byte*>(reinterpret_cast<const std::byte*>(to.data())), to.size_bytes());
    }

    /// How many tasks one replay runs.
    std::size_t tasks() const noexcept;
    /// How many of them wait for a task of another worker, as they are dealt out now.
    std::size_t crossings() const noexcept;

  private:
    static void run_share(Replay& replay, std::uint32_t worker, Machine& machine);
    std::size_t rebind(std::byte* from, std::size_t from_bytes, std::byte* to, std::size_t to_bytes);
    Machine* machine_;
    std::unique_ptr<Replay> replay_;
};

}  // namespace penstock
