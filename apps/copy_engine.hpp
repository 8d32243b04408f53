// Copies made by another hand: an emulation of the DMA engine of the papers.
//
// Processors of today have no such engine that programs may use. So a thread stands for it, which copies on request
// while its owner goes on. It wants a processor of its own: where ranks leave none free, its copies take from their
// time, and each time that it sleeps the kernel has to wake it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/remote.hpp"

namespace penstock::apps {

/// Copies rectangles of elements to remotes, in the order in which they were asked for. Asked by one thread.
template <class T>
class CopyEngine {
  public:
    CopyEngine() : engine_{[this] { serve(); }} {}
    CopyEngine(const CopyEngine&) = delete;
    CopyEngine& operator=(const CopyEngine&) = delete;
    /// Behind everything that it was asked for.
    ~CopyEngine() {
        {
            const std::lock_guard lock{mutex_};
            over_ = true;
        }
        asked_.notify_one();
        engine_.join();
    }

    /// Asks for a copy, as Remote::store_strided(). Until finish() the remote belongs to the engine, and the source
    /// must stay as it is.
    void copy(const Remote<T>& to, const Block& block, std::span<const T> source, std::size_t source_pitch) {
        {
            const std::lock_guard lock{mutex_};
            requests_.push_back({&to, block, source, source_pitch});
        }
        asked_.notify_one();
    }

    /// Waits until everything that was asked for has been copied, and is seen by whoever is told of it now. Throws what
    /// a copy threw; those behind it were not made.
    void finish() {
        std::unique_lock lock{mutex_};
        finished_.wait(lock, [this] { return requests_.empty() && !busy_; });
        if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
    }

  private:
    struct Request {
        const Remote<T>* to;
        Block block;
        std::span<const T> source;
        std::size_t source_pitch;
    };

    void serve() {
        std::vector<Request> taken;
        for (std::unique_lock lock{mutex_};;) {
            if (requests_.empty()) {
                finished_.notify_one();
                if (over_) return;
                asked_.wait(lock, [this] { return !requests_.empty() || over_; });
                continue;
            }
            taken.swap(requests_);
            busy_ = true;
            if (failed_) taken.clear();
            lock.unlock();
            std::exception_ptr why;
            try {
                for (const Request& each : taken) each.to->store_strided(each.block, each.source, each.source_pitch);
            } catch (...) {
                why = std::current_exception();
            }
            taken.clear();
            lock.lock();
            busy_ = false;
            if (why) failed_ = why;
        }
    }

    std::mutex mutex_;
    std::condition_variable asked_, finished_;
    std::vector<Request> requests_;
    std::exception_ptr failed_;
    bool busy_ = false, over_ = false;
    std::thread engine_;  ///< last: it uses all of the above
};

}  // namespace penstock::apps
