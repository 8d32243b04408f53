#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/instruction_set.cpp"
#include "kernels/each_target.hpp"

#if HWY_ONCE

#include <algorithm>
#include <atomic>

namespace penstock::kernels {
namespace {

InstructionSet best() noexcept {
#if !defined(PENSTOCK_HAVE_HIGHWAY)
    return InstructionSet::plain;
#elif defined(__x86_64__)
    // What Highway's code for AVX2 and for SSE4 is compiled with.
    const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                      __builtin_cpu_supports("aes");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    if (sse4 && avx2 && (HWY_TARGETS & HWY_AVX2) != 0) return InstructionSet::vectors32;
    return sse4 && (HWY_TARGETS & HWY_SSE4) != 0 ? InstructionSet::vectors16 : InstructionSet::plain;
#else
    return PENSTOCK_VECTORS != 0 ? InstructionSet::vectors16 : InstructionSet::plain;
#endif
}

std::atomic<InstructionSet>& current() noexcept {
    static std::atomic<InstructionSet> set{best()};
    return set;
}

}  // namespace

InstructionSet instruction_set() noexcept { return current().load(std::memory_order_relaxed); }

InstructionSet limit_instruction_set(InstructionSet most) noexcept {
    const InstructionSet set = std::min(most, best());
    current().store(set, std::memory_order_relaxed);
    return set;
}

}  // namespace penstock::kernels

#endif
