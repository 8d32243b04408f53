// What the tests of this layer share: teams of both substrates, memory in which forked ranks leave what they saw.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

#include "penstock/spmd.hpp"
#include "tests/teams.hpp"

namespace store_tests {

using namespace std::chrono_literals;
using penstock::Rank;
using penstock::Substrate;
using penstock_tests::kills;
using penstock_tests::open_descriptors;
using penstock_tests::thread_sanitizer;

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

/// Has this process gone, or is it dead and not reaped yet? Orphans are reaped by init, where there is one that does.
inline bool has_ended(int process) {
    if (kill(process, 0) != 0) return true;
    std::string text;
    std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), text);
    return text.empty() || text.find(") Z ") != std::string::npos;
}

/// A test for each substrate.
class TeamTest : public penstock_tests::SubstrateTest {
  protected:
    template <class Function>
    void run(int size, Function function, std::chrono::nanoseconds accept_within = 20s) {
        penstock::spmd(size, function, {.substrate = GetParam(), .accept_within = accept_within});
    }
    static bool processes() { return GetParam() == Substrate::processes; }
};

/// What a rank checks itself: a failure must reach the test from another process too.
inline void require(bool holds, const char* promise) {
    if (!holds) throw std::logic_error(promise);
}

}  // namespace store_tests
