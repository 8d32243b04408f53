#include "penstock/detail/machine/clock.hpp"

#include <cmath>
#include <limits>

#include "machine/processor_features.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace penstock {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

Clock::Ticks steady_ticks() noexcept {
    return static_cast<Clock::Ticks>(
        std::chrono::duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

struct Reading {
    Clock::Ticks ticks;
    steady_clock::time_point time;
};

// Both clocks at one moment: of several tries the one that was least torn apart by an interruption.
Reading both_clocks() noexcept {
    Reading best{};
    auto least = std::numeric_limits<Clock::Ticks>::max();
    for (int i = 0; i < 8; ++i) {
        const auto before = Clock::ticks();
        const auto time = steady_clock::now();
        const auto gap = Clock::ticks() - before;
        if (gap < least) {
            least = gap;
            best = {before + gap / 2, time};
        }
    }
    return best;
}

double measured_over(nanoseconds length) noexcept {
    const auto first = both_clocks();
    while (steady_clock::now() - first.time < length) relax();
    const auto last = both_clocks();
    if (last.ticks <= first.ticks) return 0;
    return static_cast<double>(nanoseconds(last.time - first.time).count()) /
           static_cast<double>(last.ticks - first.ticks);
}

bool agree(double a, double b, double tolerance) noexcept { return std::abs(a - b) <= tolerance * b; }

}  // namespace

Clock::Source Clock::source() noexcept {
    auto source = source_.load(std::memory_order_relaxed);
    if (source == Source::unknown) {  // threads that get here together find the same
        source = features::counter_is_invariant() ? Source::counter : Source::steady;
        source_.store(source, std::memory_order_relaxed);
    }
    return source;
}

Clock::Ticks Clock::ticks_by_slow_path() noexcept { return source() == Source::counter ? counter() : steady_ticks(); }

double Clock::calibrate() noexcept {
    double found = 1;  // the steady clock's ticks
    if (source() == Source::counter) {
        const double rate = features::counter_rate_hint();
        const double hint = rate > 0 ? 1e9 / rate : 0;
        // What the hardware says is exact when it is right; a guest that was moved to another host may be told wrong.
        if (hint != 0 && agree(measured_over(200us), hint, 0.002)) found = hint;
        else found = measured_over(4ms);
        if (!(found > 0)) found = 1;
    }
    // The first to finish is right for everybody, so that a length of ticks never changes.
    double nobody = 0;
    return nanoseconds_per_tick_.compare_exchange_strong(nobody, found, std::memory_order_relaxed) ? found : nobody;
}

}  // namespace penstock
