// Passes that put components on targets. `place`: so that each target has as much to do as the others, and neighbours
// that do little stand where the buffers come from. `fuse`: neighbours on one target, so that a buffer goes from one to
// the next without a queue.

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

constexpr double little = 0.02;  ///< of a target's share: not worth a target's thread to be looked for

struct Placement {
    std::vector<double> load;              ///< of each target, in seconds
    std::vector<std::vector<int>> chosen;  ///< by component

    int least_loaded(const std::vector<int>& but) const {
        int best = -1;
        for (int target = 0; target < static_cast<int>(load.size()); ++target)
            if (std::ranges::find(but, target) == but.end() &&
                (best < 0 || load[static_cast<std::size_t>(target)] < load[static_cast<std::size_t>(best)]))
                best = target;
        return best;
    }
};

/// The first target of the neighbour with which most buffers are exchanged, of those that have one; -1: none has.
int target_of_neighbour(const Plan& plan, const Profile& profile, const Placement& placement, std::size_t component) {
    int found = -1;
    double most = -1;
    for (const auto& stream : plan.streams) {
        if (stream.source != component && stream.sink != component) continue;
        const auto& other = placement.chosen[stream.source == component ? stream.sink : stream.source];
        const auto seen = profile.streams.find({stream.from, stream.to});
        const double buffers = seen == profile.streams.end() ? 0 : seen->second.buffers;
        if (!other.empty() && buffers > most) most = buffers, found = other.front();
    }
    return found;
}

/// Neither copied nor placed.
bool is_free(const PlanComponent& component) {
    return component.options.copies == 1 && component.options.targets.empty() && component.options.near.empty() &&
           !component.options.stays_in_program();
}

}  // namespace

void place(Transforming& work, int targets) {
    const auto& profile = work.profile("place");
    if (targets == 0) targets = profile.targets;
    if (targets == 0)
        throw UsageError(
            "the profile is of a machine without targets: say for how many components are to be placed, as in place=4");
    flatten(work);
    const auto& plan = work.plan();
    const auto work_of = [&](std::size_t component) {
        const auto found = profile.components.find(plan.components[component].name);
        return found == profile.components.end() ? 0.0 : found->second.work();
    };
    Placement placement{std::vector<double>(static_cast<std::size_t>(targets), 0),
                        std::vector<std::vector<int>>(plan.components.size())};
    std::vector<std::size_t> order;
    double whole = 0;
    for (std::size_t i = 0; i < plan.components.size(); ++i) {
        const auto& options = plan.components[i].options;
        whole += work_of(i);
        if (!options.near.empty() || options.copies == FilterOptions::automatic || options.stays_in_program()) continue;
        if (options.targets.empty()) order.push_back(i);
        else placement.chosen[i] = options.targets;  // somebody has placed it
        for (const int target : options.targets)
            if (target < targets)
                placement.load[static_cast<std::size_t>(target)] +=
                    work_of(i) / static_cast<double>(options.targets.size());
    }
    std::ranges::stable_sort(order, std::greater{}, work_of);
    const double small = little * whole / targets;
    std::vector<std::size_t> later;
    const auto put = [&](std::size_t component, int target) {
        placement.chosen[component].push_back(target);
        placement.load[static_cast<std::size_t>(target)] +=
            work_of(component) / std::max(1, std::min(plan.components[component].options.copies, targets));
    };
    for (const auto component : order) {
        if (work_of(component) <= small) {
            later.push_back(component);
            continue;
        }
        for (int copy = 0; copy < std::min(plan.components[component].options.copies, targets); ++copy)
            put(component, placement.least_loaded(placement.chosen[component]));
        std::ranges::sort(placement.chosen[component]);
    }
    // From those that are placed outwards.
    for (bool more = true; more && !later.empty();) {
        more = std::erase_if(later, [&](std::size_t component) {
                   const int target = target_of_neighbour(plan, profile, placement, component);
                   if (target < 0 || target >= targets) return false;
                   put(component, target);
                   return true;
               }) != 0;
        if (!more) put(later.front(), placement.least_loaded({})), later.erase(later.begin()), more = true;
    }
    for (const auto component : order)
        work.element_at(plan.components[component].where)
            .set("targets", list_of(placement.chosen[component], " ", number_text));
    work.renew();
}

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
