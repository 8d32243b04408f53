// Applications as the paper on Tagged Procedure Calls ran them: every call dealt out to the targets in turn, through
// lanes of 1 to 64 slots, with prefetch and without, while the caller issues and waits. Beside them the same with
// Penstock's own distribution, where the caller helps.
//
// The paper has one to six targets beside the thread that issues. Here there are as many targets as there are
// processors beside the issuing one's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/report.hpp"
#include "penstock/machine.hpp"

namespace bench {

/// An application of one size.
struct CalledApplication {
    std::string name;
    std::function<void()> prepare;  ///< puts the input back
    std::function<void()> serial;
    std::function<void(penstock::Machine&)> called;
    std::function<void()> check;  ///< throws where what came out has not the bits of the serial way
    std::size_t calls;            ///< that `called` must issue
};

/// A row for each way: its time, over one thread, its calls, and how much of the time the issuing thread stalled and
/// the targets were idle. Throws std::runtime_error where a way has other bits, or issues another number of calls.
void compare_ways_of_calling(const CalledApplication& application, const Options& options, Report& report);

}  // namespace bench
