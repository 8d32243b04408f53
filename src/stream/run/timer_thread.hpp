// A thread that does things at their times, beside the filters of a run: timers, and edits that filters asked for. Made
// when it is first needed; no buffer passes by it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace penstock::streaming {

class TimerThread {
  public:
    using Time = std::chrono::steady_clock::time_point;

    ~TimerThread() { stop(); }

    /// Does `work` at that time, or at once. Dropped behind stop(). Throws SystemError.
    void at(Time time, std::function<void()> work);
    /// Returns when nothing is being done, and nothing will be.
    void stop();

  private:
    void serve();

    std::mutex lock_;
    std::condition_variable changed_;
    std::multimap<Time, std::function<void()>> due_;
    std::thread thread_;
    bool stopping_ = false;
};

}  // namespace penstock::streaming
