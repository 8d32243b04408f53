// The one place that knows of forks.
//
// A fork copies the memory, and of the threads only the one that called it. Three things follow, and each has its
// answer here:
//   - A lock that another thread holds at that moment would stay locked in the child. So every mutex of the whole
//     process is a ProcessMutex, which is held over each fork.
//   - A local static that another thread is initialising at that moment would stay so. What this layer and the one
//     below have of these is initialised before.
//   - What belongs to a machine or a run has no threads in the child. It notes forks() when it is made, and compares
//     (MachineGone).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace penstock {

/// How many forks lie between this process and the first. Something made under another number stayed behind in a
/// parent.
std::uint32_t forks() noexcept;

/// Something that lives in one process: with threads, or memory that another process writes. In a forked child it stays
/// as it is, and is never freed; whoever uses it there is told.
class Origin {
  public:
    bool left_behind() const noexcept { return forks_ != forks(); }
    /// Throws MachineGone in a forked child. `what`: "this machine".
    void require(const char* what) const {
        if (left_behind()) [[unlikely]]
            throw_gone(what);
    }

  private:
    [[noreturn]] static void throw_gone(const char* what);
    std::uint32_t forks_ = forks();
};

/// Waits until everything that this layer works out at its first use is worked out.
void settle_before_fork() noexcept;

/// A mutex that lives as long as the process and guards what all of it shares. Under it no other lock is taken that
/// somebody may hold while he wants this one, nothing is forked, and no code of the user's is run.
class ProcessMutex {
  public:
    void lock() {
        if (!known_.load(std::memory_order_acquire)) [[unlikely]]
            make_known();
        mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }

  private:
    friend struct Forks;
    void make_known();

    std::mutex mutex_;
    std::atomic<bool> known_{false};
    ProcessMutex* next_ = nullptr;  ///< of those that are known; under the lock of their list
};

}  // namespace penstock
