// Pass `prune`: options that no rule switches are what they are in the beginning for ever; what is never on goes, what
// is always on stands by itself. So do groups that nobody uses go.
#include <algorithm>

#include "language/passes/rewriting.hpp"
#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

using Spot = std::pair<int, int>;

Spot spot_of(const SourcePlace& where) { return {where.line, where.column}; }
Spot spot_of(const Element& element) { return {element.at.line, element.at.column}; }

/// Elements and, where they became several parts, whether all of those are dead.
using Dead = std::map<Spot, bool>;

void note(Dead& dead, const SourcePlace& where, bool is_dead) {
    const auto [at, fresh] = dead.emplace(spot_of(where), is_dead);
    at->second = at->second && is_dead;
}

bool is_dead(const Dead& dead, const Element& element) {
    const auto found = dead.find(spot_of(element));
    return found != dead.end() && found->second;
}

/// What has gone, and what stays.
struct Pruning {
    Dead off, on;                 ///< option elements that are never on, and never off
    Dead streams;                 ///< those with an end that never exists
    Dead rules, component_rules;  ///< those about such components; and rules that are also about options

    explicit Pruning(const Plan& plan) {
        const auto never = [&](const Conditions& conditions) {
            return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& each) {
                const auto& option = plan.options[each.option];
                return !option.reached && option.initially != each.on;
            });
        };
        for (const auto& option : plan.options) {
            note(off, option.where, !option.reached && !option.initially);
            note(on, option.where, !option.reached && option.initially);
        }
        for (const auto& each : plan.streams) note(streams, each.where, never(each.conditions));
        for (const auto& rule : plan.rules) {
            const bool about_component = rule.kind == PlanRule::Kind::set || rule.kind == PlanRule::Kind::replace;
            note(rules, rule.where, about_component && never(plan.components[rule.component].conditions));
            if (about_component) note(component_rules, rule.where, never(plan.components[rule.component].conditions));
        }
    }
};

std::vector<Element> parts_of(const Element& owner) {
    std::vector<Element> all;
    std::copy_if(owner.children.begin(), owner.children.end(), std::back_inserter(all), is_part);
    return all;
}

/// What an option leaves behind, where it is always the same.
bool resolve(const Pruning& pruning, const Element& option, std::vector<Element>& others) {
    if (is_dead(pruning.on, option)) {
        others = parts_of(option);
        return true;
    }
    if (!is_dead(pruning.off, option)) return false;
    for (const auto& child : option.children)
        if (child.name == "otherwise") {
            auto parts = parts_of(child);
            std::move(parts.begin(), parts.end(), std::back_inserter(others));
        }
    return true;
}

void prune_rules(const Pruning& pruning, Element& manager) {
    std::erase_if(manager.children,
                  [&](const Element& child) { return child.name == "on" && is_dead(pruning.rules, child); });
    for (auto& child : manager.children)
        if (child.name == "on" && is_dead(pruning.component_rules, child)) {
            for (const auto* attribute : {"component", "setting", "value", "unit", "class"}) child.erase(attribute);
            child.children.clear();
        }
}

void prune_in(const Pruning& pruning, Element& owner) {
    // Streams and components elsewhere that never exist, because what they belong to does not.
    std::set<std::string> gone;
    const auto name_gone = [&](const Element& option) {
        const bool off = is_dead(pruning.off, option);
        if (!off && !is_dead(pruning.on, option)) return;
        for (const auto& child : option.children) {
            if (off && child.attribute("name") != nullptr && child.name != "otherwise")
                gone.insert(child.attribute("name")->value);
            if (!off && child.name == "otherwise")
                for (const auto& part : child.children)
                    if (part.attribute("name") != nullptr) gone.insert(part.attribute("name")->value);
        }
    };
    visit_below(owner, [&](Element& element) {
        if (element.name == "option") name_gone(element);
        return element.name != "group" && element.name != "parallel";
    });
    const auto is_gone = [&](const Element& port, std::string_view end) {
        return port.attribute(end) != nullptr && gone.contains(part_of(port.attribute(end)->value));
    };
    std::erase_if(owner.children, [&](const Element& child) {
        return (child.name == "stream" && is_dead(pruning.streams, child)) ||
               (child.name == "input" && is_gone(child, "to")) || (child.name == "output" && is_gone(child, "from"));
    });
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name == "option") return resolve(pruning, child, others);
        if (child.name != "manager") return false;
        prune_rules(pruning, child);
        // Parts stay in their order, as far as one manager lets them.
        std::vector<Element> behind;
        bool options_stay = false;
        replace_children(child, [&](Element& option, std::vector<Element>&) {
            if (option.name != "option") return false;
            std::vector<Element> parts;
            if (!resolve(pruning, option, parts)) {
                options_stay = true;
                return false;
            }
            std::move(parts.begin(), parts.end(), std::back_inserter(options_stay ? behind : others));
            return true;
        });
        if (!child.children.empty()) {
            others.push_back(child);
            others.back().comments.clear();  // replace_children puts them before the first
        }
        std::move(behind.begin(), behind.end(), std::back_inserter(others));
        return true;
    });
    for (auto& child : owner.children) prune_in(pruning, child);
}

void drop_unused_groups(Element& root) {
    for (bool again = true; again;) {
        std::set<std::string> used;
        visit_below(root, [&](Element& element) {
            if (element.name == "use") used.insert(element.attribute("group")->value);
            return true;
        });
        again = std::erase_if(root.children, [&](const Element& child) {
                    return child.name == "group" && !used.contains(child.attribute("name")->value);
                }) != 0;
    }
}

}  // namespace

void prune(Transforming& work) {
    // What stands inside something that goes is found in the next round, when there is anything.
    for (std::string before; before != work.text();) {
        before = work.text();
        const Pruning pruning(work.plan());
        prune_in(pruning, work.root());
        drop_unused_groups(work.root());
        work.renew();
    }
}

}  // namespace penstock::language
