// The clock of the trace and of time limits: the processor's own counter where it can be trusted.
//
// Reading it still costs about as much as a null task (9.6 ns on a Zen 4 guest), so it is read on samples and not on
// each task. Ticks of all processors of one host agree; ticks of two hosts, or of a GPU, do not.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace penstock {

/// So long from a moment on, or the end of time where that is later than the clock can say (a limit of
/// nanoseconds::max() means for ever).
inline std::chrono::steady_clock::time_point deadline_after(
    std::chrono::nanoseconds limit,
    std::chrono::steady_clock::time_point from = std::chrono::steady_clock::now()) noexcept {
    constexpr auto forever = std::chrono::steady_clock::time_point::max();
    return limit < forever - from ? from + limit : forever;
}

class Clock {
  public:
    using Ticks = std::uint64_t;

    /// What counts the ticks: the time stamp counter or the generic timer (`counter`), or std::chrono::steady_clock.
    enum class Source : std::uint8_t { unknown, counter, steady };

    /// The time now, in ticks. Not ordered with the instructions around it (no fence).
    static Ticks ticks() noexcept {
        if (source_.load(std::memory_order_relaxed) == Source::counter) [[likely]] {
            return counter();
        }
        return ticks_by_slow_path();
    }

    /// The length of a difference of ticks. The first call on a process takes up to about 5 ms to calibrate.
    static double seconds(Ticks difference) noexcept { return nanoseconds(difference) * 1e-9; }
    static double nanoseconds(Ticks difference) noexcept {
        return static_cast<double>(difference) * nanoseconds_per_tick();
    }

    /// The other way round: how many ticks a time limit is, for loops that compare ticks. At most half of what Ticks
    /// can say, so that it can be added to the time now.
    static Ticks ticks_of(std::chrono::nanoseconds time) noexcept {
        constexpr double most = 9e18;
        return static_cast<Ticks>(std::min(static_cast<double>(time.count()) / nanoseconds_per_tick(), most));
    }

    /// Nanoseconds that one tick lasts. Calibrates at the first call, then costs one load.
    static double nanoseconds_per_tick() noexcept {
        const double known = nanoseconds_per_tick_.load(std::memory_order_relaxed);
        return known != 0 ? known : calibrate();
    }

    /// What counts, for reports.
    static Source source() noexcept;

  private:
    static Ticks counter() noexcept {
#if defined(__x86_64__)
        return __rdtsc();
#elif defined(__aarch64__)
        Ticks now;
        asm volatile("mrs %0, cntvct_el0" : "=r"(now));
        return now;
#else
        return 0;  // never asked: the source is the steady clock here
#endif
    }
    static Ticks ticks_by_slow_path() noexcept;
    static double calibrate() noexcept;

    // Both start as "not known yet" before any constructor runs, so that a clock used in one is right too.
    static inline constinit std::atomic<Source> source_{Source::unknown};
    static inline constinit std::atomic<double> nanoseconds_per_tick_{0};
};

}  // namespace penstock
