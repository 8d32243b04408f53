#include "penstock/topology.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

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
            "shares nothing (build with libhwloc-dev, and mount /sys, for better placement)\n",
            stderr);
}

std::string instruction_set() {
    utsname system{};
    return uname(&system) == 0 ? std::string(system.machine) + " processor" : "unknown processor";
}

std::string counted(std::size_t n, const std::string& what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string in_units(std::size_t bytes) {
    constexpr std::size_t kib = 1024;
    return bytes >= kib * kib && bytes % (kib * kib) == 0 ? std::to_string(bytes / (kib * kib)) + " MiB"
                                                          : std::to_string(bytes / kib) + " KiB";
}

// Where /proc/cpuinfo names a processor (x86 does, aarch64 does not).
std::string model_from_cpuinfo() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return {};
}

std::size_t from_c_library(int name) { return static_cast<std::size_t>(std::max(0L, sysconf(name))); }

/// Each processor a core of its own, with the caches that the C library knows of, none shared. Always succeeds.
Detected flat_machine(const std::vector<int>& allowed) {
    Detected found{.model = model_from_cpuinfo(), .line_size = from_c_library(_SC_LEVEL1_DCACHE_LINESIZE)};
    for (const int index : allowed)
        found.processors.push_back({.index = index,
                                    .core = index,
                                    .l1d = {from_c_library(_SC_LEVEL1_DCACHE_SIZE)},
                                    .l2 = {from_c_library(_SC_LEVEL2_CACHE_SIZE)},
                                    .l3 = {from_c_library(_SC_LEVEL3_CACHE_SIZE)}});
    return found;
}

bool same_domain(const Cache& a, const Cache& b) { return a.domain >= 0 && a.domain == b.domain; }

}  // namespace

std::string_view name(Distance distance) noexcept {
    static constexpr std::array<std::string_view, 6> names{"same processor", "same core", "shared L2",
                                                           "shared L3",      "same node", "other node"};
    return names[static_cast<std::size_t>(distance)];
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
    if (!allowed && options.synthetic.empty()) allowed = processors_of_this_process();
    if (allowed) {
        std::sort(allowed->begin(), allowed->end());
        allowed->erase(std::unique(allowed->begin(), allowed->end()), allowed->end());
        if (allowed->front() < 0) throw UsageError("Topology::detect: a processor index cannot be negative");
    }
    std::optional<Detected> found;
    if (!options.flat) found = detect_with_hwloc(allowed, options.synthetic);
    Topology topology;
    if (!found) {
        topology.flat_ = true;
        if (!options.quiet) warn_of_flat_machine_once();
        found = flat_machine(allowed ? *allowed : processors_of_this_process());
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
    std::string text = model_ + ", " + counted(processors_.size(), "processor");
    text += flat_ ? ", flat" : ", " + counted(cores.size(), "core") + ", " + counted(nodes().size(), "node");
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
