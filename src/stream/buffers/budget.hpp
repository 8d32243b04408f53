// Bytes of buffers that the filters of each target have given away and not got back, where the machine limits them
// (MachineOptions::buffer_bytes). Any thread adds and takes away; who finds the budget spent waits for a buffer of its
// own, whose way back tells it (pool.hpp), so that a number that is old for a moment only lets a filter fire sooner or
// later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::streaming {

class Budgets {
  public:
    /// `most`: bytes for each target.
    Budgets(int targets, std::size_t most)
        : under_way_(static_cast<std::size_t>(targets) + 1), most_(static_cast<std::int64_t>(most)) {}

    /// `target`: -1 for filters that have none: they share a budget.
    bool spent(int target) const noexcept { return of(target).load(std::memory_order_relaxed) >= most_; }
    void take(int target, std::size_t bytes) noexcept {
        of(target).fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    }
    void give_back(int target, std::size_t bytes) noexcept {
        of(target).fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    }

  private:
    struct alignas(64) Count {
        std::atomic<std::int64_t> bytes{0};
    };
    const std::atomic<std::int64_t>& of(int target) const noexcept {
        return under_way_[static_cast<std::size_t>(target + 1)].bytes;
    }
    std::atomic<std::int64_t>& of(int target) noexcept {
        return under_way_[static_cast<std::size_t>(target + 1)].bytes;
    }

    std::vector<Count> under_way_;
    std::int64_t most_;
};

}  // namespace penstock::streaming
