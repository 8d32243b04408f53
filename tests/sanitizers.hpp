// Under which sanitizer a test was built, whatever the compiler calls it.
#pragma once

// Clang asks for a feature where GCC defines a macro.
#if defined(__has_feature)
#define PENSTOCK_TESTS_HAVE(feature) __has_feature(feature)
#else
#define PENSTOCK_TESTS_HAVE(feature) 0
#endif

namespace penstock_tests {

#if defined(__SANITIZE_THREAD__) || PENSTOCK_TESTS_HAVE(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || PENSTOCK_TESTS_HAVE(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

/// Either of those that make every step many times slower.
inline constexpr bool sanitized = thread_sanitizer || address_sanitizer;

}  // namespace penstock_tests

#undef PENSTOCK_TESTS_HAVE
