// What everybody is given to do in ./bench grain, and the ways to do it: pieces of work of a known length, in three
// shapes of program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/team.hpp"
#include "grain/piece.hpp"
#include "penstock/machine.hpp"

namespace bench::grain {

/// What our ways run on: a target for each processor but the caller's, and threads by hand in the same places.
struct Place {
    penstock::Machine& machine;
    penstock::apps::Team& team;
    int workers() const { return machine.targets() + 1; }
};

/// What a run gave, and how long it took where the way knows that better than who calls it: threads by hand are awake
/// when their time begins, and another process tells its own.
struct Ran {
    std::uint64_t digest = 0;
    double nanoseconds = 0;  ///< 0: the whole call
};

/// One way to run one program: all of it, each time.
struct Way {
    std::string name;
    std::function<Ran()> run;
    /// Surrounds a batch: enters what must be entered, and keeps the calling thread on its processor.
    std::function<void(const std::function<void()>&)> inside;
};

/// How much a program does.
struct Size {
    std::size_t pieces = 0;  ///< of a loop; items of a pipeline; cells of a side of the graph
    std::int32_t iterations = 0;
};

inline constexpr std::size_t stages = 4;

/// A loop over pieces that depend on nothing.
std::vector<Way> loop_ways(const Place& place, const Size& size);
/// Items that go through a source, four stages that may run for several items at once, and a sink that takes them in
/// order.
std::vector<Way> pipeline_ways(const Place& place, const Size& size);
/// A square of cells, each made of the one above and the one on the left.
std::vector<Way> graph_ways(const Place& place, const Size& size);

/// On the first processor, where the targets and the hand's other threads are not.
void on_the_first(const std::function<void()>& batch);
void in_openmp(const std::function<void()>& batch);

}  // namespace bench::grain
