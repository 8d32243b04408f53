// Times several ways to compute one result side by side: A B C A B C ..., so that a drift of the machine meets all
// alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/report.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps {

/// One way to compute the result.
struct Way {
    std::string name;
    std::function<void()> prepare;  ///< puts the input back; not timed
    std::function<double()> run;    ///< computes; returns the seconds that it took
};

/// Seconds that body() takes.
double seconds_of(const std::function<void()>& body);

/// Has every target of the machine work, so that none sleeps when a run begins that is over before they would be awake
/// (50 us and more). The clock of a team of threads by hand starts when all are awake, too.
void wake(Machine& machine);

/// Calls that the machine has counted so far.
std::uint64_t calls_of(const Machine& machine);

/// Runs every way once untimed (caches, pages, threads), then `repetitions` times in turn. Progress goes from `from`
/// to 1.
std::vector<Timing> measure(std::span<const Way> ways, int repetitions, const Progress& progress, double from = 0);

}  // namespace penstock::apps
