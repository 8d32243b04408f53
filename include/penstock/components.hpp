// language layer: filter classes by name, so that a graph that is written down can say which filters it is made of.
//
//     register_component<Blur>("blur", "Smooths an image by a Gaussian.");          // before applications are read
//     for (const auto& name : Components::known().names()) std::puts(name.c_str());
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"

namespace penstock {

/// A class of filters. Its settings are what the filter makes of itself when nobody sets them.
struct ComponentClass {
    std::string name;
    std::string documentation;  ///< one line
    FilterDescription filter;   ///< ports, settings and what the class says of itself; without a name
    std::shared_ptr<const streaming::FilterKind> kind;
};

class Components {
  public:
    /// None.
    Components() = default;
    /// The parts that come with Penstock: numbers, scale, shift, pass, add, neighbours, round, sum, count, print, print-integers.
    static Components builtin();
    /// Those that come with Penstock and what register_component() added. One for the process; nobody may add while others read.
    static Components& known();

    /// Filters of type F, made of `arguments` (copied, for each). Throws UsageError when the name is taken, or is not a name: a letter, then
    /// letters, digits, '-', '_' and ':'.
    template <class F, class... Args>
    void add(const std::string& name, std::string documentation, Args&&... arguments) {
        static_assert(streaming::Firing<F>, "penstock: a filter needs a call operator without arguments");
        using Kind = streaming::FilterKindOf<F, std::decay_t<Args>...>;
        add_kind(name, std::move(documentation), std::make_shared<Kind>(std::forward<Args>(arguments)...));
    }
    void add_kind(const std::string& name, std::string documentation, std::shared_ptr<const streaming::FilterKind> kind);

    /// Null when there is none.
    const ComponentClass* find(const std::string& name) const noexcept;
    /// The first, by name, whose filters have this type (FilterDescription::type); null when there is none. Linear.
    const ComponentClass* of_type(const std::string& type) const noexcept;
    /// In alphabetical order.
    std::vector<std::string> names() const;

  private:
    std::map<std::string, ComponentClass> classes_;
};

/// Makes a filter class known to all applications that are read later. Throws as Components::add() does.
template <class F, class... Args>
void register_component(const std::string& name, std::string documentation, Args&&... arguments) {
    Components::known().add<F>(name, std::move(documentation), std::forward<Args>(arguments)...);
}

}  // namespace penstock
