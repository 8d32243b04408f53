#include "store/ways/reader_processor.hpp"

#include "penstock/topology.hpp"

namespace penstock {

std::optional<int> reader_processor() {
    const auto& topology = Topology::here();
    if (topology.usable() < 2) return std::nullopt;
    const auto* own = topology.find(current_processor());
    std::optional<int> other;
    for (const auto& processor : topology.processors()) {
        if (own == nullptr || processor.index == own->index) continue;
        if (processor.core != own->core) return processor.index;
        other = processor.index;
    }
    return other;
}

}  // namespace penstock
