// The tests of clusters start themselves as the agents.
#include <gtest/gtest.h>

#include "nodes/filters.hpp"
#include "penstock/cluster.hpp"
#include "penstock/components.hpp"

int main(int count, char** arguments) {
    penstock::register_component<filters::Multiply>("multiply", "Multiplies by a setting.");
    penstock::become_agent("pmix");  // and as the engine "local" starts it
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
