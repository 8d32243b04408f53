// GNU Radio's flow graph as a chain of blocks that copy what comes to them, and do nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace bench {

/// Runs `items` of 64 bytes through a source, `blocks` blocks and a sink, a thread each; returns nanoseconds an item,
/// from the first call of the source's work function to the last item at the sink. Empty where GNU Radio was not found.
std::function<double(int items)> gnuradio_chain(int blocks);

/// The same where each block works on the number in an item, `value = value * a + c` so many times (grain/way.hpp): ns
/// an item, and what the sink makes of the numbers, digest * 31 + number each.
std::function<std::pair<double, std::uint64_t>(int items)> gnuradio_stages(int blocks, int iterations);

}  // namespace bench
