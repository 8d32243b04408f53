// The hardware as this process may use it: processors, what they share, how many threads can run at once.
//
// Where hwloc and sysfs say nothing the machine is taken as flat (every processor its own core, nothing shared), with
// one warning on stderr. The affinity mask and the processor quota of the control group are always respected.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A cache as one processor sees it.
struct Cache {
    std::size_t bytes = 0;  ///< its whole size; 0 when unknown or absent
    int domain = -1;        ///< processors with the same domain share it; -1 when unknown
};

/// One hardware thread that this process may run on.
struct Processor {
    int index = 0;      ///< the operating system's number for it, as in taskset and /proc/cpuinfo
    int core = 0;       ///< processors with the same number are hardware threads of one core
    int package = 0;    ///< socket
    int node = 0;       ///< NUMA node, the operating system's number
    Cache l1d, l2, l3;  ///< as this processor sees them
};

/// How far apart two processors are, nearest first.
enum class Distance { same_processor, same_core, shared_l2, shared_l3, same_node, other };

/// The word for it in reports ("shared L2").
std::string_view name(Distance distance) noexcept;

/// The instruction that waits for a store to a line without burning the core, if there is one.
enum class MonitorWait { none, umwait, mwaitx };

/// What the processor can do beyond its base instruction set, as far as layers above need to know.
struct ProcessorFeatures {
    MonitorWait monitor_wait = MonitorWait::none;  ///< the instruction that waits for a store
    bool cldemote = false;                         ///< CLDEMOTE pushes a line from the private caches to the shared one
};

/// What detection uses in place of the real machine: for tests, and for `flat` machines on purpose.
struct DetectOptions {
    bool flat = false;                             ///< as if hwloc and sysfs gave nothing
    std::string synthetic = {};                    ///< a machine in hwloc's synthetic notation ("pack:2 core:4 pu:2")
    std::optional<std::vector<int>> allowed = {};  ///< in place of the affinity mask
    std::filesystem::path root = "/";  ///< where proc/self/cgroup, proc/self/mountinfo and sys/fs/cgroup are read
    bool quiet = false;                ///< do not warn of a flat machine
};

/// What this process may use. Immutable; copies are independent; all queries are safe from any thread.
class Topology {
  public:
    /// The real machine, detected at the first call (a few milliseconds) and the same for the life of the process.
    static const Topology& here();

    /// Looks again. Throws UsageError for a synthetic description that hwloc does not take (or when Penstock was built
    /// without hwloc), and for an empty list of allowed processors.
    static Topology detect(const DetectOptions& options = {});

    /// The allowed processors in the order of their index; never empty.
    std::span<const Processor> processors() const noexcept { return processors_; }

    /// The processor with this index, or null when this process may not use it.
    const Processor* find(int index) const noexcept;

    /// The control group's processor quota as a number of processors (1.5 = 1.5 seconds of processor a second).
    std::optional<double> quota() const noexcept { return quota_; }

    /// How many threads can run at once: the allowed processors or the quota (rounded up), whichever is less; at
    /// least 1.
    int usable() const noexcept;

    /// How far apart two allowed processors are, by index. Throws UsageError for one that is not allowed.
    Distance distance(int first, int second) const;

    /// The NUMA nodes of the allowed processors, ascending.
    std::vector<int> nodes() const;

    /// Bytes of one cache line, as the processor says.
    std::size_t line_size() const noexcept { return line_size_; }

    /// What the processor can do.
    ProcessorFeatures features() const noexcept { return features_; }
    /// Can it push lines out of its private caches?
    bool has_cldemote() const noexcept { return features_.cldemote; }

    /// Whether nothing is known of cores and sharing.
    bool flat() const noexcept { return flat_; }

    /// One line for reports: the processor's name, counts, caches, quota.
    std::string description() const;

  private:
    Topology() = default;

    std::vector<Processor> processors_;
    std::optional<double> quota_;
    std::size_t line_size_ = 64;
    ProcessorFeatures features_;
    std::string model_;
    bool flat_ = false;
};

/// Runs the calling thread on this processor (by index) only, from now on; threads that it starts inherit that.
/// False when the system refuses (not an allowed processor). Throws UsageError for a negative index.
[[nodiscard]] bool pin_this_thread(int processor);

/// Lets the calling thread run on every processor of Topology::here() again. False when the system refuses.
bool unpin_this_thread();

/// The index of the processor that the caller runs on just now; -1 when the system does not say.
int current_processor() noexcept;

/// Names the calling thread for debuggers, profilers and top. Linux keeps the first 15 bytes.
void name_this_thread(std::string_view name) noexcept;

}  // namespace penstock
