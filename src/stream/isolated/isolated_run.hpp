// What a run on worker processes has beside its stations: the memory of its buffers, the firings that workers are at,
// and a thread that runs stations while no thread of the program helps.
//
// Stations, streams and credits stay in the program; a firing is a task for the worker in which the filter lives
// (filter_proxy.hpp). Whoever helps (finish, read, write, an edit) looks at the workers' reports and runs what becomes
// ready; the run's own thread does so only when nobody else does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "penstock/handle.hpp"
#include "penstock/heap.hpp"
#include "penstock/machine.hpp"
#include "penstock/stream_statistics.hpp"
#include "stream/isolated/firing_record.hpp"

namespace penstock::streaming {

class FilterProxy;
class RunCore;

class IsolatedRun {
  public:
    /// Throws SystemError.
    IsolatedRun(RunCore& core, Machine& machine);
    ~IsolatedRun();
    IsolatedRun(const IsolatedRun&) = delete;
    IsolatedRun& operator=(const IsolatedRun&) = delete;

    SharedHeap& heap() const noexcept { return *heap_; }
    const std::shared_ptr<BlockMemory>& memory() const noexcept { return memory_; }
    RunBoard& board() const noexcept { return *board_; }
    /// Where the next filter without a place goes: each worker in turn.
    int next_target() noexcept { return static_cast<int>(placed_++ % static_cast<unsigned>(machine_.targets())); }

    /// The run begins: its thread, too. Throws SystemError.
    void begin();
    /// The run has ended: waits until no worker has anything of it.
    void close() noexcept;

    /// A thread of the program's that helps, for as long as it waits. It sleeps at `bell()`, which workers ring.
    class Helper {
      public:
        explicit Helper(IsolatedRun* run);  ///< null: no such run
        ~Helper();
        Helper(const Helper&) = delete;
        Helper& operator=(const Helper&) = delete;
        /// Null when too many threads help: they look again by the clock.
        Doorbell* bell() const noexcept {
            return slot_ < 0 ? nullptr : &run_->board().bells[static_cast<std::size_t>(slot_)];
        }

      private:
        IsolatedRun* run_;
        int slot_ = -1;
    };

    /// Answers what workers ask, and sends the stations whose firings have been reported their mail; looks for deaths
    /// now and then.
    void poll();
    bool has_news() const noexcept {
        return board_->news.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed);
    }
    /// Firings are under way: who waits looks for deaths that often.
    bool busy() const noexcept { return under_way_.load(std::memory_order_relaxed) != 0; }
    static constexpr std::chrono::nanoseconds look_for_deaths_every = std::chrono::milliseconds(2);
    /// Something is ready, and nobody helps.
    void wake() noexcept;

    /// Issues the job that stands in the proxy's record. Throws what a call throws.
    void issue(FilterProxy& proxy, std::uint64_t number);
    /// Has the worker drop the object of a filter; `blocks` are the program's again when it has.
    void forget(int target, std::uint64_t key, std::vector<Block*> blocks);
    void enter(FilterProxy& proxy);
    void leave(FilterProxy& proxy);
    /// The filters beside this one whose objects live in that worker and say nothing of their state, by name.
    std::string others_at(const FilterProxy& proxy);

    void note_lost(const std::vector<LostBuffer>& lost);
    std::vector<LostBuffer> lost();

  private:
    struct UnderWay {
        FilterProxy* proxy;
        std::uint64_t number;
        Handle handle{};
        bool issued = false;
    };
    /// A task whose outcome nobody waits for, and what is free when it has ended.
    struct Ending {
        Handle handle;
        std::vector<Block*> blocks{};
    };
    static constexpr int own_bell = 0;

    void attend() noexcept;
    void look_at_reports();
    void look_for_deaths();
    void collect_endings(bool wait);

    RunCore& core_;
    Machine& machine_;
    std::shared_ptr<SharedHeap> heap_;
    std::shared_ptr<BlockMemory> memory_;
    RunBoard* board_ = nullptr;
    unsigned placed_ = 0;

    std::mutex lock_;  ///< of what is under way and of what is ending
    std::vector<UnderWay> jobs_;
    std::vector<Ending> endings_;
    std::atomic<std::size_t> under_way_{0};
    std::atomic<std::uint64_t> seen_{0};
    std::atomic<std::chrono::steady_clock::rep> looked_for_deaths_{0};

    std::mutex helpers_lock_;
    std::uint32_t slots_ = 1u << own_bell;
    std::atomic<int> helping_{0};

    std::mutex proxies_lock_;
    std::vector<FilterProxy*> proxies_;
    std::vector<LostBuffer> lost_;

    std::atomic<bool> closing_{false};
    std::thread thread_;
};

}  // namespace penstock::streaming
