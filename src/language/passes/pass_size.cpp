// Pass `size`: more copies of what has more to do than its share, where copies change nothing but the speed; and queues
// as long as they had become.
#include <cmath>

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

constexpr double worth = 1.25;  ///< of a thread's share: less is not worth another copy
constexpr std::size_t longest_automatic = 64;

/// The one stream out of a component, or into it, which nobody shares; null when there is another number of them.
const PlanStream* only_stream(const Plan& plan, std::size_t component, bool out) {
    const PlanStream* found = nullptr;
    for (const auto& stream : plan.streams) {
        if ((out ? stream.source : stream.sink) != component) continue;
        if (found != nullptr) return nullptr;
        found = &stream;
    }
    if (found == nullptr || !found->options.name.empty()) return nullptr;
    return found;
}

bool is_ordinary(const StreamOptions& options) {
    return !options.feedback && options.when_full == WhenStreamFull::wait &&
           (options.policy == Policy::demand_driven || options.policy == Policy::round_robin);
}

}  // namespace

void size(Transforming& work, int) {
    const auto& profile = work.profile("size");
    flatten(work);
    const auto& plan = work.plan();
    double whole = 0;
    for (const auto& [name, each] : profile.components) whole += each.work();
    const double share = whole / (profile.targets + 1);  // the thread that waits for the run helps
    for (std::size_t i = 0; i < plan.components.size(); ++i) {
        const auto& component = plan.components[i];
        const auto seen = profile.components.find(component.name);
        if (seen == profile.components.end() || share <= 0 || !component.of->filter.may_be_copied ||
            component.options.copies != 1 || !component.options.near.empty() || component.options.targets.size() > 1 ||
            seen->second.work() < worth * share)
            continue;
        const auto *const in = only_stream(plan, i, false), *const out = only_stream(plan, i, true);
        if (in == nullptr || out == nullptr || !is_ordinary(in->options) || !is_ordinary(out->options)) continue;
        if (plan.components[out->sink].options.copies != 1) continue;  // of which none would see all that is ordered
        const auto copies = std::min(static_cast<int>(std::ceil(seen->second.work() / share)), profile.targets + 1);
        auto &filter = work.element_at(component.where), &stream = work.element_at(out->where);
        const auto attributes_of_filter = filter.attributes, attributes_of_stream = stream.attributes;
        filter.set("copies", std::to_string(copies));
        filter.erase("targets");
        stream.set("ordered", "true");
        if (work.is_right()) continue;
        filter.attributes = attributes_of_filter;  // the order cannot be kept there
        stream.attributes = attributes_of_stream;
    }
    for (const auto& stream : plan.streams) {
        const auto seen = profile.streams.find({stream.from, stream.to});
        if (seen == profile.streams.end() || stream.options.capacity != 0 || seen->second.capacity < 1) continue;
        const auto capacity =
            std::min(static_cast<std::size_t>(std::llround(seen->second.capacity)), longest_automatic);
        work.element_at(stream.where).set("capacity", std::to_string(capacity));
    }
    work.renew();
}

}  // namespace penstock::language
