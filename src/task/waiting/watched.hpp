// task layer: dependent tasks that wait for a task which cannot tell them: a plain one, or one that another thread
// issued. Plain tasks keep no list of successors, so that they stay as cheap as they are; whoever looks for work looks
// here too while there is something.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "penstock/detail/task/dependent.hpp"
#include "penstock/handle.hpp"

namespace penstock {

struct WatchedOne {
    Handle handle;
    DependentNode* node;
};

/// Who waits for what, at one moment.
class WatchedPicture {
  public:
    explicit WatchedPicture(const std::vector<WatchedOne>& all) {
        for (const WatchedOne& one : all) by_task_.emplace(one.handle.hash_of_task(), one);
    }
    /// Calls `visit` with each task that waits for `handle`.
    template <class Visit>
    void each_successor(const Handle& handle, Visit&& visit) const {
        const auto [begin, end] = by_task_.equal_range(handle.hash_of_task());
        for (auto one = begin; one != end; ++one)
            if (one->second.handle.same_task(handle)) visit(*one->second.node);
    }

  private:
    std::unordered_multimap<std::size_t, WatchedOne> by_task_;
};

class Watched {
  public:
    using One = WatchedOne;
    using Picture = WatchedPicture;
    bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
    /// `node` has one more predecessor, `handle`, that will arrive from here.
    void add(const Handle& handle, DependentNode& node) {
        const std::lock_guard lock(mutex_);
        all_.push_back({handle, &node});
        count_.store(all_.size(), std::memory_order_relaxed);
    }
    /// Calls `arrived(handle, node)` for those whose predecessor has completed. Looks at `most`, others each time.
    template <class Arrived>
    void look(Arrived&& arrived, std::size_t most) {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock()) return;
        for (std::size_t looked = 0; looked < most && !all_.empty(); ++looked) {
            if (next_ >= all_.size()) next_ = 0;
            const One one = all_[next_];
            if (!one.handle.ready()) {
                ++next_;
                if (looked + 1 >= all_.size()) break;
                continue;
            }
            all_[next_] = all_.back();
            all_.pop_back();
            count_.store(all_.size(), std::memory_order_relaxed);
            arrived(one.handle, *one.node);
        }
    }
    /// Calls `visit(handle, node)` for those whose predecessor has completed, and leaves them here.
    template <class Visit>
    void each_completed(Visit&& visit) {
        const std::lock_guard lock(mutex_);
        for (const One& one : all_)
            if (one.handle.ready()) visit(one.handle, *one.node);
    }

    Picture picture() {
        const std::lock_guard lock(mutex_);
        return Picture(all_);
    }
    /// Calls `look(picture, all)`. Meanwhile none of those that wait here becomes ready. Must not come back here.
    template <class Look>
    auto look_at_all(Look&& look) {
        const std::lock_guard lock(mutex_);
        return look(Picture(all_), all_);
    }

  private:
    std::mutex mutex_;
    std::atomic<std::size_t> count_{0};  ///< written under the mutex
    std::size_t next_ = 0;
    std::vector<One> all_;
};

}  // namespace penstock
