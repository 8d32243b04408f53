// The sum of two matrices as a graph: two filters read the matrices in buffers of so many whole rows, copies of a third
// add two buffers, and a fourth puts the sums into the result. With buffers of one row the cost of a hop decides, with
// large ones that of the memory.
#pragma once

#include <cstddef>

#include "apps/addition/addition.hpp"

namespace penstock {
class Components;
}

namespace penstock::apps::addition {

/// `rows` a buffer, the last one perhaps fewer; 0: as many as the runtime thinks best. So many copies of the filter
/// that adds. Waits for the result, which is computed `passes` times, as if the matrices were the first of many.
void streamed(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine,
              std::size_t passes = 1);

/// The same without a filter that works alone: one numbers the buffers, copies of a second read the rows of both
/// matrices into one buffer, copies of a third add them, and copies of a fourth put the sums into the result. Throws
/// UsageError for buffers of no rows.
void streamed_by_copies(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine,
                        std::size_t passes = 1);

/// The same without buffers for the rows: copies of one filter add them where they lie.
void streamed_in_place(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine,
                       std::size_t passes = 1);

/// The filters by name, for the graph written down (addition.xml): with files at its ends, or with the program's
/// memory.
void add_components(Components& components);
void add_components(Components& components, Source a, Source b, view<float, 2> sum);

/// The same without streams, on one thread: reads into two buffers, adds into a third, puts that into the result.
void copied(Source a, Source b, view<float, 2> sum, std::size_t rows);

/// What both do to read a buffer and to put one into the result, from this row on.
void read_rows(Source matrix, std::size_t first, view<float, 2> buffer);
void place_rows(Source buffer, std::size_t first, view<float, 2> sum);

}  // namespace penstock::apps::addition
