#include "penstock/components.hpp"

#include "language/generic_parts.hpp"
#include "language/text.hpp"

namespace penstock {

Components& Components::known() {
    static Components all = builtin();
    return all;
}

Components Components::builtin() {
    Components all;
    language::add_generic_parts(all);
    return all;
}

void Components::add_kind(const std::string& name, std::string documentation, std::shared_ptr<const streaming::FilterKind> kind) {
    if (!language::is_class_name(name))
        throw UsageError("'" + name + "' cannot name a component class: a name is a letter, then letters, digits, '-', '_' and ':'");
    if (classes_.contains(name)) throw UsageError("there is a component class '" + name + "' already: give this one another name");
    Graph graph;
    graph.add_kind("", {}, kind);
    classes_.emplace(name, ComponentClass{name, std::move(documentation), std::move(graph.description().filters.front()), std::move(kind)});
}

const ComponentClass* Components::find(const std::string& name) const noexcept {
    const auto found = classes_.find(name);
    return found == classes_.end() ? nullptr : &found->second;
}

const ComponentClass* Components::of_type(const std::string& type) const noexcept {
    for (const auto& [name, each] : classes_)
        if (each.filter.type == type) return &each;
    return nullptr;
}

std::vector<std::string> Components::names() const {
    std::vector<std::string> all;
    for (const auto& [name, each] : classes_) all.push_back(name);
    return all;
}

}  // namespace penstock
