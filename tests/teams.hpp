// What the tests of teams share in all layers: both substrates from one source, and many kills.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>

#include "penstock/rank.hpp"
#include "tests/sanitizers.hpp"

namespace penstock_tests {

/// For tests that only make sense with processes.
#define SKIP_UNDER_THREAD_SANITIZER() \
    if (penstock_tests::thread_sanitizer) GTEST_SKIP() << "the thread sanitizer does not follow forked processes"

/// A test for each substrate. Processes are forked, so none of these tests may leave a thread behind.
class SubstrateTest : public testing::TestWithParam<penstock::Substrate> {
  protected:
    void SetUp() override {
        if (GetParam() == penstock::Substrate::processes) SKIP_UNDER_THREAD_SANITIZER();
    }
};

inline std::string name_of(const testing::TestParamInfo<penstock::Substrate>& info) {
    return std::string(penstock::name(info.param));
}

#define INSTANTIATE_FOR_BOTH_SUBSTRATES(Suite)                                                              \
    INSTANTIATE_TEST_SUITE_P(Both, Suite,                                                                   \
                             testing::Values(penstock::Substrate::threads, penstock::Substrate::processes), \
                             penstock_tests::name_of)

inline std::size_t open_descriptors() {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// How often a test kills: often enough to find, or very often when PENSTOCK_LONG is set.
inline unsigned kills() {
    if (std::getenv("PENSTOCK_LONG") != nullptr) return 1'000;
    return sanitized ? 25 : 40;
}

/// Calls `kill_one(random)` with a seed for each kill, until one goes wrong; nothing may be left behind.
template <class KillOne>
void kill_many(KillOne kill_one) {
    const auto before = open_descriptors();
    for (std::uint64_t seed = 1; seed <= kills() && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        kill_one(random);
    }
    EXPECT_EQ(open_descriptors(), before) << "a descriptor was left behind";
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process was left behind";
}

}  // namespace penstock_tests
