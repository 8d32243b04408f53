// Where the filters of a run fire. The base class says it for the threads of this process; a class derived from it says
// it for another place, today for worker processes (src/stream/isolated).
//
// The cut lies between a station and its filter. Whoever runs the station is always a thread of this process, and so
// mail, queues, credits, order and edits are the same everywhere. Where the filter is elsewhere the station has a
// FilterProxy, which sends each call of the filter there, with the buffers that wait. When it has been carried out,
// somebody posts the station its `tasks_done`, and the station has the proxy do what the filter did.
//
// A new backend is a class derived from each of the two, and one enter() of its kind.
#pragma once

#include "penstock/buffer.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/machine.hpp"
#include "penstock/stream_statistics.hpp"

namespace penstock {
struct Event;
}

namespace penstock::streaming {

struct FilterModel;
struct Model;
struct AnyFilter;
class RunCore;
class Station;

/// The functions of a filter that a station calls.
enum class FilterCall : std::uint32_t { start, fire, event, finish };
/// Calls one. False: the filter has ended.
bool call(AnyFilter& filter, FilterCall what, const Event* event);

/// What a station has in the place of a filter that is not called directly. All of it is called by whoever runs the
/// station, between calls of the filter, but for target().
struct FilterProxy {
    /// What a call came to.
    struct Outcome {
        FilterCall call = FilterCall::fire;
        std::exception_ptr failure{};    ///< what the filter threw, or how it was lost
        std::vector<LostBuffer> lost{};  ///< that were where the filter was
        std::string others{};            ///< filters that were lost with it, and begin afresh
        bool died = false;               ///< what carried out the call has ended inside it
        bool over = false;               ///< the filter said that it has ended
        bool passed_all = true;          ///< nothing waited that the filter could not see
        std::uint64_t ticks = 0;
    };
    virtual ~FilterProxy() = default;
    /// Sends a call; it ends with the station's `tasks_done`. The station is `spreading` until then. `event`: of that
    /// call.
    virtual void send(FilterCall call, const Event* event = nullptr) = 0;
    /// Does at the station what the filter did: takes, writes, closes.
    virtual Outcome take_back() = 0;
    /// A filter that read nothing shall see more the next time.
    virtual void pass_more() {}
    /// The station has ended: the program's own object gets the filter's last state.
    virtual void retire() {}
    /// To another target, of all that the machine has. Any thread may ask which it is on; below 0: none.
    virtual void move_to(int) {}
    virtual int target() const noexcept { return -1; }
    /// The program's object has changed: the filter shall begin with its state. Before the first call.
    virtual void begin_with_state_of_program() {}
};

class FilterBackend {
  public:
    /// What filters can do there.
    struct Abilities {
        bool fuse = true;         ///< one that has no place may fire right behind the one that writes to it
        bool issue_tasks = true;  ///< the machine's targets have the filter too; else tasks run inside their call
    };
    /// A kind of backend that runs ask for.
    struct Entry {
        /// Null when the filters of this machine's runs do not fire there.
        std::unique_ptr<FilterBackend> (*make)(RunCore& core, Machine& machine);
        Entry* next = nullptr;
    };
    /// Has runs that begin later ask this kind first, to the program's end.
    static void enter(Entry& kind) noexcept;
    /// The one for this machine.
    static std::unique_ptr<FilterBackend> make(RunCore& core, Machine& machine);

    explicit FilterBackend(Machine& machine) noexcept : FilterBackend(machine, Abilities{}) {}
    virtual ~FilterBackend() = default;
    FilterBackend(const FilterBackend&) = delete;
    FilterBackend& operator=(const FilterBackend&) = delete;

    const Abilities abilities;

    /// Do the machine's targets run the run's stations? Else only threads that wait for the run do.
    virtual bool targets_run_stations() const noexcept { return true; }
    /// Copies of a filter without a place that can fire at the same time.
    virtual int most_firing(const FilterModel&) const noexcept {
        return machine_.targets() + 1;  // the thread that waits helps
    }
    /// How a thread waits for the run.
    virtual WaitPolicy wait_policy() const { return WaitPolicy::for_threads(1, 1); }
    /// Of the values of its buffers; null: the cache of blocks, or malloc.
    virtual std::shared_ptr<BlockMemory> block_memory() const noexcept { return nullptr; }
    /// What a graph asks for that there is not, in words. `before`: the graph that an edit changes, or null.
    virtual std::vector<std::string> problems(const Model& model, const Model* before = nullptr) const;
    /// For a copy of a filter; null: the station calls the filter. `target`: below 0: any.
    virtual std::unique_ptr<FilterProxy> proxy_for(Station&, const FilterModel&, int /*target*/) { return nullptr; }

    /// The run begins. Throws SystemError.
    virtual void begin() {}
    /// The run has ended: waits until nothing of it is under way any more.
    virtual void close() noexcept {}

    // ---- threads that wait for the run and run its stations meanwhile ----
    /// One begins: the bell at which it is to sleep, its own or another.
    virtual Doorbell& begin_help(Doorbell& own) { return own; }
    virtual void end_help(Doorbell&) noexcept {}
    /// Something is ready, and nobody helps.
    virtual void wake() noexcept {}
    /// Looks for calls that have been carried out, and posts their stations what they wait for.
    virtual void poll() {}
    virtual bool has_news() const noexcept { return false; }
    /// How long to sleep until the next poll().
    virtual std::chrono::nanoseconds look_again(std::chrono::nanoseconds otherwise) const noexcept { return otherwise; }

  protected:
    FilterBackend(Machine& machine, Abilities all) noexcept : abilities(all), machine_(machine) {}
    /// Says what the filter asks for that only a process of its own gives.
    static void refuse_isolation(const FilterModel& filter, std::vector<std::string>& problems);

    Machine& machine_;
};

}  // namespace penstock::streaming
