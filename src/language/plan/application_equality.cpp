// When two applications are equal: by what they would do, not by where it is written.
#include <algorithm>
#include <tuple>

#include "language/plan/plan.hpp"

namespace penstock {
namespace language {
namespace {

bool same(const FilterOptions& a, const FilterOptions& b) {
    const auto all = [](const FilterOptions& each) {
        return std::tie(each.copies, each.targets, each.near, each.on_failure, each.pool, each.time_limit,
                        each.isolation);
    };
    return all(a) == all(b);
}

/// Functions cannot be compared.
bool same(const StreamOptions& a, const StreamOptions& b) {
    const auto all = [](const StreamOptions& each) {
        return std::tie(each.policy, each.capacity, each.capacity_bytes, each.when_full, each.ordered, each.fuse,
                        each.feedback, each.name);
    };
    return all(a) == all(b) && !a.key && !b.key;
}

class Comparison {
  public:
    Comparison(const Plan& a, const Plan& b) : a_(a), b_(b) {}
    bool same() const {
        const auto each = [](const auto& one, const auto& other, const auto& equal) {
            return std::equal(one.begin(), one.end(), other.begin(), other.end(), equal);
        };
        return a_.name == b_.name && a_.events == b_.events &&
               each(a_.components, b_.components,
                    [&](const auto& a, const auto& b) {
                        return a.name == b.name && same_class(a.of, b.of) && language::same(a.options, b.options) &&
                               a.settings == b.settings && a.conditions == b.conditions;
                    }) &&
               each(a_.streams, b_.streams,
                    [](const auto& a, const auto& b) {
                        return a.from == b.from && a.to == b.to && language::same(a.options, b.options) &&
                               a.conditions == b.conditions;
                    }) &&
               each(a_.options, b_.options,
                    [](const auto& a, const auto& b) {
                        return a.name == b.name && a.initially == b.initially && a.conditions == b.conditions;
                    }) &&
               each(a_.rules, b_.rules,
                    [&](const auto& a, const auto& b) {
                        return a.event == b.event && a.kind == b.kind && a.option == b.option &&
                               a.component == b.component && a.settings == b.settings && same_class(a.of, b.of);
                    }) &&
               each(a_.timers, b_.timers, [](const auto& a, const auto& b) {
                   return a.event == b.event && a.after == b.after && a.every == b.every;
               });
    }

  private:
    static bool has_name(const Plan& plan, const ComponentClass* of) { return plan.known.find(of->name) == of; }
    /// Of a class without a name its type is what is known.
    bool same_class(const ComponentClass* a, const ComponentClass* b) const {
        if (a == b || a == nullptr || b == nullptr) return a == b;
        return a->filter.type == b->filter.type && (!has_name(a_, a) || !has_name(b_, b) || a->name == b->name);
    }

    const Plan &a_, &b_;
};

}  // namespace
}  // namespace language

bool operator==(const Application& one, const Application& other) {
    return one.plan_ == other.plan_ || language::Comparison(*one.plan_, *other.plan_).same();
}

}  // namespace penstock
