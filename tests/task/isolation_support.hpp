// What the tests of worker processes share.
#pragma once

#include <gtest/gtest.h>

#include "penstock/isolation.hpp"
#include "penstock/spmd.hpp"
#include "tests/task/support.hpp"

#define SKIP_WITHOUT_PROCESSES() \
    if (task_tests::under_tsan)  \
    GTEST_SKIP() << "a thread sanitizer starts a thread of its own before main, so launch() comes too late"

namespace task_tests {

/// launch() on main's first line, as far as a program of tests has one: before the first test, when there is one
/// thread.
class Launched : public testing::Environment {
  public:
    void SetUp() override {
        if (!under_tsan) penstock::launch();
    }
};

inline const bool launched = [] {
    testing::AddGlobalTestEnvironment(new Launched);
    return true;
}();

inline penstock::MachineOptions isolated(int targets) {
    auto options = with_targets(targets);
    options.isolation = penstock::Isolation::process;
    return options;
}

/// The WorkerDied that `body` throws as the cause of a TaskFailed.
template <class Body>
penstock::WorkerDied death_of(Body&& body) {
    try {
        body();
    } catch (const penstock::TaskFailed& failed) {
        try {
            std::rethrow_exception(failed.cause());
        } catch (const penstock::WorkerDied& died) {
            return died;
        } catch (const std::exception& error) {
            ADD_FAILURE() << "another cause: " << error.what();
        }
    }
    ADD_FAILURE() << "no task failed by its worker's death";
    return penstock::WorkerDied({});
}

}  // namespace task_tests
