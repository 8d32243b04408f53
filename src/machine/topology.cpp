#include "penstock/topology.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <set>

#include "machine/affinity.hpp"
#include "machine/cgroup.hpp"
#include "machine/detection.hpp"
#include "machine/processor_features.hpp"
#include "penstock/error.hpp"

namespace penstock {
namespace {

void warn_of_flat_machine_once() {
    static std::atomic<bool> warned{false};
    if (!warned.exchange(true))
        std::fputs(
            "penstock: neither hwloc nor sysfs tells how this machine is built; every processor counts as a core that "
            "shares "
            "nothing (build with libhwloc-dev, and mount /sys, for better placement)\n",
            stderr);
}

std::string instruction_set() {
    utsname system{};
    return uname(&system) == 0 ? std::string(system.machine) + " processor" : "unknown processor";
}

std::string counted(std::size_t n, const std::string& one, const std::string& many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string in_units(std::size_t bytes) {
    constexpr std::size_t kib = 1024;
    return bytes >= kib * kib && bytes % (kib * kib) == 0 ? std::to_string(bytes / (kib * kib)) + " MiB"
                                                          : std::to_string(bytes / kib) + " KiB";
}

bool same_domain(const Cache& a, const Cache& b) { return a.domain >= 0 && a.domain == b.domain; }

}  // namespace

std::string_view name(Distance distance) noexcept {
    switch (distance) {
        case Distance::same_processor:
            return "same processor";
        case Distance::same_core:
            return "same core";
        case Distance::shared_l2:
            return "shared L2";
        case Distance::shared_l3:
            return "shared L3";
        case Distance::same_node:
            return "same node";
        case Distance::other:
            break;
    }
    return "other node";
}

const Topology& Topology::here() {
    static const Topology topology = detect();
    return topology;
}

Topology Topology::detect(const DetectOptions& options) {
    if (options.allowed && options.allowed->empty())
        throw UsageError(
            "Topology::detect: the list of allowed processors is empty; leave it out to use the affinity mask");
    auto allowed = options.allowed;
    if (!allowed && options.synthetic.empty()) allowed = affinity::of_this_process();
    if (allowed) {
        std::sort(allowed->begin(), allowed->end());
        allowed->erase(std::unique(allowed->begin(), allowed->end()), allowed->end());
        if (allowed->front() < 0) throw UsageError("Topology::detect: a processor index cannot be negative");
    }
    std::optional<detection::Found> found;
    if (!options.flat) found = detection::with_hwloc(allowed, options.synthetic);
    Topology topology;
    if (!found) {
        topology.flat_ = true;
        if (!options.quiet) warn_of_flat_machine_once();
        found = detection::flat(allowed ? *allowed : affinity::of_this_process());
    }
    topology.processors_ = std::move(found->processors);
    topology.model_ = found->model.empty() ? instruction_set() : found->model;
    if (found->line_size != 0) topology.line_size_ = found->line_size;
    topology.quota_ = cgroup::processor_quota(options.root);
    topology.features_ = features::of_this_processor();
    return topology;
}

const Processor* Topology::find(int index) const noexcept {
    const auto place = std::lower_bound(processors_.begin(), processors_.end(), index,
                                        [](const Processor& p, int wanted) { return p.index < wanted; });
    return place != processors_.end() && place->index == index ? &*place : nullptr;
}

int Topology::usable() const noexcept {
    const auto allowed = static_cast<double>(processors_.size());
    return static_cast<int>(std::max(1.0, std::min(allowed, quota_ ? std::ceil(*quota_) : allowed)));
}

Distance Topology::distance(int first, int second) const {
    const Processor* a = find(first);
    const Processor* b = find(second);
    if (a == nullptr || b == nullptr)
        throw UsageError("Topology::distance: processor " + std::to_string(a == nullptr ? first : second) +
                         " is not one that this process may use; take indices from processors()");
    if (a == b) return Distance::same_processor;
    if (a->core == b->core) return Distance::same_core;
    if (same_domain(a->l2, b->l2)) return Distance::shared_l2;
    if (same_domain(a->l3, b->l3)) return Distance::shared_l3;
    return a->node == b->node ? Distance::same_node : Distance::other;
}

std::vector<int> Topology::nodes() const {
    std::set<int> numbers;
    for (const auto& processor : processors_) numbers.insert(processor.node);
    return {numbers.begin(), numbers.end()};
}

std::string Topology::description() const {
    std::set<int> cores;
    for (const auto& processor : processors_) cores.insert(processor.core);
    std::string text = model_ + ", " + counted(processors_.size(), "processor", "processors");
    text += flat_ ? ", flat"
                  : ", " + counted(cores.size(), "core", "cores") + ", " + counted(nodes().size(), "node", "nodes");
    const Processor& first = processors_.front();
    if (first.l1d.bytes != 0) text += ", L1d " + in_units(first.l1d.bytes);
    if (first.l2.bytes != 0) text += ", L2 " + in_units(first.l2.bytes);
    if (first.l3.bytes != 0) text += ", L3 " + in_units(first.l3.bytes);
    if (quota_) {
        char rounded[32];
        std::snprintf(rounded, sizeof rounded, "%.2f", *quota_);
        text += std::string(", quota of ") + rounded + " processors";
    }
    return text;
}

}  // namespace penstock
