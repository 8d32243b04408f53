// Where the firings of filters go that run in a machine's worker interpreters, and the thread that sees them come back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "python/workers/worker_pool.hpp"

namespace penstock::python {

/// Of one filter. With the interpreter's lock, but for returned().
class ProcessSite {
  public:
    ProcessSite() = default;
    ~ProcessSite();
    ProcessSite(const ProcessSite&) = delete;
    ProcessSite& operator=(const ProcessSite&) = delete;

    /// The graph starts on a machine with these workers.
    void bind(const std::shared_ptr<WorkerPool>& pool, int workers);
    /// Throws MachineGone.
    std::shared_ptr<WorkerPool> pool() const;
    /// The worker of the next copy that keeps a state.
    int next_worker() noexcept { return static_cast<int>(next_++ % static_cast<std::size_t>(workers_)); }
    /// A firing was issued: the thread, made at the first of them, looks for its end.
    void issued();
    /// It has come back.
    void returned();

  private:
    /// What the thread holds too: it is not waited for, as it may need the interpreter's lock to end.
    struct Watch {
        std::mutex lock;
        std::condition_variable changed;
        std::weak_ptr<WorkerPool> pool;
        std::size_t out = 0;  ///< firings that were issued and have not come back
        bool serving = false;
        bool stopping = false;
    };
    static void serve(const std::shared_ptr<Watch>& watch);

    std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
    int workers_ = 1;
    std::size_t next_ = 0;
};

}  // namespace penstock::python
