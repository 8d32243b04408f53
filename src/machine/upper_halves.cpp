#include "machine/upper_halves.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock {

#if defined(__x86_64__)
namespace {

// Not inlined: the caller's code may be made for processors without such registers, or may hold something in them.
[[gnu::target("avx"), gnu::noinline]] void zero_upper_halves() noexcept { _mm256_zeroupper(); }

}  // namespace

void forget_upper_halves() noexcept {
    static const bool has_them = __builtin_cpu_supports("avx") != 0;
    if (has_them) zero_upper_halves();
}
#else
void forget_upper_halves() noexcept {}
#endif

}  // namespace penstock
