// Pass `fuse`: neighbours on one target, so that a buffer goes from one to the next without a queue.
#include <algorithm>
#include <cstddef>
#include <optional>

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

/// Neither copied nor placed.
bool is_free(const PlanComponent& component) {
    return component.options.copies == 1 && component.options.targets.empty() && component.options.near.empty() &&
           !component.options.stays_in_program();
}

}  // namespace

void fuse(Transforming& work, int targets) {
    flatten(work);
    const auto& plan = work.plan();
    const auto count = plan.components.size();
    std::vector<int> readers(count, 0), writers(count, 0);
    for (const auto& stream : plan.streams) ++readers[stream.source], ++writers[stream.sink];
    std::vector<std::optional<std::size_t>> next(count);
    std::vector<bool> follows(count, false);
    for (const auto& stream : plan.streams) {
        const auto &source = plan.components[stream.source], &sink = plan.components[stream.sink];
        if (readers[stream.source] != 1 || writers[stream.sink] != 1 || stream.source == stream.sink ||
            stream.options.feedback || !stream.options.fuse || !is_free(source) || !is_free(sink) ||
            source.conditions != sink.conditions)
            continue;
        next[stream.source] = stream.sink;
        follows[stream.sink] = true;
    }
    int chain = 0;
    for (std::size_t head = 0; head < count; ++head) {
        if (follows[head] || !next[head]) continue;
        const auto element = [&](std::size_t i) -> Element& { return work.element_at(plan.components[i].where); };
        element(head).set("targets", std::to_string(chain++ % targets));
        for (auto at = next[head]; at; at = next[*at]) element(*at).set("near", plan.components[head].name);
    }
    work.renew();
}

}  // namespace penstock::language
