#include "machine/processor_features.hpp"

#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace penstock::features {

#if defined(__x86_64__)
namespace {

struct Registers {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero for a leaf that the processor does not have.
Registers leaf(unsigned number, unsigned sub = 0) noexcept {
    Registers r;
    __get_cpuid_count(number, sub, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

constexpr bool bit(unsigned word, int position) { return (word >> position & 1) != 0; }

// The kernel strikes the counter off this list when it finds that processors disagree.
bool kernel_distrusts_counter() {
    std::ifstream in("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    std::string sources;
    return std::getline(in, sources) && (" " + sources + " ").find(" tsc ") == std::string::npos;
}

double rate_from_hypervisor() noexcept {
    if (!bit(leaf(1).ecx, 31)) return 0;
    Registers r;
    __cpuid(0x40000000, r.eax, r.ebx, r.ecx, r.edx);
    if (r.eax < 0x40000010) return 0;
    __cpuid(0x40000010, r.eax, r.ebx, r.ecx, r.edx);
    return r.eax * 1e3;  // in kHz
}

double rate_from_crystal() noexcept {
    const Registers r = leaf(0x15);
    return r.eax == 0 ? 0 : static_cast<double>(r.ecx) * r.ebx / r.eax;
}

}  // namespace

ProcessorFeatures of_this_processor() noexcept {
    const Registers extended = leaf(7);
    ProcessorFeatures found;
    found.cldemote = bit(extended.ecx, 25);
    if (bit(extended.ecx, 5)) {
        found.monitor_wait = MonitorWait::umwait;
    } else if (bit(leaf(0x80000001).ecx, 29)) {
        found.monitor_wait = MonitorWait::mwaitx;
    }
    return found;
}

bool counter_is_invariant() noexcept {
    try {
        return bit(leaf(0x80000007).edx, 8) && !kernel_distrusts_counter();
    } catch (...) {
        return false;
    }
}

double counter_rate_hint() noexcept {
    const double told = rate_from_hypervisor();
    return told != 0 ? told : rate_from_crystal();
}

#else

ProcessorFeatures of_this_processor() noexcept { return {}; }

#if defined(__aarch64__)
bool counter_is_invariant() noexcept { return true; }  // the architecture says so

double counter_rate_hint() noexcept {
    std::uint64_t rate;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(rate));
    return static_cast<double>(rate);
}
#else
bool counter_is_invariant() noexcept { return false; }
double counter_rate_hint() noexcept { return 0; }
#endif

#endif

}  // namespace penstock::features
