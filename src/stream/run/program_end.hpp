// The program's own ends of streams: stations that never fire. Whichever thread of the program acts as one holds its
// lock.
#pragma once

#include "stream/run/station.hpp"

namespace penstock::streaming {

/// Takes in what was sent to it, and ends it if nothing more can come. Does nothing while another thread acts as it.
void attend_program_end(Station& station);
/// The same, and gives their room back to the writers of what waits there.
void make_way_at(Station& station);
/// Closes a writing end, when what was written has gone.
void close_program_end(Station& station);

}  // namespace penstock::streaming
