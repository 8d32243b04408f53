// Waiting for the end of an application while somebody looks at it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "penstock/application.hpp"
#include "process/fork.hpp"

namespace penstock::python {

/// A thread that waits for the end of an application, and runs its filters meanwhile, so that another can look at it
/// and at signals.
class Ending {
  public:
    explicit Ending(ApplicationRun& run);
    /// The run has ended, or been stopped.
    ~Ending();
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

    /// True: it has ended. Throws, once, what ApplicationRun::finish() threw.
    bool wait_for(std::chrono::nanoseconds patience);

  private:
    const Origin origin_{};
    std::mutex lock_;
    std::condition_variable ended_;
    bool over_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace penstock::python
