// Some of these tests start themselves as the agents of clusters.
#include <gtest/gtest.h>

#include "penstock/cluster.hpp"

int main(int count, char** arguments) {
    penstock::become_agent();
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
