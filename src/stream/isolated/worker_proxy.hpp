// What a station has in the place of a filter that lives in a worker process: it sends the filter its jobs, and brings
// back what the filter did.
//
// The object is made in the worker at its first job, of the arguments, the settings and the state that the program has
// of it, and again when its worker has ended. The state is what state() names: it comes back with each report, so that
// what a new object begins with is the state behind the last firing that was completed. A filter without state() begins
// afresh.
//
// All of it is run by whoever runs the station, but for what stands under "any thread".
#pragma once

#include "penstock/heap.hpp"
#include "penstock/stream_statistics.hpp"
#include "stream/isolated/firing_record.hpp"
#include "stream/run/station.hpp"

namespace penstock::streaming {

class IsolatedRun;

class WorkerProxy final : public FilterProxy {
  public:
    /// Throws carried::NotCarried, SystemError.
    WorkerProxy(IsolatedRun& run, Station& station, const FilterKind& kind, int target,
                std::chrono::nanoseconds time_limit);
    ~WorkerProxy() override;

    void send(FilterCall call, const Event* event = nullptr) override;
    Outcome take_back() override;
    void pass_more() override;
    /// The worker drops its object, too.
    void retire() override;
    /// To another worker, where the object is made anew.
    void move_to(int target) override;
    void begin_with_state_of_program() override;

    // ---- any thread ----
    int target() const noexcept override { return target_.load(std::memory_order_relaxed); }
    std::chrono::nanoseconds time_limit() const noexcept { return time_limit_; }
    FiringRecord* record() const noexcept { return record_; }
    /// It has an object in a worker, whose state is known to nobody else.
    bool forgets() const noexcept { return made_.load(std::memory_order_relaxed) && !station_.filter().has_state(); }

    // ---- whoever looks at the reports, while a job is under way ----
    bool has_reported(std::uint64_t number) const noexcept {
        return record_->done.load(std::memory_order_acquire) == number;
    }
    void answer() noexcept;
    void note_death(std::exception_ptr cause) noexcept { death_ = std::move(cause); }
    void tell_station();

  private:
    /// A block that lies with the worker.
    struct Lent {
        Block* block = nullptr;
        Inlet* inlet = nullptr;  ///< null: made for an output
        std::uint64_t job = 0;   ///< with which it went there
        bool waits = false;      ///< the filter has not read it: it goes back to its queue
    };
    struct Sent {
        Waiting waiting;
        std::uint32_t slot;
    };
    /// Memory in the heap that grows.
    struct Area {
        std::byte* at = nullptr;
        std::uint64_t capacity = 0;
    };

    /// Of what a worker process says that cannot be.
    [[noreturn]] static void refuse_nonsense();
    void make_room(Area& area, std::uint64_t bytes);
    /// Before a block is taken from where it is: lending it and getting it back need no memory then.
    void make_slot();
    Loan lend(Block* block, Inlet* inlet) noexcept;
    /// Of what a worker names, which may be nonsense.
    Block* take_slot(std::uint32_t slot);
    Block* free_slot(std::uint32_t slot);
    Block& in_heap(Waiting& waiting);
    void pass_inputs(std::vector<Passed>& passed);
    void grant(std::vector<Granted>& granted);
    void take_one(Inlet& inlet);
    void write_one(const Action& action, std::exception_ptr& failure);
    void replay(Outcome& outcome, const std::vector<Action>& actions);
    void send_events(const std::vector<std::byte>& events);
    void read_report(Outcome& outcome);
    void put_back_untaken();
    void lose(Outcome& outcome, std::uint64_t before_job);
    void keep_state(const std::vector<std::byte>& state);
    static constexpr std::uint64_t all_jobs = ~std::uint64_t{0};
    /// What the worker has since before a job; named where it was read by the filter and `lost` is asked for.
    std::vector<Block*> take_slots(std::uint64_t before_job = all_jobs, std::vector<LostBuffer>* lost = nullptr);
    void leave_worker(std::vector<Block*> blocks);

    IsolatedRun& run_;
    Station& station_;
    std::atomic<int> target_;
    std::chrono::nanoseconds time_limit_;
    std::atomic<bool> made_{false};
    bool started_ = false;  ///< start() has been called
    bool retired_ = false;
    FiringRecord* record_ = nullptr;
    Area arguments_, state_, job_area_, report_;
    std::uint64_t state_bytes_ = 0;
    std::uint64_t number_ = 0;
    FilterCall call_ = FilterCall::fire;
    std::exception_ptr death_;
    std::vector<std::byte> settings_;
    std::uint64_t settings_version_ = 0;
    std::vector<Lent> lent_;
    std::vector<std::uint32_t> free_slots_;
    std::vector<std::vector<Sent>> sent_;   ///< of each inlet, oldest first
    std::vector<std::size_t> most_passed_;  ///< of each inlet
    std::vector<std::size_t> takes_;        ///< of each inlet, in the job that is brought back
    bool passed_all_ = true;
    struct Made {
        std::size_t count = 0;  ///< blocks that a firing lately made here
        std::uint64_t bytes = 0;
        std::size_t now = 0;
    };
    std::vector<Made> makes_;  ///< of each outlet
};

/// Why filters of this kind cannot live in a worker process; empty when they can.
std::string why_not_carried(const FilterKind& kind, const AnyFilter& filter, const SharedHeap& heap);

}  // namespace penstock::streaming
