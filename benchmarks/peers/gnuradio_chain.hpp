// GNU Radio's flow graph as a chain of blocks that copy what comes to them, and do nothing else.
#pragma once

#include <functional>

namespace bench {

/// Runs `items` of 64 bytes through a source, `blocks` blocks and a sink, a thread each; returns nanoseconds an item,
/// from the first call of the source's work function to the last item at the sink. Empty where GNU Radio was not found.
std::function<double(int items)> gnuradio_chain(int blocks);

}  // namespace bench
