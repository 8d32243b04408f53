#include "apps/graphs.hpp"

#include <optional>
#include <utility>

#include "penstock/run.hpp"

namespace penstock::apps {
namespace {

struct Noted {
    GraphDescription graph;
    RunStatistics figures;
};
thread_local std::optional<Noted> noted;

}  // namespace

void note_graph(const Run& run) { noted = Noted{run.description(), run.statistics()}; }

std::string take_graph() {
    const auto last = std::exchange(noted, std::nullopt);
    return last ? json_of(last->graph, &last->figures) : std::string();
}

}  // namespace penstock::apps
