#include "apps/written.hpp"

#include <filesystem>
#include <mutex>

#include "apps/addition/streams.hpp"
#include "apps/colour/colour.hpp"
#include "apps/edge/streams.hpp"
#include "apps/h264/streams.hpp"
#include "apps/ofdm/ofdm.hpp"
#include "apps/synthetic/synthetic.hpp"
#include "components/classes.hpp"
#include "penstock/component_classes.hpp"
#include "penstock/error.hpp"
#if defined(PENSTOCK_APPS_JPEG)
#include "apps/jpip/jpip.hpp"
#include "apps/tissue/tissue.hpp"
#endif

namespace penstock::apps {
namespace {

/// In the place of `print`, where nobody is to see what came.
struct Forget {
    Input<double> in{"in"};
    Setting<std::string> label{"label", ""};
    void operator()() { (void)in.read(); }
};

}  // namespace

const char* text_instead_of(const std::string& path) {
    if (std::filesystem::exists(path)) return nullptr;
    for (const auto& each : all_written())
        if (path == std::string(each.name) + ".xml") return each.text;
    return nullptr;
}

Application application(const std::string& name, const ApplicationOptions& options) {
    std::string names;
    for (const auto& each : all_written()) {
        if (name == each.name) return Application::parse(each.text, name + ".xml", options);
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    throw UsageError("there is no application called " + name + " that is written down; there are " + names);
}

void add_components(Components& components) {
    addition::add_components(components);
    colour::add_components(components);
    edge::add_components(components);
    h264::add_components(components);
    ofdm::add_components(components);
    synthetic::add_components(components);
#if defined(PENSTOCK_APPS_JPEG)
    jpip::add_components(components);
    tissue::add_components(components);
#endif
}

void register_components() {
    static std::once_flag once;
    std::call_once(once, [] {
        add_components(Components::known());
        register_component_classes();
    });
}

Components silent_components() {
    Components components;
    components.add<Forget>("print", "Forgets what comes.");
    components::add_classes(components);
    return components;
}

}  // namespace penstock::apps
