#include "task/calls/core.hpp"

#include <pthread.h>

#include <cstdio>
#include <new>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/use_count.hpp"
#include "penstock/topology.hpp"
#include "task/calls/runner.hpp"
#include "task/waiting/notices.hpp"
#include "task/waiting/verdict.hpp"

namespace penstock {
namespace {

std::atomic<std::uint64_t> next_id{1};

/// Of a target's own thread. Needs no memory when the thread begins, and nothing is done when it ends.
thread_local constinit std::uint64_t own_machine = 0;
thread_local constinit Initiator* own_initiator = nullptr;

/// The calling thread's other initiators, one for each machine that it has used. Gives them back when the thread ends;
/// the main thread's, which static objects may use until the very end, stay. Ended by a key of the system and not by
/// the language, whose registration cannot fail.
struct ThreadInitiators {
    struct One {
        std::weak_ptr<Core> core;
        std::uint64_t machine;
        Initiator* initiator;
    };
    std::vector<One> all;

    /// Null while the thread has none: a thread that only runs tasks needs no list.
    static inline thread_local constinit ThreadInitiators* mine = nullptr;
    /// They have been given back: from then on the thread has none.
    static inline thread_local constinit bool over = false;

    /// Makes room for one more. Throws std::bad_alloc.
    static void make_room() {
        if (over) return;
        if (mine == nullptr) {
            auto fresh = std::make_unique<ThreadInitiators>();
            if (pthread_setspecific(key(), fresh.get()) != 0) throw std::bad_alloc();
            mine = fresh.release();
        }
        std::erase_if(mine->all, [](const auto& one) { return one.core.expired(); });
        mine->all.reserve(mine->all.size() + 1);
    }

    ~ThreadInitiators() {
        over = true;
        mine = nullptr;
        Initiator::thread_machine = 0;
        for (auto& one : all)
            if (const auto core = one.core.lock()) core->abandon(*one.initiator);
    }

    static pthread_key_t key() {
        static const pthread_key_t made = [] {
            pthread_key_t fresh{};
            if (const int error =
                    pthread_key_create(&fresh, [](void* list) { delete static_cast<ThreadInitiators*>(list); });
                error != 0)
                throw SystemError("cannot note what a thread has to give back when it ends", error);
            return fresh;
        }();
        return made;
    }
};

}  // namespace

void Core::settle_before_fork() noexcept {
    try {
        ThreadInitiators::key();
    } catch (const std::exception&) {
        // Whoever wants it next fails as well, and says why.
    }
}

Core::Core(const MachineOptions& options)
    : options_(options), id_(next_id.fetch_add(1)), started_(Clock::ticks()),
      maker_(Backend::maker(options.isolation)) {
    const Topology& topology = Topology::here();
    if (options_.targets == MachineOptions::one_per_processor) options_.targets = std::max(0, topology.usable() - 1);
    if (options_.targets == 0) options_.targets = maker_.least_targets;
    if (options_.targets < 0 || options_.targets > MachineOptions::max_targets)
        throw UsageError("a machine can have 0 to " + std::to_string(MachineOptions::max_targets) + " targets, not " +
                         std::to_string(options_.targets));
    if (options_.depth < 1 || options_.depth > MachineOptions::max_depth)
        throw UsageError("a lane can hold 1 to " + std::to_string(MachineOptions::max_depth) + " tasks, not " +
                         std::to_string(options_.depth));
    if (options_.nesting_limit < 1) throw UsageError("MachineOptions::nesting_limit must be at least 1");
    if (options_.jobs_in_flight < 1 || options_.jobs_in_flight > MachineOptions::max_jobs_in_flight)
        throw UsageError("a target can have 1 to " + std::to_string(MachineOptions::max_jobs_in_flight) +
                         " jobs in flight, not " + std::to_string(options_.jobs_in_flight));
    if (options_.watchdog.count() < 0) throw UsageError("MachineOptions::watchdog must not be negative");
    standing_.notification = options_.notification;
    if (options_.spin.count() < 0) throw UsageError("MachineOptions::spin must not be negative");
    policy_ = WaitPolicy::for_threads(options_.targets + 1, topology.usable());
    // others wait for this processor: no longer than the policy says
    const bool crowded = options_.targets + 1 > topology.usable();
    policy_.spin = crowded ? std::min(policy_.spin, options_.spin) : options_.spin;
    policy_.across_processes = maker_.across_processes;
    const auto l2 = topology.processors().front().l2.bytes;
    local_store_ = options_.local_store != 0 ? options_.local_store : std::max<std::size_t>(l2 / 2, 128 * 1024);
    hand_off_ticks_.store(static_cast<std::uint64_t>(1000 / Clock::nanoseconds_per_tick()));  // until it is measured
    initiators_ = std::make_unique<Initiator*[]>(static_cast<std::size_t>(options_.targets) + most_threads + 1);
}

Core::~Core() = default;

std::vector<int> Core::choose_processors() {
    const auto wanted = static_cast<std::size_t>(options_.targets);
    std::vector<int> chosen(wanted, -1);
    const Topology& topology = Topology::here();
    if (!options_.pin || wanted == 0 || options_.targets + 1 > topology.usable()) return chosen;
    auto budget =
        options_.budget.empty() ? ProcessorBudget::from_environment() : ProcessorBudget::join(options_.budget);
    const int here = current_processor();
    claim_ = budget.claim(options_.targets + 1, here);
    // One of the claimed processors is the initiator's: the one that it runs on, if that was to be had.
    std::vector<int> claimed(claim_.processors().begin(), claim_.processors().end());
    if (const auto own = std::find(claimed.begin(), claimed.end(), here); own != claimed.end()) claimed.erase(own);
    if (claimed.size() < wanted) return chosen;
    std::copy_n(claimed.begin(), wanted, chosen.begin());
    return chosen;
}

void Core::start() {
    const auto processors = choose_processors();
    backend_ = maker_.make(*this, processors);
    const auto most_lanes =
        2 * (most_threads + 1 + static_cast<std::uint32_t>(options_.targets));  // of calls and of loops
    for (int t = 0; t < options_.targets; ++t) {
        targets_.push_back(std::make_unique<Target>(*this, t, processors[static_cast<std::size_t>(t)], most_lanes));
        targets_.back()->initiator().track_ = static_cast<std::uint32_t>(t);
        targets_.back()->initiator().runner_->store().set_worker(static_cast<std::uint32_t>(t));
        initiators_[static_cast<std::size_t>(t)] = &targets_.back()->initiator();
    }
    initiator_count_.store(static_cast<std::uint32_t>(options_.targets), std::memory_order_release);
    backend_->start();
}

static std::size_t count_of(const std::vector<Failure>& failures) {
    std::size_t count = failures.size();
    for (const Failure& failure : failures) count += failure.others;
    return count;
}

void Core::stop_what_runs() noexcept {
    if (!origin_.left_behind()) end_->stop_all();  // else it runs in the parent
}

const std::shared_ptr<MachineEnd>& MachineEnd::of(Machine& machine) noexcept { return Core::of(machine).end(); }

void Core::shut_down() noexcept {
    if (origin_.left_behind()) {
        // A forked child has the memory but not the threads: leave everything as it is.
        for (auto& target : targets_) (void)target.release()->waiter();
        for (auto& initiator : owned_) (void)initiator.release();
        (void)backend_.release();
        return;
    }
    Waiter waiter(policy_);
    waiter.wait_for([this] { return all_executed(); }, std::chrono::hours(24 * 365));
    forward_all();
    // A thread that ran the last task inside a barrier may not have left Penstock's code yet.
    each_initiator([&](Initiator& initiator) {
        while (initiator.target_ == Initiator::any_target && initiator.waiting_.load(std::memory_order_acquire))
            waiting::yield();
    });
    try {
        const auto failures = take_all_failures();
        if (!failures.empty())
            std::fprintf(stderr, "penstock: %zu task(s) failed and nobody asked; the first was %s: %s\n",
                         count_of(failures), failures.front().task.c_str(), said_by(failures.front().cause).c_str());
    } catch (...) {
        // Out of memory while collecting messages: the machine still has to stop.
    }
    backend_->stop();
    LetGo::sweep();
    claim_ = {};  // the memory may be kept for a while, the processors not
}

std::shared_ptr<SharedHeap> Core::heap() {
    const std::lock_guard lock(mutex_);
    if (heap_ == nullptr) heap_ = SharedHeap::create();
    return heap_;
}

void Core::forward_all() noexcept {
    each_initiator([](Initiator& initiator) { initiator.deque_.each([](Ring& ring) { ring.forward_all(); }); });
}

/// What comes after a task of another thread is told of its failure before that is taken away.
void Core::judge_watched() {
    if (watched_.any()) watched_.each_completed(&Verdict::pass_on);
}

std::uint64_t Core::executed() const noexcept {
    std::uint64_t executed = backend_->executed();
    each_initiator([&](const Initiator& initiator) { executed += initiator.runner_->executed(); });
    return executed;
}

// Executions are read before calls. Both only grow and no task is executed before it was called, so when the sums agree
// there was a moment at which everything called had been executed.
Core::Progress Core::progress() const noexcept {
    Progress progress{executed(), 0, false};
    each_initiator([&](const Initiator& initiator) {
        progress.called += initiator.counters_.calls.value();
        progress.waits = progress.waits || std::string_view(initiator.waiter_.reason().what) != "nothing";
    });
    return progress;
}

bool Core::all_executed() const noexcept {
    if (backend_->given_up()) return true;
    const auto progress = this->progress();
    return progress.executed == progress.called;
}

// ---- threads ----

Initiator* Initiator::of_this_thread(std::uint64_t machine) noexcept {
    if (own_machine == machine) return own_initiator;
    if (ThreadInitiators::mine == nullptr) return nullptr;
    for (const auto& one : ThreadInitiators::mine->all)
        if (one.machine == machine && !one.core.expired()) return one.initiator;
    return nullptr;
}

void Initiator::bind_to_this_thread() {
    if (ThreadInitiators::over) return;  // used once more by what ends behind it, and found anew each time
    if (target_ != any_target) {
        own_machine = machine_id_;
        own_initiator = this;
    } else if (of_this_thread(machine_id_) == nullptr) {
        ThreadInitiators::make_room();
        ThreadInitiators::mine->all.push_back({core_.weak_from_this(), machine_id_, this});
    }
    thread_machine = machine_id_;
    thread_initiator = this;
}

void Initiator::leave_behind_in_parent() noexcept {
    thread_machine = 0;
    Ring::after_fork_in_child([](Ring& ring) { ring.owner().leave_behind(); });
}

Initiator& Core::adopt_thread() {
    ThreadInitiators::make_room();  // first: from where the initiator is this thread's nothing may fail
    const std::lock_guard lock(mutex_);
    for (auto& candidate : owned_) {
        // What an ended thread left behind is taken over when nothing of it is outstanding any more.
        if (!candidate->abandoned_ || !candidate->drained(candidate->base_) ||
            (candidate->notices_ != nullptr && !candidate->notices_->forget()))
            continue;
        candidate->abandoned_ = false;
        candidate->collect_failures(candidate->base_, unclaimed_);  // not the next thread's business
        candidate->bind_to_this_thread();
        return *candidate;
    }
    if (owned_.size() < most_threads) {
        auto fresh = std::unique_ptr<Initiator>(new Initiator(*this, Initiator::any_target, nullptr));
        Initiator& initiator = *fresh;
        initiator.track_ = static_cast<std::uint32_t>(owned_.size());
        initiator.runner_->store().set_worker(static_cast<std::uint32_t>(targets_.size() + owned_.size()));
        initiator.shared_ = owned_.size() + 1 == most_threads;  // the last one is for everybody who comes later
        if (initiator.shared_) {
            initiator.direct_ = false;
            shared_ = &initiator;
        }
        if (timeline_events_ != 0) initiator.timeline_.start(timeline_events_);
        owned_.push_back(std::move(fresh));
        const auto count = initiator_count_.load(std::memory_order_relaxed);
        initiators_[count] = &initiator;
        initiator_count_.store(count + 1, std::memory_order_release);
        if (owned_.size() > 1) mix();
        initiator.bind_to_this_thread();
        return initiator;
    }
    shared_->bind_to_this_thread();
    return *shared_;
}

void Core::abandon(Initiator& initiator) noexcept {
    const std::lock_guard lock(mutex_);
    if (!initiator.shared_) initiator.abandoned_ = true;
}

// ---- the end of everything ----

void Core::finish(Initiator& caller) {
    if (caller.in_task())
        throw WouldDeadlock(
            "finish() inside a task would wait for the task itself; use barrier(), which covers the task's children");
    std::vector<Failure> failures;
    std::exception_ptr callback;
    try {
        for (bool done = false; !done;) {
            try {
                caller.barrier();
                done = true;
            } catch (const TaskFailed& failed) {
                failures.push_back({0, failed.task(), failed.target(), failed.cause(), false, failed.others()});
            } catch (const CallbackFailed&) {
                callback = std::current_exception();
            }
        }
        caller.wait_for_all({"all tasks of its machine", 0});
    } catch (...) {
        // Stalled, for instance. What was collected is for the next to ask.
        keep_unclaimed([&](std::vector<Failure>& unclaimed) {
            for (auto& failure : failures) unclaimed.push_back(std::move(failure));
        });
        if (callback) caller.notices_->keep_failure(callback);
        throw;
    }
    forward_all();
    for (auto& failure : take_all_failures()) failures.push_back(std::move(failure));
    if (!failures.empty()) {
        if (callback) caller.notices_->keep_failure(callback);
        throw_first(std::move(failures));
    }
    if (callback) std::rethrow_exception(callback);
}

std::vector<Failure> Core::take_all_failures() {
    judge_watched();
    std::vector<Failure> all;
    const std::lock_guard lock(mutex_);
    all.swap(unclaimed_);
    const auto take = [&](Ring& ring) { ring.take_failures(all); };
    for (auto& target : targets_) target->each_lane(take);
    each_initiator([&](Initiator& initiator) {
        initiator.deque_.each(take);
        take(*initiator.immediate_);
    });
    return all;
}

void Core::throw_first(std::vector<Failure> failures) {
    auto& first = failures.front();
    throw TaskFailed(std::move(first.task), first.target, std::move(first.cause), count_of(failures) - 1);
}

// ---- who sleeps, who waits ----

void Core::wake_a_target(const Ring& ring) noexcept {
    if (ring.only_target() >= 0) {
        penstock::wake_at(target(ring.only_target()).waiter().bell());
        return;
    }
    wake_a_target();
}

void Core::wake_a_target() noexcept {
    // Each waker its own sleeper, and none that sleeps in a task, waiting for another: it would run nothing else.
    for (auto& target : targets_)
        if (target->sleeps_idle() && waiting::wake(target->waiter().bell())) return;
}

void Core::tell_of_returned(Ring& ring, std::uint32_t count) noexcept {
    if (board_.idle_targets.load(std::memory_order_relaxed) != 0)
        for (auto left = std::min(count, static_cast<std::uint32_t>(target_count())); left != 0; --left)
            wake_a_target(ring);
    penstock::wake_at(ring.owner_bell());
}

void Core::give_back_what_is_held_up(const Initiator& taker) noexcept {
    each_initiator([&](Initiator& other) {
        if (&other != &taker) other.runner_->give_back_if_held_up(taker);
    });
}

std::string Core::waiting_report() {
    std::string report;
    const std::lock_guard lock(mutex_);
    const auto line = [&](const std::string& who, const Initiator& initiator) {
        const Waiter& waiter = initiator.waiter_;
        const auto reason = waiter.reason();
        if (const auto entry = initiator.runner_->running(); entry != 0) {
            report += who + " runs " + std::string(entry_of(entry).name);
            if (std::string_view(reason.what) == "nothing") return report += '\n', void();
            report += " and";
        } else {
            report += who;
        }
        report += std::string(" waits for ") + reason.what;
        if (reason.what == waits_for_target && reason.subject != 0)
            report += " (target " + std::to_string(reason.subject - 1) + ")";
        report += waiter.parked() ? ", asleep\n" : "\n";
    };
    for (int t = 0; t < target_count(); ++t) line("target " + std::to_string(t), target(t).initiator());
    for (std::size_t i = 0; i < owned_.size(); ++i) line("thread " + std::to_string(i), *owned_[i]);
    return report;
}

void Core::start_timeline(std::size_t events) {
    const std::lock_guard lock(mutex_);
    recorded_since_.store(Clock::ticks(), std::memory_order_relaxed);
    each_initiator([&](Initiator& initiator) {
        initiator.timeline_.start(events);
        initiator.until_sample_.store(1, std::memory_order_relaxed);  // its next call is timed
    });
    timeline_events_ = events;
    board_.timeline.store(1, std::memory_order_relaxed);
}

void Core::stop_timeline() {
    const std::lock_guard lock(mutex_);
    board_.timeline.store(0, std::memory_order_relaxed);
    timeline_events_ = 0;
    each_initiator([](Initiator& initiator) { initiator.timeline_.stop(); });
}

std::uint32_t Core::timeline_id(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(timeline_names_.begin(), timeline_names_.end(), name);
    const auto place = static_cast<std::uint32_t>(found - timeline_names_.begin());
    if (found == timeline_names_.end()) timeline_names_.push_back(name);
    return first_timeline_id + place;
}

std::string Core::timeline_name(std::uint32_t id) {
    if (id == 0) return "wait";
    if (id < first_timeline_id) return std::string(entry_of(id).name);
    const std::lock_guard lock(mutex_);
    return timeline_names_.at(id - first_timeline_id);
}

void Core::throw_stalled(WaitReason reason) {
    const auto seconds = std::chrono::duration<double>(options_.watchdog).count();
    throw Stalled("no task has ended for " + std::to_string(seconds) + " s while this thread waited for " +
                  reason.what + "; find what they wait for, or raise MachineOptions::watchdog\n" + waiting_report());
}

}  // namespace penstock
