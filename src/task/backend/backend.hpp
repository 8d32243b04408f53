// task layer, internal: where a machine's tasks run.
//
// Threads of this process are one such place (backend.cpp), worker processes another (task/isolated/worker_host.hpp). A
// further one is a class that derives from these, in a folder of its own, and a line in backend.cpp, or Backend::add().
// Nothing here lies on the way of a task that a thread runs: an initiator asks once, when it is made, whether what its
// calls issue is offloaded (Initiator::call_side_).
#pragma once

#include "penstock/call_options.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/carrier.hpp"
#include "penstock/detail/trace/counters.hpp"
#include "penstock/heap.hpp"
#include "penstock/options.hpp"

namespace penstock {

class Core;
class Ring;
class Runner;
namespace isolated {
struct SharedRing;
}

/// The targets of one machine, as far as it depends on where they run. Made by the machine before its targets.
class Backend {
  public:
    /// What not every place can do for its tasks.
    enum class Ability : std::uint8_t { dependences, loops, time_limits };

    /// How machines get their backend.
    struct Maker {
        /// `processors`: of each target, or -1. Throws SystemError, UsageError.
        std::unique_ptr<Backend> (*make)(Core& core, const std::vector<int>& processors) = nullptr;
        int least_targets = 0;          ///< that a machine has, also where none was asked for
        bool across_processes = false;  ///< who wakes a waiting thread may be another process
    };
    /// What this value of MachineOptions::isolation stands for. Throws UsageError where it stands for nothing.
    static const Maker& maker(Isolation isolation);
    /// From now on it stands for this. Not while another thread makes a machine.
    static void add(Isolation isolation, const Maker& maker);

    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    /// The machine has made its targets, and these begin to work. Throws; then none does.
    virtual void start() = 0;
    /// All tasks have been executed: the targets end.
    virtual void stop() noexcept = 0;
    /// Throws what a call throws that needs what this place cannot do.
    virtual void require(Ability ability) const = 0;
    virtual const trace::TargetCounters& counters(int target) noexcept = 0;

    /// Where the target waits; for any_target: a thread that issues tasks. Throws SystemError.
    virtual Waiter waiter(int target);
    /// Tasks executed by no thread of this process.
    virtual std::uint64_t executed() const noexcept { return 0; }
    /// Nothing will be executed any more, and all that was unfinished has failed.
    virtual bool given_up() const noexcept { return false; }
    /// May threads of this process that wait run tasks which wait?
    virtual bool takes_help() const noexcept { return true; }
    /// Is a task that lies in a lane or a deque told of?
    virtual bool direct() const noexcept { return true; }
    /// What calls look at whose tasks are offloaded; null: threads of this process run them.
    virtual const isolated::CallSide* call_side() const noexcept { return nullptr; }
    /// Whoever sees the records of rings beside this process, or null.
    virtual OffloadBackend* sees_rings() noexcept { return nullptr; }

  protected:
    explicit Backend(Core& core) noexcept : core_(core) {}
    Core& core_;
};

/// A place to which a task is carried: its arguments are packed into its descriptor and checked, and what they refer to
/// is copied to where the place sees it (carrier.hpp).
class OffloadBackend : public Backend {
  public:
    /// What the call asks for beyond being run, as flags of its descriptor. Throws CannotCarryOver for what cannot be
    /// had here.
    virtual std::uint32_t accept(const CallOptions& asked, std::uint32_t entry) = 0;
    /// A task has been published in this part of a deque, by the thread that calls. Only where it does not see rings.
    /// `staged`: what belongs to the task, or null; to be written back before the task completes.
    virtual void hand_over(Ring&, Runner&, std::unique_ptr<isolated::StagedTask>) noexcept {
        std::terminate();  // it would be lost
    }
    /// The part of a ring that the place sees. Only where it sees rings. Throws SystemError.
    virtual isolated::SharedRing& make_ring(Ring& ring, Initiation initiation);
    /// Does the place have this library, by the address where it lies?
    virtual bool has_image(std::uintptr_t) const noexcept { return true; }

    const isolated::CallSide* call_side() const noexcept final { return &side_; }
    OffloadBackend* sees_rings() noexcept final { return side_.sees_rings ? this : nullptr; }
    bool takes_help() const noexcept override { return false; }
    bool direct() const noexcept final { return false; }

    /// The machine's arrays, and copies of what does not lie there. Throws SystemError.
    const std::shared_ptr<SharedHeap>& heap() const noexcept { return heap_; }
    std::byte* take_block(std::size_t bytes);
    void give_block(std::byte* block, std::size_t bytes) noexcept;

  protected:
    OffloadBackend(Core& core, bool sees_rings);

    std::shared_ptr<SharedHeap> heap_;
    isolated::CallSide side_;

  private:
    alignas(128) std::mutex blocks_mutex_;            // apart from what every call reads
    std::array<std::vector<std::byte*>, 48> blocks_;  ///< free ones, by the logarithm of their size
};

}  // namespace penstock
