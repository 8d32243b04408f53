// Pass `inline`: what groups consist of, where they are used.

#include "language/passes/transforming.hpp"

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

/// The child of that kind and name; null when there is none.
const Element* child_of(const Element& owner, std::string_view kind, std::string_view name) {
    for (const auto& child : owner.children)
        if (child.name == kind && child.value("name") == name) return &child;
    return nullptr;
}

/// The application's parameter that a use hands on as it is, so that it may stay one: with the same type, and without
/// limits in the group, which would be lost; and where nothing of the group hides its name or depends on its value.
/// Else "".
std::string handed_on(const Element& root, const Element& use, const Element& group, const Element& parameter) {
    const auto& name = parameter.value("name");
    const auto* const given = child_of(use, "set", name);
    if (given == nullptr) return "";
    const auto text = given->value("value");
    const auto names = names_in(text);
    if (names.size() != 1 || text != "${" + *names.begin() + "}") return "";
    const auto* const of_application = child_of(root, "parameter", *names.begin());
    if (of_application == nullptr || of_application->value("type") != parameter.value("type")) return "";
    if (parameter.attribute("least") != nullptr || parameter.attribute("most") != nullptr) return "";
    std::set<std::string> hidden, structural;
    collect_indices(group, hidden);
    for (const auto& child : group.children) {
        if (child.name == "parameter") collect_names(child, structural, [](const auto&...) { return true; });
        else if (child.name != "input" && child.name != "output") collect_names(child, structural, is_structural);
    }
    return hidden.contains(*names.begin()) || structural.contains(name) ? "" : *names.begin();
}

/// The parameters of the application whose values the use's settings need.
void collect_needed(const Element& root, const Element& use, const Element& group, std::set<std::string>& names) {
    for (const auto& child : group.children) {
        if (child.name != "parameter" || !handed_on(root, use, group, child).empty()) continue;
        if (const auto* const given = child_of(use, "set", child.value("name")))
            names.merge(names_in(given->value("value")));
    }
}

std::vector<Element> body_of(const Element& root, const Element& use, const Element& group) {
    Replacements replacements;
    Variables values;
    for (const auto& child : group.children) {
        if (child.name != "parameter") continue;
        const auto name = child.value("name");
        if (auto other = handed_on(root, use, group, child); !other.empty()) {
            replacements[name] = {{}, std::move(other)};
            continue;
        }
        const auto* const given = child_of(use, "set", name);
        const auto text =
            given != nullptr ? substituted(given->value("value"), {}) : substituted(child.value("default"), values);
        const auto type = std::ranges::find(type_words, child.value("type")) - std::begin(type_words);
        values[name] = {value_like(values_by_type[type], text).value(), ""};
        replacements[name] = {values[name].value, ""};
    }
    std::vector<Element> all;
    add_copies(all, group, replacements, true);
    for (auto& copy : all) put_prefix(copy, use.value("name") + "/");
    return all;
}

}  // namespace

void inline_groups(Transforming& work, int) {
    if (contains(work.root(), "use")) fix_structure(work);
    while (contains(work.root(), "use")) {
        do {
            while (expand_repetitions(work, has_or_joins_uses)) {
            }
        } while (replace_parallels(work, has_uses, false));
        std::set<std::string> needed;
        visit_uses(work.root(),
                   [&](Element& use) { collect_needed(work.root(), use, *work.group(use.value("group")), needed); });
        work.fix(needed);
        std::vector<std::string> uses;
        std::map<std::string, Element> groups;
        visit_uses(work.root(), [&](Element& use) {
            uses.push_back(use.value("name"));
            groups.emplace(use.value("group"), *work.group(use.value("group")));
        });
        join_directly(work, uses);
        const auto as_it_was = work.root();
        visit_owners(work.root(), [&](Element& owner, const std::string&) {
            replace_children(owner, [&](Element& child, std::vector<Element>& others) {
                if (child.name != "use") return false;
                others = body_of(as_it_was, child, groups.at(child.value("group")));
                return true;
            });
        });
        work.renew();
    }
    std::erase_if(work.root().children, [](const Element& child) { return child.name == "group"; });
    work.renew();
}

}  // namespace penstock::language
