// task layer: a ring of task records, as a lane (one initiator, one target) or as a part of a pending deque, and the
// directory through which handles find it. Rings are never freed: when their machine goes they wait for the next one,
// under a new generation, so that a handle that is older than that never touches memory that is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/detail/channel/pending.hpp"
#include "penstock/detail/machine/memory.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/dependent.hpp"
#include "penstock/detail/task/descriptor.hpp"
#include "penstock/detail/task/failures.hpp"

namespace penstock {

class Initiator;
class OffloadBackend;
struct Scope;
namespace isolated {
struct SharedRing;
struct StagedTask;
}  // namespace isolated

/// What the owner of a ring of dependent tasks knows of each slot. Nobody else looks at it.
struct DependentNote {
    std::uint64_t number = 0;          ///< the task that is in the slot now
    std::uint64_t last_successor = 0;  ///< which task was made to wait for it last, so that none does twice
    bool complete = false;             ///< seen to be
};

class Ring {
  public:
    enum class Kind : std::uint8_t {
        lane,       ///< one initiator to one target
        pending,    ///< an initiator's deque: claimed by any target, or by one only
        immediate,  ///< tasks that ran inside their call; nothing is ever outstanding
        /// Tasks that wait for others; never claimed from here: they go to who may run them when they are ready
        dependent,
    };
    static constexpr int any_target = -1;

    /// A ring of this kind and capacity (a power of two; 0 for immediate): a used one of the process, or a new one.
    /// Throws std::bad_alloc or SystemError. `seen_by`: who else sees its records, or null.
    static Ring& acquire(Kind kind, std::uint32_t capacity, std::uint32_t claimants, Initiator& owner,
                         Doorbell& owner_bell, int only_target, OffloadBackend* seen_by = nullptr,
                         Initiation initiation = Initiation::push);
    /// Gives the ring back. Its handles are stale from here on.
    void release() noexcept;
    /// Throws MachineGone: for a handle whose ring has another generation by now.
    [[noreturn]] static void throw_gone();
    /// The ring with this number, or null.
    static Ring* find(std::uint32_t index) noexcept;
    /// From here on no handle is good any more. Calls `visit` with each ring that was in use.
    static void after_fork_in_child(void (*visit)(Ring&)) noexcept;

    std::uint32_t index() const noexcept { return index_; }
    std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
    /// Index and generation in one word, for the owner, who need not ask an atomic.
    std::uint64_t name() const noexcept { return name_; }
    Kind kind() const noexcept { return kind_; }
    std::uint32_t capacity() const noexcept { return capacity_; }
    TaskRecord* slots() const noexcept { return slots_; }
    Extension* extensions() const noexcept { return extensions_; }
    Credits<>& credits() noexcept { return *credits_; }
    Issued<>& bell() noexcept { return *bell_; }
    PendingRing<TaskPayload>& pending() noexcept { return *pending_; }
    /// One for each slot of a ring of dependent tasks, and what their owner notes of them.
    DependentNode* nodes() const noexcept { return nodes_.get(); }
    DependentNote& note(std::uint64_t number) const noexcept {
        return notes_[static_cast<std::uint32_t>(number - 1) & (capacity_ - 1)];
    }
    /// While a timeline is on: when the task in this slot was issued; 0: not known. The owner notes it before it
    /// publishes the record, and whoever runs the task takes it before completing it, so the two never meet.
    void note_issued(const TaskRecord& record, std::uint64_t tick) noexcept;
    std::uint64_t take_issued(const TaskPayload& payload) noexcept;
    /// What issued these dependent tasks. Set by the owner while the ring is empty.
    Scope* scope() const noexcept { return scope_; }
    void set_scope(Scope* scope) noexcept { scope_ = scope; }
    Initiator& owner() const noexcept { return *owner_; }
    /// The owner's machine, by its id: also good while another thread destroys both. Who holds an older handle looks at
    /// the generation after this.
    std::uint64_t machine() const noexcept { return machine_.load(std::memory_order_acquire); }
    /// Where the owner sleeps: whoever completes a record rings here.
    Doorbell& owner_bell() const noexcept { return *owner_bell_; }
    /// The only target that may run these tasks, or any_target.
    int only_target() const noexcept { return only_target_; }
    /// `target`: of a thread any_target, which runs what is for no target alone.
    bool may_run_on(int target) const noexcept { return only_target_ < 0 || only_target_ == target; }
    ChannelParts<TaskPayload> parts(Initiation initiation) noexcept {
        return {slots_, credits_, bell_, capacity_, initiation};
    }

    /// Has this task of a deque completed, with all that it wrote back in place? Any thread.
    bool completed(std::uint64_t number) noexcept {
        return pending_->completed(number) || (appended_.load(std::memory_order_relaxed) >= number && forward(number));
    }
    /// Have all tasks of a deque? The owner's.
    bool drained() noexcept {
        bring_back();
        return pending_->drained();
    }

    // ---- worker processes (ring_isolated.cpp) ---- Workers complete the tasks of a deque in words of their own.
    // Whoever looks first brings back what was staged and only then completes the task in the words that everybody else
    // reads. Rings that no worker sees have nothing to bring back: there appended_ stays 0.

    /// The copies that belong to the reserved record. The owner's.
    void stage(const TaskRecord& record, std::unique_ptr<isolated::StagedTask> staged) noexcept;
    /// Brings back all that is complete, in order, up to the first that is not. Any thread.
    void bring_back() noexcept {
        const auto appended = appended_.load(std::memory_order_relaxed);
        if (forwarded_.load(std::memory_order_relaxed) < appended) [[unlikely]]
            forward_through(appended);
    }
    /// The owner appends a task. Noted before a worker can see it, so that whoever sees it executed brings it back.
    void note_append() noexcept;
    /// Brings back all that has been executed, also what another thread is bringing back at this moment.
    void forward_all() noexcept;
    /// What the task's record says. Checked, because workers can write there.
    std::string task_name(std::uint64_t number) const;
    /// The same for a task that has not been forwarded, with the step of its chain that it was in, from 1; 0: none.
    std::string task_name(std::uint64_t number, std::uint32_t step) const;
    std::vector<std::size_t> argument_bytes(std::uint64_t number) const;
    /// There are no workers any more: completes everything, with this failure. The rest is where it shares its
    /// completions, which it may not know yet.
    void give_up(std::exception_ptr cause, Credits<>& credits, TaskRecord* slots, Done<>* done) noexcept;
    /// Tasks of a deque that nobody has claimed. The owner's.
    std::uint64_t waiting() const noexcept;

    // ---- what went wrong (cold; any thread) ----

    // Both of these cost one load of a line that rarely changes. A ring that is given back has none: who gets no for an
    // answer and does not keep the ring from being given back looks at its generation after that (acquire).
    /// True when no task of this ring failed of which nobody was told.
    bool clean() const noexcept { return untold_.load(std::memory_order_relaxed) == 0; }
    /// False when this task cannot have failed or been cancelled: none with so high a number did.
    bool may_have_failed(std::uint64_t number) const noexcept {
        return number <= newest_failed_.load(std::memory_order_acquire);
    }
    /// Keeps a failure. Must be called before the task is completed, so that whoever sees the completion finds it.
    void fail(Failure failure) noexcept;
    /// The failure of this task, if it has one, which counts as told from here on. `generation`: the ring's when the
    /// task was issued; throws MachineGone when it is not the same any more.
    std::optional<Failure> failure_of(std::uint64_t number, std::uint32_t generation);
    /// The same for a task that depends on it, which changes nothing.
    std::optional<Failure> look_at_failure_of(std::uint64_t number);
    static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
    /// Adds to `into` the failures of which nobody was told, of all tasks with a number above `after` and up to
    /// `until`.
    void take_failures(std::vector<Failure>& into, std::uint64_t after = 0, std::uint64_t until = no_limit) {
        if (!clean()) take_untold(into, after, until);
    }

    // ---- cancellation (cold; any thread) ----

    bool cancels() const noexcept { return cancellations_.load(std::memory_order_relaxed) != 0; }
    void ask_to_cancel(std::uint64_t number);
    /// Was this task cancelled?
    bool take_cancellation(std::uint64_t number);
    /// Forgets requests that came too late, of tasks above `after` and up to `until`. Only when none of these is
    /// outstanding.
    void forget_cancellations(std::uint64_t after = 0, std::uint64_t until = no_limit);

    /// Failures of dependent tasks up to this one have been delivered: what comes after these runs. The owner's.
    std::uint64_t settled = 0;
    /// The group that it was in is gone. The owner's.
    bool orphaned = false;
    /// Where the owner keeps it among its rings. The owner's.
    std::uint32_t place = 0;
    /// Takes tasks of high priority. The owner's.
    bool urgent = false;

    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

  private:
    Ring(std::uint32_t index, std::uint32_t capacity, bool shared);
    void reset(std::uint32_t claimants, Initiator& owner);
    void share(OffloadBackend& seen_by, Initiation initiation);
    void unshare() noexcept;
    void note_cancellations() noexcept;
    /// Else they lie where others see them too.
    bool has_records_of_its_own() const noexcept { return capacity_ == 0 || own_extensions_ != nullptr; }
    bool forward(std::uint64_t number) noexcept;
    void forward_through(std::uint64_t last) noexcept;
    void note_forwarded(std::uint64_t number) noexcept;
    bool worker_completed(std::uint64_t number) const noexcept;
    const TaskRecord* record_of(std::uint64_t number) const noexcept;
    std::size_t most_failures() const noexcept { return kind_ == Kind::dependent ? 16'384 : 1024; }
    void note_failures() noexcept;
    void take_untold(std::vector<Failure>& into, std::uint64_t after, std::uint64_t until);

    // Read by all, written when the ring changes hands.
    std::uint32_t index_;
    std::uint32_t capacity_;
    std::atomic<std::uint32_t> generation_{1};
    std::uint64_t name_ = 0;
    Kind kind_ = Kind::lane;
    int only_target_ = any_target;
    Initiator* owner_ = nullptr;
    std::atomic<std::uint64_t> machine_{0};
    Doorbell* owner_bell_ = nullptr;
    TaskRecord* slots_ = nullptr;
    LocalMemory memory_;
    Extension* extensions_ = nullptr;
    std::unique_ptr<Extension[]> own_extensions_;
    std::unique_ptr<Done<>[]> done_;
    std::unique_ptr<Completed<>[]> completed_;
    std::unique_ptr<PendingRing<TaskPayload>::ReturnedType[]> returned_;
    std::unique_ptr<DependentNode[]> nodes_;
    std::unique_ptr<DependentNote[]> notes_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> own_issued_;  ///< the owner's; made when first needed
    std::atomic<std::atomic<std::uint64_t>*> issued_{nullptr};  ///< the same, for whoever runs tasks
    Scope* scope_ = nullptr;
    std::uint32_t claimants_ = 0;
    bool in_use_ = false;  ///< under the directory's lock
    // Written now and then, read with every task.
    std::atomic<std::uint64_t> untold_{0};         ///< of failures_
    std::atomic<std::uint64_t> newest_failed_{0};  ///< the same
    std::atomic<std::uint32_t> cancellations_{0};
    Credits<> own_credits_;
    Issued<> own_bell_;
    Credits<>* credits_ = &own_credits_;
    Issued<>* bell_ = &own_bell_;
    std::optional<PendingRing<TaskPayload>> pending_;
    std::mutex mutex_;
    Failures failures_;  ///< under mutex_
    std::vector<std::uint64_t> cancelled_;
    // With worker processes.
    isolated::SharedRing* shared_ = nullptr;
    /// The workers' words; kept here, because they could write over the pointer in the shared part
    Done<>* worker_done_ = nullptr;
    std::unique_ptr<std::unique_ptr<isolated::StagedTask>[]> staged_;  ///< by slot
    /// By slot: the last task that somebody has begun to forward
    std::unique_ptr<std::atomic<std::uint64_t>[]> forwarding_;
    std::atomic<std::uint64_t> forwarded_{0};  ///< all up to here are forwarded
    /// The last task that the owner appends. The records say it too, but workers can write there.
    std::atomic<std::uint64_t> appended_{0};
    std::exception_ptr given_up_;  ///< under mutex_
    /// A barrier has had it; who asks for a task of its own still gets it. Under mutex_
    bool given_up_told_ = false;
};

}  // namespace penstock
