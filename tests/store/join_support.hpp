// What the tests of teams that nobody forked share: names, and how many threads there are.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "tests/store/program.hpp"

namespace store_tests {

/// One that no other test has.
inline std::string a_team_name() {
    static int number = 0;
    return "test-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

inline std::size_t threads_of_this_process() {
    const std::filesystem::directory_iterator entries("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace store_tests
