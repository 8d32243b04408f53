// Stations without a place that are ready to be run. The thread that made them ready takes the newest, whose input is
// still in its cache; whoever has nothing to do takes the oldest, with which the most work is to come.
//
// The lists are linked through the stations, so no lack of memory refuses one. A station is in one list at a time: it
// has one turn (station.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>

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
    /// Null when it was put here behind that number.
    Station* take_oldest_of(std::uint64_t number) noexcept { return take(oldest_of(number)); }
    Station* oldest_of(std::uint64_t number) const noexcept {
        return oldest_ != nullptr && oldest_->put_as <= number ? oldest_ : nullptr;
    }
    Station* oldest() const noexcept { return oldest_; }
    /// One that is here, or null.
    Station* take(Station* station) noexcept {
        if (station == nullptr) return nullptr;
        (station->older != nullptr ? station->older->newer : oldest_) = station->newer;
        (station->newer != nullptr ? station->newer->older : newest_) = station->older;
        return station;
    }

  private:
    void join(Station& station, Station* older, Station* newer) noexcept {
        station.older = older;
        station.newer = newer;
        (older != nullptr ? older->newer : oldest_) = &station;
        (newer != nullptr ? newer->older : newest_) = &station;
    }
    Station* newest_ = nullptr;
    Station* oldest_ = nullptr;
};

/// Of one thread, by how many streams lie between a source and the station.
class ReadyByDepth {
  public:
    bool empty() const noexcept { return some_ == 0; }
    void push(Station& station) noexcept {
        const auto depth = std::min<std::size_t>(station.depth.load(std::memory_order_relaxed), depths - 1);
        lists_[depth].push_newest(station);
        some_ |= std::uint64_t{1} << depth;
    }
    // Null when there is none.
    /// The deepest; of equals, the oldest whose memory is not in another core's cache, as it did not run there the last
    /// time. The oldest of all is passed over a few times at most.
    Station* take_deepest(int target) noexcept {
        if (some_ == 0) return nullptr;
        const auto depth = depths - 1 - static_cast<std::size_t>(std::countl_zero(some_));
        Station* const oldest = lists_[depth].oldest();
        Station* chosen = oldest;
        for (int looked = 1; chosen != nullptr && chosen->ran_elsewhere(target); ++looked)
            chosen = looked < most_looked_at ? chosen->newer : nullptr;
        if (chosen == nullptr || (chosen != oldest && ++oldest->passed_over > most_passed_over)) chosen = oldest;
        return take(depth, chosen);
    }
    /// The oldest of another depth each time, of those that were put here up to that number.
    Station* take_in_turn(std::uint64_t number) noexcept {
        const auto behind = ~std::uint64_t{0} << turn_;
        for (const auto among : {some_ & behind, some_ & ~behind})
            for (auto left = among; left != 0; left &= left - 1) {
                const auto depth = static_cast<std::size_t>(std::countr_zero(left));
                Station* const station = lists_[depth].oldest_of(number);
                if (station == nullptr) continue;
                turn_ = (depth + 1) % depths;
                return take(depth, station);
            }
        return nullptr;
    }

  private:
    static constexpr std::size_t depths = 64;
    static constexpr int most_looked_at = 4;
    static constexpr unsigned most_passed_over = 4;
    Station* take(std::size_t depth, Station* station) noexcept {
        station->passed_over = 0;
        lists_[depth].take(station);
        if (lists_[depth].empty()) some_ &= ~(std::uint64_t{1} << depth);
        return station;
    }

    std::array<ReadyList, depths> lists_;
    std::uint64_t some_ = 0;  ///< a bit for each depth of which there are some
    std::size_t turn_ = 0;
};

/// A list for all threads.
template <class List>
class alignas(128) Shared {
  public:
    /// In sequentially consistent order, like the looks of threads that are about to sleep (run_core.hpp).
    std::size_t size() const noexcept { return size_.load(std::memory_order_seq_cst); }
    void put(void (List::*put_in)(Station&), Station& station) noexcept {
        const std::lock_guard lock(lock_);
        station.put_as = ++pushed_;
        (list_.*put_in)(station);
        size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    }
    /// Null when there is none.
    template <class... Arguments>
    Station* take(Station* (List::*take_out)(Arguments...), Arguments... arguments) noexcept {
        if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
        const std::lock_guard lock(lock_);
        return taken((list_.*take_out)(arguments...));
    }
    /// One that has been here since the last such look with this mark, or null. The mark is read and written under the
    /// lock alone.
    Station* take_left(Station* (List::*take_out)(std::uint64_t), std::uint64_t& mark) noexcept {
        if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
        const std::lock_guard lock(lock_);
        return taken((list_.*take_out)(std::exchange(mark, pushed_)));
    }
    /// How many were ever put here; nothing while there are some.
    std::optional<std::uint64_t> pushed_while_empty() noexcept {
        const std::lock_guard lock(lock_);
        return list_.empty() ? std::optional(pushed_) : std::nullopt;
    }

  private:
    Station* taken(Station* station) noexcept {
        if (station != nullptr) size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return station;
    }

    SpinLock lock_;
    List list_;
    std::uint64_t pushed_ = 0;  ///< so many so far
    std::atomic<std::size_t> size_{0};
};

}  // namespace penstock::streaming
