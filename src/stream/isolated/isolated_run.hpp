// What a run on worker processes has beside its stations: the memory of its buffers, the firings that workers are at,
// and a thread that runs stations while no thread of the program helps.
//
// Stations, streams and credits stay in the program; a firing is a task for the worker in which the filter lives
// (worker_proxy.hpp). Whoever helps (finish, read, write, an edit) looks at the workers' reports and runs what becomes
// ready; the run's own thread does so only when nobody else does.
#pragma once

#include <map>
#include <thread>

#include "penstock/handle.hpp"
#include "penstock/heap.hpp"
#include "stream/isolated/firing_record.hpp"

namespace penstock::streaming {

class WorkerProxy;

class IsolatedRun final : public FilterBackend {
  public:
    /// Null where the machine's targets are threads. Throws SystemError.
    static std::unique_ptr<FilterBackend> make(RunCore& core, Machine& machine);
    /// `threads`: the machine whose workers these are, where it has threads beside them.
    IsolatedRun(RunCore& core, Machine& machine, Machine* threads = nullptr);
    ~IsolatedRun() override;

    SharedHeap& heap() const noexcept { return *heap_; }
    RunBoard& board() const noexcept { return *board_; }
    /// Firings are under way.
    bool busy() const noexcept { return under_way_.load(std::memory_order_relaxed) != 0; }

    bool targets_run_stations() const noexcept override { return threads_ != nullptr; }
    int most_firing(const FilterModel& filter) const noexcept override {
        const bool on_threads = threads_ != nullptr && !in_worker(filter, -1);
        return on_threads ? threads_->targets() + 1 : machine_.targets();
    }
    WaitPolicy wait_policy() const override;
    std::shared_ptr<BlockMemory> block_memory() const noexcept override { return memory_; }
    std::vector<std::string> problems(const Model& model, const Model* before) const override;
    std::unique_ptr<FilterProxy> proxy_for(Station& station, const FilterModel& filter, int target) override;
    void begin() override;
    void close() noexcept override;
    /// One of the bells that workers ring; its own when too many threads help: they look again by the clock.
    Doorbell& begin_help(Doorbell& own) override;
    void end_help(Doorbell& bell) noexcept override;
    void wake() noexcept override;
    /// Answers what workers ask, too, and looks for deaths now and then.
    void poll() override;
    bool has_news() const noexcept override {
        return board_->news.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed);
    }
    std::chrono::nanoseconds look_again(std::chrono::nanoseconds otherwise) const noexcept override {
        return busy() ? std::min(otherwise, look_for_deaths_every) : otherwise;
    }

    /// Issues the job that stands in the proxy's record. Throws what a call throws.
    void issue(WorkerProxy& proxy, std::uint64_t number);
    /// Has the worker drop the object of a filter; `blocks` are the program's again when it has.
    void forget(int target, std::uint64_t key, std::vector<Block*> blocks);
    /// The filters beside this one whose objects live in that worker and say nothing of their state, by name.
    std::string others_at(const WorkerProxy& proxy);

  private:
    struct UnderWay {
        WorkerProxy* proxy;
        std::uint64_t number;
        std::optional<Handle> handle{};  ///< once it has been issued
    };
    /// A task whose outcome nobody waits for, and what is free when it has ended.
    struct Ending {
        Handle handle;
        std::vector<Block*> blocks{};
    };
    static constexpr int own_bell = 0;
    static constexpr std::chrono::nanoseconds look_for_deaths_every = std::chrono::milliseconds(2);

    void attend() noexcept;
    /// Those of which `ended(job)` says so are over, and their stations are told. Under the lock.
    template <class Ended>
    void end_jobs(Ended&& ended);
    void look_at_reports();
    void look_for_deaths();
    void collect_endings(bool wait);

    /// That of the first worker; those of threads come before it.
    int first_target() const noexcept { return threads_ == nullptr ? 0 : threads_->targets(); }
    /// Does a copy of this filter on this target (below 0: on none) live in a worker?
    bool in_worker(const FilterModel& filter, int target) const noexcept;

    RunCore& core_;
    Machine* const threads_;
    std::shared_ptr<SharedHeap> heap_;
    std::shared_ptr<BlockMemory> memory_;
    RunBoard* board_ = nullptr;
    unsigned placed_ = 0;
    std::map<std::uint64_t, unsigned> first_workers_;  ///< of filters without a place

    std::mutex lock_;  ///< of what is under way and of what is ending
    std::vector<UnderWay> jobs_;
    std::vector<Ending> endings_;
    std::atomic<std::size_t> under_way_{0};
    std::atomic<std::uint64_t> seen_{0};
    std::atomic<std::chrono::steady_clock::rep> looked_for_deaths_{0};

    std::mutex helpers_lock_;
    std::uint32_t slots_ = 1u << own_bell;
    std::atomic<int> helping_{0};

    std::atomic<bool> closing_{false};
    std::thread thread_;
};

}  // namespace penstock::streaming
