// Component classes that an edit from outside may name. The language layer has them and offers them here; a program
// that does not use it has none.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "penstock/graph.hpp"

namespace penstock::streaming {

class Palette {
  public:
    virtual ~Palette() = default;
    /// Null when there is no such class.
    virtual std::shared_ptr<const FilterKind> kind_of(const std::string& name) const = 0;
    /// A JSON list: name, documentation, inputs, outputs, settings.
    virtual std::string json() const = 0;
    /// A graph as an application in XML. Throws UsageError for what cannot be written.
    virtual std::string xml(const GraphDescription& graph, const std::string& name) const = 0;

    static inline std::atomic<const Palette*> offered{nullptr};
    /// The language layer's, with what Components::known() has; called when a program that uses it begins.
    static void offer() noexcept;
};

}  // namespace penstock::streaming
