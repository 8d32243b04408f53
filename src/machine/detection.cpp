#include "machine/detection.hpp"

#include "penstock/error.hpp"

#ifdef PENSTOCK_HAVE_HWLOC

#include <hwloc.h>

#include <algorithm>
#include <memory>

namespace penstock {
namespace {

struct Destroy {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Loaded = std::unique_ptr<hwloc_topology, Destroy>;

Loaded loaded(const std::string& synthetic) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return nullptr;
    Loaded handle(raw);
    if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0)
        throw UsageError("hwloc does not understand the machine \"" + synthetic + "\"");
#if HWLOC_API_VERSION >= 0x00020500
    // Detection must not move the calling thread from processor to processor.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#else
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
    return hwloc_topology_load(raw) == 0 ? std::move(handle) : nullptr;
}

Cache cache_above(hwloc_topology_t topology, hwloc_obj_t unit, hwloc_obj_type_t type) {
    const auto object = hwloc_get_ancestor_obj_by_type(topology, type, unit);
    if (object == nullptr || object->attr == nullptr) return {};
    return {static_cast<std::size_t>(object->attr->cache.size), static_cast<int>(object->logical_index)};
}

// A processor may be near several memories (DRAM, HBM): the first that the system numbers is the ordinary one.
int node_of(hwloc_topology_t topology, int index) {
    int least = -1;
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
        const int number = static_cast<int>(node->os_index);
        if (hwloc_bitmap_isset(node->cpuset, static_cast<unsigned>(index)) && (least < 0 || number < least))
            least = number;
    }
    return std::max(least, 0);
}

Processor described(hwloc_topology_t topology, hwloc_obj_t unit) {
    Processor processor;
    processor.index = static_cast<int>(unit->os_index);
    const auto core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
    processor.core = static_cast<int>(core != nullptr ? core->logical_index : unit->logical_index);
    const auto package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, unit);
    processor.package = package != nullptr ? static_cast<int>(package->logical_index) : 0;
    processor.node = node_of(topology, processor.index);
    processor.l1d = cache_above(topology, unit, HWLOC_OBJ_L1CACHE);
    processor.l2 = cache_above(topology, unit, HWLOC_OBJ_L2CACHE);
    processor.l3 = cache_above(topology, unit, HWLOC_OBJ_L3CACHE);
    return processor;
}

std::string model_of(hwloc_topology_t topology) {
    for (const auto type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE}) {
        const auto object = hwloc_get_obj_by_type(topology, type, 0);
        const char* model = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, "CPUModel");
        if (model != nullptr) return model;
    }
    return {};
}

// Without sysfs hwloc makes up a machine of bare processing units.
bool knows_something(hwloc_topology_t topology) {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ||
           hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L2CACHE) > 0;
}

}  // namespace

std::optional<Detected> detect_with_hwloc(const std::optional<std::vector<int>>& allowed,
                                          const std::string& synthetic) {
    const Loaded topology = loaded(synthetic);
    if (!topology || !knows_something(topology.get())) return std::nullopt;
    Detected found;
    for (hwloc_obj_t unit = nullptr;
         (unit = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr;) {
        const int index = static_cast<int>(unit->os_index);
        if (allowed && std::find(allowed->begin(), allowed->end(), index) == allowed->end()) continue;
        found.processors.push_back(described(topology.get(), unit));
    }
    // A processor that is allowed and that hwloc does not know: its picture is of another machine.
    if (found.processors.empty() || (allowed && found.processors.size() != allowed->size())) return std::nullopt;
    std::sort(found.processors.begin(), found.processors.end(),
              [](const Processor& a, const Processor& b) { return a.index < b.index; });
    found.model = model_of(topology.get());
    const auto cache = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_L1CACHE, 0);
    if (cache != nullptr && cache->attr != nullptr) found.line_size = cache->attr->cache.linesize;
    return found;
}

}  // namespace penstock

#else

namespace penstock {

std::optional<Detected> detect_with_hwloc(const std::optional<std::vector<int>>&, const std::string& synthetic) {
    if (!synthetic.empty())
        throw UsageError("a synthetic machine (\"" + synthetic + "\") needs Penstock to be built with hwloc");
    return std::nullopt;
}

}  // namespace penstock

#endif
