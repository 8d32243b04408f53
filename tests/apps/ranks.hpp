// What the tests of applications over ranks share: threads and processes from one source.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "apps/ranks.hpp"

namespace app_tests {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

/// A test for each substrate. Processes are forked, so none of these tests may leave a thread behind.
class RanksTest : public testing::TestWithParam<penstock::Substrate> {
  protected:
    void SetUp() override {
        if (thread_sanitizer && GetParam() == penstock::Substrate::processes)
            GTEST_SKIP() << "the thread sanitizer does not follow forked processes";
    }
    static penstock::apps::RankOptions on(int ranks, int passes = 2) {
        return {.ranks = ranks, .substrate = GetParam(), .passes = passes};
    }
};

inline std::string name_of(const testing::TestParamInfo<penstock::Substrate>& info) {
    return std::string(penstock::name(info.param));
}

#define INSTANTIATE_FOR_BOTH_SUBSTRATES(Suite)                                                                           \
    INSTANTIATE_TEST_SUITE_P(Both, Suite, testing::Values(penstock::Substrate::threads, penstock::Substrate::processes), \
                             app_tests::name_of)

}  // namespace app_tests
