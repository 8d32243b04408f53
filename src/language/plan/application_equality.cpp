// When two applications are equal: by what they would do, not by where it is written.
#include <algorithm>
#include <tuple>

#include "language/plan/plan.hpp"

namespace penstock {
namespace language {
namespace {

/// Functions cannot be compared.
bool same(const StreamOptions& a, const StreamOptions& b) {
    const auto all = [](const StreamOptions& each) {
        return std::tie(each.policy, each.capacity, each.capacity_bytes, each.when_full, each.ordered, each.fuse,
                        each.feedback, each.name);
    };
    return all(a) == all(b) && !a.key && !b.key;
}

/// Of a class without a name its type is what is known.
bool same(const Plan& plan_a, const ComponentClass* a, const Plan& plan_b, const ComponentClass* b) {
    if (a == b || a == nullptr || b == nullptr) return a == b;
    const bool have_names = plan_a.known.find(a->name) == a && plan_b.known.find(b->name) == b;
    return a->filter.type == b->filter.type && (!have_names || a->name == b->name);
}

bool same(const Plan& a, const Plan& b) {
    const auto same_components = [&](const PlanComponent& one, const PlanComponent& other) {
        return one.name == other.name && same(a, one.of, b, other.of) && one.options == other.options &&
               one.settings == other.settings && one.conditions == other.conditions;
    };
    const auto same_streams = [](const PlanStream& one, const PlanStream& other) {
        return one.from == other.from && one.to == other.to && same(one.options, other.options) &&
               one.conditions == other.conditions;
    };
    const auto same_options = [](const PlanOption& one, const PlanOption& other) {
        return one.name == other.name && one.initially == other.initially && one.conditions == other.conditions;
    };
    const auto same_rules = [&](const PlanRule& one, const PlanRule& other) {
        return one.event == other.event && one.kind == other.kind && one.option == other.option &&
               one.component == other.component && one.settings == other.settings && same(a, one.of, b, other.of);
    };
    return a.name == b.name && a.events == b.events && a.timers == b.timers &&
           std::ranges::equal(a.components, b.components, same_components) &&
           std::ranges::equal(a.streams, b.streams, same_streams) &&
           std::ranges::equal(a.options, b.options, same_options) && std::ranges::equal(a.rules, b.rules, same_rules);
}

}  // namespace
}  // namespace language

bool operator==(const Application& one, const Application& other) {
    return one.plan_ == other.plan_ || language::same(*one.plan_, *other.plan_);
}

}  // namespace penstock
