#include <algorithm>
#include <array>
#include <atomic>

#include "penstock/detail/machine/clock.hpp"
#include "store/ways/ways.hpp"

namespace penstock {
namespace {

constexpr double shortest_between_looks = 1e6;  // ns
constexpr double step = 1.05;                   // from one chip to two in some 25 looks
/// A line that takes this much longer than one that is here already was elsewhere. (60 ns and 26 on one chip of an
/// EPYC, 140 and 26 on two.)
constexpr double was_elsewhere = 1.5;
/// Of the lines that are timed, in an order that no processor fetches ahead of. (Eight in a row seemed as near on two
/// chips as on one.)
constexpr std::array<std::size_t, 4> places{0, 41, 17, 58};
static_assert((places.back() + 2) * ways::line <= ReaderDistance::seen_in);

/// Ticks until the line can be written: an atomic change that changes nothing.
Clock::Ticks ticks_to_own(std::byte* address) noexcept {
    const auto begin = Clock::ticks();
#if defined(__x86_64__)
    // In assembly, because a compiler may know that nothing changes; fenced, because reading the counter waits for
    // nothing.
    asm volatile("lfence; lock orb $0, %0; lfence" : "+m"(*address) : : "cc");
#else
    std::atomic_ref(*reinterpret_cast<unsigned char*>(address)).fetch_or(0, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    return Clock::ticks() - begin;
}

/// Reads another line of the page, so that what is timed is the line and not the way to its page. Whosever that line
/// is: what stands there does not matter, so the sanitizers need not look.
[[gnu::noinline, gnu::no_sanitize_address, gnu::no_sanitize_thread]] void find_page(std::byte* address) noexcept {
    constexpr std::uintptr_t half_a_page = 2048;
    const auto other = reinterpret_cast<std::uintptr_t>(address) ^ half_a_page;
    static_cast<void>(__atomic_load_n(reinterpret_cast<const volatile unsigned char*>(other), __ATOMIC_RELAXED));
}

}  // namespace

std::optional<double> time_of_a_line(std::byte* lines) noexcept {
    find_page(lines);
    find_page(lines + places.back() * ways::line);
    std::optional<double> least;
    for (const std::size_t place : places) {
        std::byte* const line = lines + place * ways::line;
        const auto first = ticks_to_own(line), again = ticks_to_own(line);
        if (static_cast<double>(first) < was_elsewhere * static_cast<double>(again)) continue;
        const double time = Clock::nanoseconds(first - again);
        least = std::min(time, least.value_or(time));
    }
    return least;
}

void ReaderDistance::look(std::byte* to, std::size_t bytes) {
    const StoreWays& here = StoreWays::here();
    if (ways_ == nullptr) ways_ = &here;
    if (bytes < seen_in) return;
    stored_ = 0;
    if (here.line_time() == 0) return;
    const auto now = Clock::ticks();
    if (Clock::nanoseconds(now - looked_) <= shortest_between_looks) return;
    looked_ = now;
    // A line that comes from memory, as those of long blocks may, seems far away; none seems near that is not. So the
    // distance comes down at once, and goes up in steps.
    if (const auto time = time_of_a_line(to + ways::to_line(to)))
        farther_ = std::min(*time / here.line_time(), step * farther_);
    const auto now_here = ways_for_line_time(farther_ * here.line_time());
    ways_ = now_here.ways;
    times_ = now_here.farther;
}

}  // namespace penstock
