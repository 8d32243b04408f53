// Pass `inline`: what groups consist of, where they are used.
#include <algorithm>
#include <map>

#include "language/elaboration/option_words.hpp"
#include "language/passes/rewriting.hpp"
#include "language/passes/transforming.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

bool has_uses(const Transforming&, const Element& element) { return contains(element, "use"); }
bool has_or_joins_uses(const Transforming& work, const Element& repeat) {
    return contains(repeat, "use") || joins_inner_parts(work, repeat);
}

void visit_uses(Element& root, const std::function<void(Element&)>& visit) {
    visit_below(root, [&](Element& element) {
        if (element.name == "use") visit(element);
        return element.name != "group";
    });
}

const Element* parameter_of(const Element& owner, std::string_view name) {
    for (const auto& child : owner.children)
        if (child.name == "parameter" && child.attribute("name")->value == name) return &child;
    return nullptr;
}

const Element* setting_of(const Element& use, std::string_view name) {
    for (const auto& child : use.children)
        if (child.name == "set" && child.attribute("name")->value == name) return &child;
    return nullptr;
}

/// The application's parameter that a use hands on as it is, so that it may stay one: with the same type, and without
/// limits in the group, which would be lost; and where nothing of the group hides its name or depends on its value.
/// Else "".
std::string handed_on(const Element& root, const Element& use, const Element& group, const Element& parameter) {
    const auto name = parameter.attribute("name")->value;
    const auto* const given = setting_of(use, name);
    if (given == nullptr) return "";
    const auto text = given->attribute("value")->value;
    const auto names = names_in(text);
    if (names.size() != 1 || text != "${" + *names.begin() + "}") return "";
    const auto* const of_application = parameter_of(root, *names.begin());
    if (of_application == nullptr || of_application->attribute("type")->value != parameter.attribute("type")->value)
        return "";
    if (parameter.attribute("least") != nullptr || parameter.attribute("most") != nullptr) return "";
    std::set<std::string> hidden, structural;
    collect_indices(group, hidden);
    for (const auto& child : group.children) {
        if (child.name == "parameter") collect_names(child, structural);
        else if (child.name != "input" && child.name != "output") collect_structural_names(child, structural);
    }
    return hidden.contains(*names.begin()) || structural.contains(name) ? "" : *names.begin();
}

/// The parameters of the application whose values the use's settings need.
void collect_needed(const Element& root, const Element& use, const Element& group, std::set<std::string>& names) {
    for (const auto& child : group.children) {
        if (child.name != "parameter" || !handed_on(root, use, group, child).empty()) continue;
        if (const auto* const given = setting_of(use, child.attribute("name")->value))
            names.merge(names_in(given->attribute("value")->value));
    }
}

std::vector<Element> body_of(const Element& root, const Element& use, const Element& group) {
    Replacements replacements;
    Variables values;
    for (const auto& child : group.children) {
        if (child.name != "parameter") continue;
        const auto name = child.attribute("name")->value;
        if (auto other = handed_on(root, use, group, child); !other.empty()) {
            replacements[name] = {{}, std::move(other)};
            continue;
        }
        const auto* const given = setting_of(use, name);
        const auto text = given != nullptr ? substituted(given->attribute("value")->value, {})
                                           : substituted(child.attribute("default")->value, values);
        constexpr std::string_view types[] = {"boolean", "integer", "number", "text"};
        const SettingValue likes[] = {false, std::int64_t{0}, 0.0, std::string()};
        const auto type =
            std::find(std::begin(types), std::end(types), child.attribute("type")->value) - std::begin(types);
        values[name] = {value_like(likes[type], text).value(), ""};
        replacements[name] = {values[name].value, ""};
    }
    std::vector<Element> all;
    for (const auto& child : group.children) {
        if (!is_part(child)) continue;
        auto& copy = all.emplace_back(child);
        replace_names(copy, replacements);
        put_prefix(copy, use.attribute("name")->value + "/");
    }
    return all;
}

void replace_uses(Element& owner, const Element& root, const std::map<std::string, Element>& groups) {
    for (auto& child : owner.children)
        if (child.name == "option" || child.name == "otherwise" || child.name == "manager")
            replace_uses(child, root, groups);
    replace_children(owner, [&](Element& child, std::vector<Element>& others) {
        if (child.name != "use") return false;
        others = body_of(root, child, groups.at(child.attribute("group")->value));
        return true;
    });
}

}  // namespace

void inline_groups(Transforming& work) {
    if (contains(work.root(), "use")) fix_structure(work);
    while (contains(work.root(), "use")) {
        do {
            while (expand_repetitions(work, has_or_joins_uses)) {
            }
        } while (replace_parallels(work, has_uses, false));
        std::set<std::string> needed;
        visit_uses(work.root(), [&](Element& use) {
            collect_needed(work.root(), use, *work.group(use.attribute("group")->value), needed);
        });
        work.fix(needed);
        std::vector<std::string> uses;
        std::map<std::string, Element> groups;
        visit_uses(work.root(), [&](Element& use) {
            uses.push_back(use.attribute("name")->value);
            groups.emplace(use.attribute("group")->value, *work.group(use.attribute("group")->value));
        });
        join_directly(work, uses);
        const auto as_it_was = work.root();
        replace_uses(work.root(), as_it_was, groups);
        work.renew();
    }
    std::erase_if(work.root().children, [](const Element& child) { return child.name == "group"; });
    work.renew();
}

}  // namespace penstock::language
