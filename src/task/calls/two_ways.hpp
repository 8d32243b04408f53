// Which of two ways of doing something is faster: a few windows of each are timed in turn, and their medians compared.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

/// Times with something switched off and on.
class TwoWays {
  public:
    static constexpr std::uint32_t samples = 5;  ///< windows of each way before a decision

    /// Which way the next window runs; when add() has decided, whether it is better on: by a twentieth at least.
    bool on() const noexcept { return on_; }
    /// Forgets what was timed; the next window runs as told.
    void restart(bool on) noexcept {
        on_ = on;
        taken_ = {};
    }
    /// A window took `ticks`. True when that decides.
    bool add(std::uint64_t ticks) noexcept {
        const std::size_t way = on_ ? 1 : 0;
        times_[way][taken_[way]++] = ticks;
        if (taken_[0] != samples || taken_[1] != samples) {
            on_ = taken_[1] <= taken_[0];
            return false;
        }
        for (auto& times : times_) std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
        const auto without = times_[0][samples / 2], with = times_[1][samples / 2];
        restart(with < without - without / 20);
        return true;
    }

  private:
    bool on_ = false;
    std::array<std::uint32_t, 2> taken_{};  ///< windows without, and with
    std::array<std::array<std::uint64_t, samples>, 2> times_{};
};

}  // namespace penstock
