// What the tests of applications over ranks share: threads and processes from one source.
#pragma once

#include <gtest/gtest.h>

#include "apps/ranks.hpp"
#include "tests/teams.hpp"

namespace app_tests {

/// A test for each substrate.
class RanksTest : public penstock_tests::SubstrateTest {
  protected:
    static penstock::apps::RankOptions on(int ranks, int passes = 2) {
        return {.ranks = ranks, .substrate = GetParam(), .passes = passes};
    }
};

}  // namespace app_tests
