// task layer: what the parts of one machine share: options, targets, and the list of its initiators.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "penstock/detail/task/initiator.hpp"
#include "penstock/heap.hpp"
#include "penstock/machine.hpp"
#include "penstock/options.hpp"
#include "process/fork.hpp"
#include "process/processor_budget.hpp"
#include "task/backend/backend.hpp"
#include "task/calls/machine_end.hpp"
#include "task/calls/target.hpp"
#include "task/dependent/heights.hpp"
#include "task/waiting/circles.hpp"
#include "task/waiting/watched.hpp"

namespace penstock {

class Core : public std::enable_shared_from_this<Core> {
  public:
    /// Threads with lanes of their own; later ones share an initiator (contract 1).
    static constexpr std::uint32_t most_threads = 64;

    /// What a thread waits for when a task must run on one target, in its waiter's words.
    static constexpr const char* waits_for_target = "a task for one target";

    explicit Core(const MachineOptions& options);
    ~Core();
    static Core& of(Machine& machine) noexcept { return *machine.core_; }
    /// As process/fork.hpp: initialises what this layer would at its first use.
    static void settle_before_fork() noexcept;

    /// Starts the targets. Throws SystemError; nothing is left behind.
    void start();
    /// Stops what would give it tasks for ever. Not from one of its own tasks.
    void stop_what_runs() noexcept;
    /// Finishes all tasks, stops the targets, names uncollected failures on stderr. Not from one of its own tasks.
    void shut_down() noexcept;

    /// The calling thread's initiator: an abandoned one, a new one, or the shared one.
    Initiator& adopt_thread();
    /// The calling thread ends; its initiator waits for another thread.
    void abandon(Initiator& initiator) noexcept;

    /// Keeps itself until let_go(), without needing memory.
    void keep(std::shared_ptr<Core> self) noexcept { self_ = std::move(self); }
    std::shared_ptr<Core> let_go() noexcept { return std::move(self_); }

    /// Waits for all tasks of all initiators, then throws the first failure that nobody has seen.
    void finish(Initiator& caller);
    bool all_executed() const noexcept;
    /// Sums over all who issue and run tasks.
    struct Progress {
        std::uint64_t executed = 0;
        std::uint64_t called = 0;
        bool waits = false;  ///< a thread has been waiting for tasks for a while
    };
    Progress progress() const noexcept;
    /// Keeps what `collect` puts into a list for the next finish(), which sees all of it or (before) none.
    template <class Collect>
    void keep_unclaimed(Collect&& collect) {
        const std::lock_guard lock(mutex_);
        collect(unclaimed_);
    }
    std::vector<Failure> take_all_failures();
    /// Throws TaskFailed for the first failure of the list that is not a cancellation.
    static void throw_first(std::vector<Failure> failures);

    /// Wakes one sleeping target that may run tasks of `ring`.
    void wake_a_target(const Ring& ring) noexcept;
    void wake_a_target() noexcept;
    /// `count` tasks that somebody had claimed wait in `ring` again.
    void tell_of_returned(Ring& ring, std::uint32_t count) noexcept;
    /// What threads have claimed that do not come to it for a while waits in its rings again. For those who have
    /// nothing to do.
    void give_back_what_is_held_up(const Initiator& taker) noexcept;
    /// The waits inside tasks.
    Circles& circles() noexcept { return circles_; }
    void judge_watched();
    std::string waiting_report();

    /// Of all threads, also of those that come later.
    void start_timeline(std::size_t events);
    void stop_timeline();
    /// Tick at which the latest timeline was started.
    std::uint64_t recorded_since() const noexcept { return recorded_since_.load(std::memory_order_relaxed); }
    /// Names of what is not a task; their ids follow those of the entries.
    static constexpr std::uint32_t first_timeline_id = 65'536;
    std::uint32_t timeline_id(const std::string& name);
    std::string timeline_name(std::uint32_t id);

    std::uint32_t initiator_count() const noexcept { return initiator_count_.load(std::memory_order_acquire); }
    Initiator& initiator(std::uint32_t index) const noexcept { return *initiators_[index]; }
    template <class Visit>
    void each_initiator(Visit&& visit) const {
        const auto count = initiator_count();
        for (std::uint32_t i = 0; i < count; ++i) visit(initiator(i));
    }

    const MachineOptions& options() const noexcept { return options_; }
    /// What every call of this machine asks for beyond being run, or null.
    const CallOptions* standing_options() const noexcept {
        return options_.notification == Notification::polled ? nullptr : &standing_;
    }
    /// Tasks run so far.
    std::uint64_t executed() const noexcept;
    /// What a thread that waits for `reason` without any progress throws.
    [[noreturn]] void throw_stalled(WaitReason reason);
    std::uint64_t id() const noexcept { return id_; }
    const Origin& origin() const noexcept { return origin_; }
    MachineBoard& board() noexcept { return board_; }
    void mix() noexcept {
        if (board_.mixed.load(std::memory_order_relaxed) == 0) board_.mixed.store(1, std::memory_order_relaxed);
    }
    int target_count() const noexcept { return static_cast<int>(targets_.size()); }
    Target& target(int index) noexcept { return *targets_[static_cast<std::size_t>(index)]; }
    /// Workers among whom waiting tasks are shared: the targets and a helping initiator.
    Watched& watched() noexcept { return watched_; }
    /// The ready tasks of those graphs whose longest ways are known.
    Heights& heights() noexcept { return heights_; }
    /// Held during a replay, whose workers wait for one another: two at once could each hold a target that the other
    /// needs.
    std::mutex& replays() noexcept { return replays_; }
    std::uint32_t workers() const noexcept { return static_cast<std::uint32_t>(options_.targets) + 1; }
    /// Who counts completed tasks of a ring: these, its owner and, together, all other threads.
    std::uint32_t claimants() const noexcept { return workers() + 1; }
    WaitPolicy wait_policy() const noexcept { return policy_; }
    std::size_t local_store_bytes() const noexcept { return local_store_; }
    std::uint64_t started() const noexcept { return started_; }
    std::mutex& mutex() noexcept { return mutex_; }
    std::atomic<std::uint64_t>& hand_off_ticks() noexcept { return hand_off_ticks_; }
    /// Bytes of resident data of this machine. Outlives it.
    const std::shared_ptr<std::atomic<std::size_t>>& resident_bytes() const noexcept { return resident_bytes_; }
    /// Made when it is first asked for. Throws SystemError.
    std::shared_ptr<SharedHeap> heap();
    const std::shared_ptr<MachineEnd>& end() const noexcept { return end_; }
    /// Where its tasks run.
    Backend& backend() noexcept { return *backend_; }

  private:
    /// Brings back what tasks have written elsewhere, in all deques.
    void forward_all() noexcept;
    std::vector<int> choose_processors();

    std::shared_ptr<Core> self_;
    MachineOptions options_;
    CallOptions standing_;
    std::uint64_t id_;
    Origin origin_;
    std::uint64_t started_;
    WaitPolicy policy_;
    std::size_t local_store_ = 0;
    std::atomic<std::uint64_t> hand_off_ticks_;
    std::shared_ptr<std::atomic<std::size_t>> resident_bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
    std::shared_ptr<MachineEnd> end_ = std::make_shared<MachineEnd>();
    ProcessorClaim claim_;
    MachineBoard board_;
    Watched watched_;
    Heights heights_;
    Circles circles_;
    std::mutex replays_;
    const Backend::Maker& maker_;
    std::unique_ptr<Backend> backend_;
    std::vector<std::unique_ptr<Target>> targets_;
    /// All that issue: the targets' first. Only grows; entries are never moved.
    std::unique_ptr<Initiator*[]> initiators_;
    std::atomic<std::uint32_t> initiator_count_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<Initiator>> owned_;
    Initiator* shared_ = nullptr;
    std::vector<Failure> unclaimed_;
    std::shared_ptr<SharedHeap> heap_;
    std::atomic<std::uint64_t> recorded_since_{0};
    std::size_t timeline_events_ = 0;  ///< of the timeline under way; 0: none
    std::vector<std::string> timeline_names_;
};

}  // namespace penstock
