// Stations without a place that are ready to be run. The thread that made them ready takes the newest, whose input is
// still in its cache; whoever has nothing to do takes the oldest, with which the most work is to come.
//
// The lists are linked through the stations, so no lack of memory refuses one. A station is in one list at a time: it
// has one turn (station.hpp).
#pragma once

#include <mutex>
#include <optional>

#include "machine/spin_lock.hpp"
#include "stream/run/station.hpp"

namespace penstock::streaming {

/// Of one thread.
class ReadyList {
  public:
    bool empty() const noexcept { return newest_ == nullptr; }
    void push_newest(Station& station) noexcept { join(station, newest_, nullptr); }
    void push_oldest(Station& station) noexcept { join(station, nullptr, oldest_); }
    /// Null when there is none.
    Station* take_newest() noexcept { return take(newest_); }
    Station* take_oldest() noexcept { return take(oldest_); }

  private:
    void join(Station& station, Station* older, Station* newer) noexcept {
        station.older = older;
        station.newer = newer;
        (older != nullptr ? older->newer : oldest_) = &station;
        (newer != nullptr ? newer->older : newest_) = &station;
    }
    Station* take(Station* station) noexcept {
        if (station == nullptr) return nullptr;
        (station->older != nullptr ? station->older->newer : oldest_) = station->newer;
        (station->newer != nullptr ? station->newer->older : newest_) = station->older;
        return station;
    }

    Station* newest_ = nullptr;
    Station* oldest_ = nullptr;
};

/// For all threads.
class alignas(128) ReadyStack {
  public:
    /// In sequentially consistent order, like the looks of threads that are about to sleep (run_core.hpp).
    std::size_t size() const noexcept { return size_.load(std::memory_order_seq_cst); }
    void push_newest(Station& station) noexcept {
        add([&] { list_.push_newest(station); });
    }
    void push_oldest(Station& station) noexcept {
        add([&] { list_.push_oldest(station); });
    }
    /// Null when there is none.
    Station* take_newest() noexcept { return take(&ReadyList::take_newest); }
    Station* take_oldest() noexcept { return take(&ReadyList::take_oldest); }
    /// How many were ever put here; nothing while there are some.
    std::optional<std::uint64_t> pushed_while_empty() noexcept {
        const std::lock_guard lock(lock_);
        return list_.empty() ? std::optional(pushed_) : std::nullopt;
    }

  private:
    template <class Push>
    void add(Push push) noexcept {
        const std::lock_guard lock(lock_);
        push();
        ++pushed_;
        size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    }
    Station* take(Station* (ReadyList::*which)()) noexcept {
        if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
        const std::lock_guard lock(lock_);
        Station* const station = (list_.*which)();
        if (station != nullptr) size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return station;
    }

    SpinLock lock_;
    ReadyList list_;
    std::uint64_t pushed_ = 0;
    std::atomic<std::size_t> size_{0};
};

}  // namespace penstock::streaming
