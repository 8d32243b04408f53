// The graph of filters that an application ran last, for reports.
#pragma once

#include <string>

namespace penstock {
class Run;
}

namespace penstock::apps {

/// Keeps the graph and the figures of a run that has ended, for take_graph() on the same thread. Some microseconds.
void note_graph(const Run& run);

/// The graph noted last, as json_of() writes it, and forgets it; empty when there is none.
std::string take_graph();

}  // namespace penstock::apps
