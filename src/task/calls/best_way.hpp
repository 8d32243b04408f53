// Which of several ways of doing something is fastest: a few windows of each are timed in turn, and their medians
// compared.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

/// `count` ways by number. Way 0 is to do nothing special: another must be faster by a thirtieth at least.
template <std::size_t count>
class BestWay {
  public:
    static constexpr std::uint32_t samples = 5;  ///< windows of each way before a decision
    /// Of a way that took more than twice as long in each of so many as another ever did, no more are asked for.
    static constexpr std::uint32_t least_samples = 2;

    /// Which way the next window runs; when add() has decided, the best.
    std::size_t way() const noexcept { return way_; }
    /// Forgets what was timed; the next window runs this way.
    void restart(std::size_t way) noexcept {
        way_ = way;
        taken_ = {};
    }
    /// A window took `ticks`. True when that decides.
    bool add(std::uint64_t ticks) noexcept {
        times_[way_][taken_[way_]++] = ticks;
        drop_slow_ways();
        way_ = static_cast<std::size_t>(std::min_element(taken_.begin(), taken_.end()) - taken_.begin());
        if (taken_[way_] != samples) return false;
        for (auto& times : times_) std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
        const auto median = [this](std::size_t way) { return times_[way][samples / 2]; };
        std::size_t best = 0;
        auto least = median(0) - median(0) / 30;
        for (std::size_t way = 1; way < count; ++way)
            if (median(way) < least) best = way, least = median(way);
        restart(best);
        return true;
    }

  private:
    void drop_slow_ways() noexcept {
        const auto fastest_of = [this](std::size_t way) {
            return *std::min_element(times_[way].begin(), times_[way].begin() + taken_[way]);
        };
        const auto slowest_of = [this](std::size_t way) {
            return *std::max_element(times_[way].begin(), times_[way].begin() + taken_[way]);
        };
        if (std::ranges::any_of(taken_, [](std::uint32_t taken) { return taken < least_samples; })) return;
        std::size_t best = 0;
        for (std::size_t way = 1; way < count; ++way)
            if (slowest_of(way) < slowest_of(best)) best = way;
        for (std::size_t way = 0; way < count; ++way) {
            if (fastest_of(way) / 2 <= slowest_of(best)) continue;
            std::fill(times_[way].begin() + taken_[way], times_[way].end(), slowest_of(way));
            taken_[way] = samples;
        }
    }

    std::size_t way_ = 0;
    std::array<std::uint32_t, count> taken_{};  ///< windows of each way
    std::array<std::array<std::uint64_t, samples>, count> times_{};
};

}  // namespace penstock
