// What copies that were retired and links that were taken away have counted: the figures of their filters and streams
// go on with it.
#pragma once

#include <cstdint>
#include <map>

#include "stream/run/link.hpp"
#include "stream/run/station.hpp"

namespace penstock::streaming {

/// Counters of copies of one filter, added up.
struct FilterCounts {
    std::uint64_t firings = 0, failures = 0, dropped = 0;
    std::uint64_t lost = 0, made_again = 0;  ///< with worker processes
    std::uint64_t service_ticks = 0, sampled = 0;
    std::uint64_t ready_ticks = 0, input_ticks = 0, output_ticks = 0;
    std::uint64_t lived_ticks = 0;  ///< from birth until they were added

    void add(const Station& station);
};

/// Counters of links of one stream, added up.
struct StreamCounts {
    std::uint64_t buffers = 0, bytes = 0, dropped = 0;
    std::uint64_t capacity = 0, sinks = 0;  ///< of links that there are

    void add(const Link& link);
};

/// By their numbers in the model.
struct Past {
    std::map<std::uint64_t, FilterCounts> filters;
    std::map<std::uint64_t, StreamCounts> streams;
};

}  // namespace penstock::streaming
