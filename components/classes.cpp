#include "components/classes.hpp"

#include <mutex>

#include "penstock/component_classes.hpp"

namespace penstock {
namespace {

/// Behind the program's own classes: one that has a name of theirs takes their place.
class Classes final : public ComponentSource {
  public:
    Classes() { components::add_classes(all_); }
    std::vector<std::string> names() const override { return all_.names(); }
    std::optional<Made> make(const std::string& name) const override {
        const auto* const found = all_.find(name);
        if (found == nullptr) return std::nullopt;
        return Made{found->documentation, found->kind, {ComponentOrigin::Kind::program, "penstock::component_classes"}};
    }

  private:
    Components all_;
};

}  // namespace

void components::add_classes(Components& components) {
    for (const auto add :
         {add_files, add_arrays, add_slides, add_bytes, add_sounds, add_films, add_tables, add_colours,
          add_neighbourhoods, add_shapes, add_unions, add_measures, add_tiles, add_signals, add_watchers})
        add(components);
}

void register_component_classes() {
    static std::once_flag once;
    std::call_once(once, [] { Components::known().add_source(std::make_shared<Classes>()); });
}

}  // namespace penstock
