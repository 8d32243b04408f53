// The thread that starts Python workers, watches over them, and puts new ones in the place of those that die.
//
// It sleeps on the workers' pidfds and on a descriptor that wakes it; only while tasks have time limits or wait for a
// slot does it look every few milliseconds. It never touches Python objects, so it never waits for the interpreter's
// lock.
#pragma once

#include <sys/eventfd.h>

#include <thread>

#include "process/children.hpp"
#include "python/calls/task_board.hpp"

namespace penstock::python {

/// How workers are started: a program with arguments, to which the numbers of descriptors and so on are added.
struct WorkerCommand {
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    std::vector<int> processors;  ///< one for each worker, -1 for any
};

class WorkerPool;

class WorkerKeeper {
  public:
    WorkerKeeper(WorkerPool& pool, TaskBoard& board, int heap, WorkerCommand command);
    ~WorkerKeeper() { end(); }

    /// Starts the workers. Apart from the constructor, so that the pool has this when it is told of them.
    void begin();
    /// Ends the workers and waits until the pool is told nothing any more.
    void end();
    /// Kills the workers; no others come.
    void abandon() noexcept {
        abandoned_.store(true);
        wake();
    }
    /// There is something to do: time limits or tasks without a slot.
    void wake() noexcept { eventfd_write(wake_.get(), 1); }
    /// Is written to by workers for whom `armed` is set.
    int notice() const noexcept { return notice_.get(); }
    /// Process numbers of the workers, 0 for those that are being started. Any thread.
    std::vector<int> pids() const;

  private:
    struct Worker {
        std::atomic<int> pid{0};  ///< written by the keeper's thread
        std::uint32_t failed_starts = 0;
    };

    void keep();
    void start(std::uint32_t worker);
    void bury(const process::Death& death);
    void answer();
    bool enforce_limits();
    void give_up(const std::string& why);
    void end_all(std::chrono::milliseconds within);

    WorkerPool& pool_;
    TaskBoard& board_;
    int heap_;  ///< its descriptor
    WorkerCommand command_;
    process::Children children_;  ///< the tag is the worker
    std::vector<Worker> workers_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> given_up_{false};
    std::atomic<bool> abandoned_{false};
    OwnedDescriptor wake_;
    OwnedDescriptor notice_;
    std::thread thread_;
};

}  // namespace penstock::python
