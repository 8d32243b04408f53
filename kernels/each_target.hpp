// Makes the file that includes this one be compiled once for each instruction set. It has no include guard: the file is
// read again for each. The file defines HWY_TARGET_INCLUDE as its own name before, puts its vector code between
// HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE() into penstock::kernels::HWY_NAMESPACE, for PENSTOCK_VECTORS 1 and 0,
// and what calls it, by PENSTOCK_PICK(function), behind `#if HWY_ONCE`.
//
// Vector functions give the number of columns that they did, from the left; the rest is the caller's, in a plain loop
// that rounds in the same places. With the plain instruction set, and without Highway, `none` stands in their place and
// does no column.
//
// Of Highway only headers are used: the choice is ours, so that nothing has to be linked.
#if defined(PENSTOCK_HAVE_HIGHWAY)

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#undef PENSTOCK_VECTORS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define PENSTOCK_VECTORS 0
#else
#define PENSTOCK_VECTORS 1
#endif

#else

#define HWY_BEFORE_NAMESPACE() static_assert(true)
#define HWY_AFTER_NAMESPACE() static_assert(true)
#define HWY_NAMESPACE N_PLAIN
#define HWY_ONCE 1
#define PENSTOCK_VECTORS 0

#endif

#if !defined(PENSTOCK_KERNELS_EACH_TARGET)
#define PENSTOCK_KERNELS_EACH_TARGET

#include <cstddef>

#include "kernels/instruction_set.hpp"

namespace penstock::kernels {

template <class... Arguments>
std::size_t none(Arguments...) {
    return 0;
}

/// The function for the instruction set in use.
template <class Function>
Function* pick(Function* vectors16, Function* vectors32) noexcept {
    switch (instruction_set()) {
        case InstructionSet::vectors32:
            return vectors32;
        case InstructionSet::vectors16:
            return vectors16;
        default:
            return none;
    }
}

}  // namespace penstock::kernels
#endif

// The arguments are one function's name, which may hold commas.
#undef PENSTOCK_PICK
#if !defined(PENSTOCK_HAVE_HIGHWAY)
#define PENSTOCK_PICK(...) (::penstock::kernels::pick(&N_PLAIN::__VA_ARGS__, &N_PLAIN::__VA_ARGS__))
#elif defined(__x86_64__) && (HWY_TARGETS & HWY_SSE4) != 0
#define PENSTOCK_PICK(...) (::penstock::kernels::pick(&N_SSE4::__VA_ARGS__, &N_AVX2::__VA_ARGS__))
#else
#define PENSTOCK_PICK(...) \
    (::penstock::kernels::pick(&HWY_STATIC_DISPATCH(__VA_ARGS__), &HWY_STATIC_DISPATCH(__VA_ARGS__)))
#endif
