// What the tests of teams share: both substrates, memory in which forked ranks leave what they saw, kills.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>

#include "penstock/spmd.hpp"

namespace store_tests {

using namespace std::chrono_literals;
using penstock::Rank;
using penstock::Substrate;

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

/// One object that the test and all ranks see, whether they are threads or forked processes.
template <class T>
class Blackboard {
  public:
    Blackboard() {
        void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        object_ = new (memory) T{};
    }
    Blackboard(const Blackboard&) = delete;
    Blackboard& operator=(const Blackboard&) = delete;
    ~Blackboard() { munmap(object_, sizeof(T)); }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }

  private:
    T* object_;
};

inline std::size_t open_descriptors() {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// How often a test kills: often enough to find, or very often when PENSTOCK_LONG is set.
inline unsigned kills() { return std::getenv("PENSTOCK_LONG") != nullptr ? 1'000 : 100; }

/// A test for each substrate.
class TeamTest : public testing::TestWithParam<Substrate> {
  protected:
    void SetUp() override {
        if (thread_sanitizer && GetParam() == Substrate::processes)
            GTEST_SKIP() << "the thread sanitizer does not follow forked processes";
    }
    template <class Function>
    void run(int size, Function function, std::chrono::nanoseconds accept_within = 20s) {
        penstock::spmd(size, function, {.substrate = GetParam(), .accept_within = accept_within});
    }
    static bool processes() { return GetParam() == Substrate::processes; }
};

/// For tests that only make sense with processes.
#define SKIP_UNDER_THREAD_SANITIZER() \
    if (store_tests::thread_sanitizer) GTEST_SKIP() << "the thread sanitizer does not follow forked processes"

inline std::string name_of(const testing::TestParamInfo<Substrate>& info) {
    return std::string(penstock::name(info.param));
}

#define INSTANTIATE_FOR_BOTH_SUBSTRATES(Suite)                                                                       \
    INSTANTIATE_TEST_SUITE_P(Both, Suite, testing::Values(penstock::Substrate::threads, penstock::Substrate::processes), \
                             store_tests::name_of)

/// What a rank checks itself: a failure must reach the test from another process too.
inline void require(bool holds, const char* promise) {
    if (!holds) throw std::logic_error(promise);
}

}  // namespace store_tests
