// The classes that the process knows, offered to edits from outside (stream/door/palette.hpp).
#include "stream/door/palette.hpp"

#include "penstock/application.hpp"
#include "penstock/components.hpp"
#include "stream/description/graph_json.hpp"
#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

class KnownClasses final : public Palette {
  public:
    std::shared_ptr<const FilterKind> kind_of(const std::string& name) const override {
        const Components classes = Components::known();
        const auto* const found = classes.find(name);
        return found == nullptr ? nullptr : found->kind;
    }
    std::string json() const override {
        const Components classes = Components::known();
        const auto text_of = [&](const std::string& name) -> std::string {
            const auto& one = *classes.find(name);
            return "{\"name\":" + trace::json_text(one.name) + ",\"type\":" + trace::json_text(one.filter.type) +
                   ",\"documentation\":" + trace::json_text(one.documentation) +
                   ",\"may_be_copied\":" + (one.filter.may_be_copied ? "true" : "false") + "," +
                   json_of_parts(one.filter) + "}";
        };
        std::vector<std::string> names = classes.names();
        std::erase_if(names, [&](const std::string& name) { return classes.find(name) == nullptr; });
        return "[" + trace::list_of(names, ",", text_of) + "]";
    }
    std::string xml(const GraphDescription& graph, const std::string& name) const override {
        return to_xml(graph, name);
    }
};

}  // namespace

void Palette::offer() noexcept {
    static const KnownClasses classes;
    offered = &classes;
}

}  // namespace penstock::streaming
