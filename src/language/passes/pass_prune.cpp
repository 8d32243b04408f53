// Pass `prune`: options that no rule switches are what they are in the beginning for ever; what is never on goes, what
// is always on stands by itself. So do groups that nobody uses go.

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

/// Elements by line and column and, where they became several parts, whether all of those are dead.
using Dead = std::map<std::pair<int, int>, bool>;

void note(Dead& dead, const SourcePlace& where, bool is_dead) {
    const auto [at, fresh] = dead.emplace(std::pair{where.line, where.column}, is_dead);
    at->second = at->second && is_dead;
}

bool is_dead(const Dead& dead, const Element& element) {
    const auto found = dead.find({element.at.line, element.at.column});
    return found != dead.end() && found->second;
}

/// What has gone, and what stays.
struct Pruning {
    Dead off, on;                 ///< option elements that are never on, and never off
    Dead streams;                 ///< those with an end that never exists
    Dead signals;                 ///< those of such components
    Dead rules, component_rules;  ///< those about such components; and rules that are also about options

    explicit Pruning(const Plan& plan) {
        const auto never = [&](const Conditions& conditions) {
            return std::ranges::any_of(conditions, [&](const Condition& each) {
                const auto& option = plan.options[each.option];
                return !option.reached && option.initially != each.on;
            });
        };
        for (const auto& option : plan.options) {
            note(off, option.where, !option.reached && !option.initially);
            note(on, option.where, !option.reached && option.initially);
        }
        for (const auto& each : plan.streams) note(streams, each.where, never(each.conditions));
        for (const auto& each : plan.signals)
            note(signals, each.where, never(plan.components[each.component].conditions));
        for (const auto& rule : plan.rules) {
            const bool dead = !rule.switches() && never(plan.components[rule.component].conditions);
            note(rules, rule.where, dead);
            if (!rule.switches()) note(component_rules, rule.where, dead);
        }
    }
};

/// What an option leaves behind, where it is always the same.
bool resolve(const Pruning& pruning, const Element& option, std::vector<Element>& others) {
    const bool on = is_dead(pruning.on, option);
    if (on) add_copies(others, option, {}, true);
    if (on || !is_dead(pruning.off, option)) return on;
    for (const auto& child : option.children)
        if (child.name == "otherwise") add_copies(others, child, {}, true);
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
            if (off && child.name != "otherwise") gone.insert(child.value("name"));
            if (!off && child.name == "otherwise")
                for (const auto& part : child.children) gone.insert(part.value("name"));
        }
    };
    visit_below(owner, [&](Element& element) {
        if (element.name == "option") name_gone(element);
        return element.name != "group" && element.name != "parallel";
    });
    const auto is_gone = [&](const Element& port, std::string_view end) {
        return port.attribute(end) != nullptr && gone.contains(part_of(port.value(end)));
    };
    std::erase_if(owner.children, [&](const Element& child) {
        return (child.name == "stream" && is_dead(pruning.streams, child)) ||
               (child.name == "signal" && is_dead(pruning.signals, child)) ||
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
            const bool goes = resolve(pruning, option, options_stay ? behind : others);
            options_stay = options_stay || !goes;
            return goes;
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
            if (element.name == "use") used.insert(element.value("group"));
            return true;
        });
        again = std::erase_if(root.children, [&](const Element& child) {
                    return child.name == "group" && !used.contains(child.value("name"));
                }) != 0;
    }
}

}  // namespace

void prune(Transforming& work, int) {
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
