// task layer, internal: the program's side of a machine's worker processes: the memory that they share, and the
// supervisor, a thread that sleeps until a worker has something to tell, ends, or has run for too long.
#pragma once

#include <deque>
#include <thread>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/detail/task/ring.hpp"
#include "penstock/isolation.hpp"
#include "task/backend/backend.hpp"
#include "task/isolated/keeper.hpp"
#include "task/isolated/worker_board.hpp"

namespace penstock::isolated {

/// Worker processes as the place where a machine's tasks run.
class WorkerHost final : public OffloadBackend {
  public:
    WorkerHost(Core& core, const std::vector<int>& processors);
    ~WorkerHost() override;

    /// Starts the workers. Throws UsageError where launch() was not called, SystemError.
    void start() override;
    /// Lets the workers end and waits for them. When all tasks have been executed.
    void stop() noexcept override;
    void require(Ability ability) const override;
    const trace::TargetCounters& counters(int target) noexcept override { return seats_[target].counters; }
    Waiter waiter(int target) override;
    /// Tasks executed by all workers, and by none because theirs died.
    std::uint64_t executed() const noexcept override;
    bool given_up() const noexcept override { return given_up_.load(std::memory_order_acquire); }
    std::uint32_t accept(const CallOptions& asked, std::uint32_t entry) override;
    SharedRing& make_ring(Ring& ring, Initiation initiation) override;
    bool has_image(std::uintptr_t base) const noexcept override;

  private:
    struct Worker {
        std::uint32_t id = 0;
        int seat = -1;  ///< -1: a spare
        OwnedDescriptor socket;
        OwnedDescriptor output;
        std::string last_lines;
        bool ended_for_time = false;
        bool has_nothing = false;  ///< it has answered the question under way
        std::chrono::nanoseconds limit{0};
    };
    /// A ring, and what its shared part said when it was made: workers can write over that.
    struct KnownRing : RingFacts {
        Ring* ring = nullptr;
        SharedRing* shared = nullptr;
        bool complete(std::uint64_t number) const noexcept;
        void complete_for_the_dead(std::uint64_t number) const noexcept;
    };
    /// What the clock has seen of one seat's task.
    struct Clocked {
        std::uint64_t ordinal = 0;
        std::chrono::steady_clock::time_point since;
    };
    /// Deaths in a row in which no task was run, of which the machine gives up.
    static constexpr int most_idle_deaths = 16;
    /// Until workers that could not be had are asked for again.
    static constexpr std::chrono::milliseconds between_hires{50};
    /// In which no task ends although some have not, before the workers are asked whether they know of any.
    static constexpr std::chrono::milliseconds patience{1000};
    static constexpr int most_waits_in_vain = 8;

    bool lost() const noexcept { return side_.lost.load(std::memory_order_acquire); }
    /// A call has a time limit of its own: the supervisor looks at the clock from now on.
    void expect_limit(std::chrono::nanoseconds limit) noexcept;

    // supervisor.cpp
    void supervise() noexcept;
    void look();
    int look_again_in() const noexcept;
    void read_news();
    void hear(Worker& worker);
    void read_output(Worker& worker) noexcept;
    void watch_clock();
    void watch_progress();
    void ask_for_worker(int seat);
    void replace(int seat);
    void hire();
    void wait_for_ends() noexcept;
    void take_seat(Worker& worker, int seat) noexcept;
    void bury(Worker& worker, const process::Death& death);
    void settle(Worker& worker, const process::Death& death);
    void fail_running(Worker& worker, Ring& ring, std::uint64_t number, const process::Death& death);
    KnownRing known(std::uint32_t index) const;
    std::uint32_t ring_count() const;
    bool sound();
    void give_up(std::string_view why) noexcept;
    void kick() noexcept;
    /// It need not answer any more. False, with errno, when the keeper cannot be reached.
    bool command(Command::Kind kind, std::uint32_t worker, std::span<const int> descriptors = {}) const noexcept {
        return tell(keeper_.get(), Command{kind, worker}, descriptors);
    }

    std::shared_ptr<SharedHeap> control_;
    Board* board_ = nullptr;
    TargetSeat* seats_ = nullptr;
    Hello hello_;
    OwnedDescriptor keeper_;
    OwnedDescriptor kicked_;  ///< an eventfd
    std::atomic<bool> stopping_{false};
    std::atomic<bool> given_up_{false};
    std::atomic<std::int64_t> shortest_limit_{0};

    mutable std::mutex mutex_;  ///< of the list of rings
    std::vector<KnownRing> rings_;

    // The supervisor's own.
    std::uint32_t next_id_ = 1;
    std::map<std::uint32_t, std::unique_ptr<Worker>> workers_;
    std::deque<int> missing_;  ///< seats without a worker, and -1 for each spare that there should be
    std::chrono::steady_clock::time_point next_hire_;
    std::vector<Clocked> clocks_;
    int idle_deaths_ = 0;
    /// What unfinished tasks fail with. Made beforehand, because there may be no memory later.
    std::exception_ptr lost_ =
        std::make_exception_ptr(WorkersLost("the program has no memory left to look after its worker processes; all "
                                            "unfinished tasks of this machine have failed"));
    std::uint64_t executed_at_death_ = 0;
    std::uint64_t executed_ = 0;  ///< when it was looked at last
    std::chrono::steady_clock::time_point executed_since_;
    int waits_in_vain_ = 0;  ///< looks in a row at which a thread waited although all tasks had ended
    std::chrono::steady_clock::time_point waits_since_;  ///< the last of them
    std::uint32_t question_ = 0;
    bool asking_ = false;
    std::thread thread_;
};

}  // namespace penstock::isolated
