// Elements that own something, such as strings: a machine of threads takes them, one of processes refuses them.
#include <string>
#include <vector>

#include "task/isolation_support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void mark(std::span<std::string> names) {
    for (auto& name : names) name += " has been here, and wrote more than fits into a short string";
}

TEST(elements, that_own_something_are_used_in_place_by_threads) {
    for (const int targets : {0, 1, 2}) {
        Machine machine{with_targets(targets)};
        std::vector<std::string> names{"Ada", "Grace"};
        machine.call<mark>(inout(names)).wait();
        EXPECT_EQ(names[1], "Grace has been here, and wrote more than fits into a short string");
    }
}

TEST(elements, that_own_something_are_refused_by_processes) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine{task_tests::isolated(1)};
    std::vector<std::string> names{"Ada"};
    try {
        machine.call<mark>(inout(names));
        FAIL() << "another process cannot use strings of this one";
    } catch (const CannotCarryOver& refusal) {
        EXPECT_EQ(refusal.argument(), 1);
        EXPECT_NE(std::string(refusal.what()).find("byte by byte"), std::string::npos) << refusal.what();
    }
    EXPECT_EQ(names[0], "Ada");
}

}  // namespace
