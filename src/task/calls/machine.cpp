#include "penstock/machine.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <thread>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/topology.hpp"
#include "process/fork.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/calls/timeline_tracks.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {
namespace {

/// Has this process ever begun to make a machine?
constinit std::atomic<bool> in_use{false};

void before_fork() {
    if (!in_use.load()) return;
    settle_before_fork();
    Core::settle_before_fork();
}

// In a forked child there are no targets: every handle goes stale and every call is refused, instead of waiting for
// ever. Registered when the program is loaded: at first use, another thread might fork meanwhile.
[[maybe_unused]] const int watches_for_forks =
    pthread_atfork(&before_fork, nullptr, &Initiator::leave_behind_in_parent);

/// Keeps the memory of a machine that ended behind one of its own tasks: the thread that issued that task may still be
/// on its way out of the call. Goes when this many more have ended in the same way.
constexpr std::size_t most_kept = 16;
constinit ProcessMutex of_kept;
constinit std::array<Core*, most_kept> kept{};
constinit std::size_t next_kept = 0;

void keep_for_a_while(std::shared_ptr<Core> core) noexcept {
    std::shared_ptr<Core> goes;  // behind the lock
    const std::lock_guard lock(of_kept);
    Core*& place = kept[next_kept];
    next_kept = (next_kept + 1) % most_kept;
    if (place != nullptr) goes = place->let_go();
    place = core.get();
    place->keep(std::move(core));
}

}  // namespace

namespace {

int targets_in(const std::vector<TargetClass>& classes, Isolation isolation) {
    int count = 0;
    for (const auto& each : classes) count += each.isolation == isolation ? each.targets : 0;
    return count;
}

/// Threads first, then worker processes. Throws UsageError for classes that cannot be.
std::vector<TargetClass> in_order(std::vector<TargetClass> classes) {
    const auto refuse = [](const std::string& name, const std::string& what) {
        throw UsageError("the class of targets '" + name + "' " + what);
    };
    for (std::size_t i = 0; i < classes.size(); ++i) {
        const auto& [name, targets, isolation, speed] = classes[i];
        if (name.empty() || name.find_first_of(" \t\n") != name.npos)
            refuse(name, "has a name that is empty or has blanks");
        if (targets < 1 || targets > MachineOptions::max_targets)
            refuse(name, "has " + std::to_string(targets) + " targets, and may have 1 to " +
                             std::to_string(MachineOptions::max_targets));
        if (!(speed > 0 && speed <= 1)) refuse(name, "has a speed that is not above 0 and at most 1");
        if (targets_in({classes[i]}, Isolation::process) != 0 && speed != 1)
            refuse(name, "is of worker processes, which are as fast as they are: threads can be slowed down");
        for (std::size_t j = 0; j < i; ++j)
            if (classes[j].name == name) refuse(name, "is there twice");
    }
    std::ranges::stable_sort(classes, {}, &TargetClass::isolation);
    return classes;
}

/// What the machine's own targets are: the threads.
MachineOptions of_threads(const MachineOptions& options) {
    if (options.classes.empty()) return options;
    auto own = options;
    own.isolation = Isolation::none;
    own.targets = targets_in(options.classes, Isolation::none);
    return own;
}

}  // namespace

Machine::Machine(const MachineOptions& options) : classes_(in_order(options.classes)) {
    in_use.store(true);
    const int workers = targets_in(classes_, Isolation::process);
    if (workers != 0) {  // first: threads must not stand beside their making
        auto theirs = options;
        theirs.classes.clear();
        theirs.isolation = Isolation::process;
        theirs.targets = workers;
        theirs.pin = false;  // the threads are
        workers_ = std::make_unique<Machine>(theirs);
    }
    core_ = std::make_shared<Core>(of_threads(options));
    core_->start();
    id_ = core_->id();
}

std::vector<int> Machine::targets_of(const std::string& target_class) const {
    int first = 0;
    std::string names;
    for (const auto& each : classes_) {
        if (each.name == target_class) {
            std::vector<int> all(static_cast<std::size_t>(each.targets));
            std::iota(all.begin(), all.end(), first);
            return all;
        }
        first += each.targets;
        names += (names.empty() ? "" : ", ") + each.name;
    }
    throw UsageError("this machine has no class of targets '" + target_class + "'" +
                     (names.empty() ? "; it has no classes (MachineOptions::classes)" : "; it has " + names));
}

double Machine::speed_of(int target) const noexcept {
    for (const auto& each : classes_) {
        if (target < each.targets) return target < 0 ? 1 : each.speed;
        target -= each.targets;
    }
    return 1;
}

Machine::~Machine() {
    if (core_ == nullptr) return;
    if (!core_->origin().left_behind() && in_task()) {
        // One of its own tasks destroys it. The task cannot wait for itself, so the end happens behind it.
        Core& core = *core_;
        core.keep(std::move(core_));
        try {
            std::thread([&core] {
                auto ended = core.let_go();
                ended->shut_down();
                keep_for_a_while(std::move(ended));
            }).detach();
        } catch (const std::exception& error) {
            // It cannot end while its task runs, and nothing else could end it behind that.
            std::fprintf(
                stderr,
                "penstock: a machine that one of its own tasks destroyed stays, because no thread can be had: %s\n",
                said_by(error));
        }
        return;
    }
    core_->stop_what_runs();
    core_->shut_down();
}

namespace {

/// What other threads may have locked at a fork is not touched in the child.
Core& here(const std::shared_ptr<Core>& core) {
    core->origin().require("this machine");
    return *core;
}

}  // namespace

Initiator& Machine::find_initiator() {
    (void)here(core_);
    if (Initiator* const mine = Initiator::of_this_thread(id_)) {
        mine->bind_to_this_thread();
        return *mine;
    }
    return core_->adopt_thread();
}

NamedTarget Machine::on(int target) {
    if (target < 0 || target >= all_targets())
        throw UsageError("this machine has no target " + std::to_string(target) + "; its targets are numbered 0 to " +
                         std::to_string(all_targets() - 1));
    return target < targets() ? NamedTarget(*this, target) : workers_->on(target - targets());
}

NamedTarget Machine::on(const std::string& target_class) {
    const auto all = targets_of(target_class);
    return on(all[next_of_class_.fetch_add(1, std::memory_order_relaxed) % all.size()]);
}

CallsWith Machine::with(CallOptions options) {
    if (options.target >= targets() && options.target < all_targets()) {
        options.target -= targets();
        return workers_->with(std::move(options));
    }
    if (options.target != CallOptions::any_target) (void)on(options.target);
    if (options.deadline.count() < 0) throw UsageError("CallOptions::deadline must not be negative");
    return CallsWith(*this, std::move(options));
}

namespace {

/// Both waits, also where tasks of the threads failed: the first of these is thrown, those of the workers are counted.
template <class Threads, class Workers>
void wait_for_both(Initiator& initiator, const Threads& threads, const Workers& workers) {
    std::optional<TaskFailed> first;
    std::exception_ptr callback, of_workers;
    try {
        threads();
    } catch (const TaskFailed& failed) {
        first = failed;
    } catch (const CallbackFailed&) {
        callback = std::current_exception();
    }
    std::size_t more = 0;
    try {
        workers();
    } catch (const TaskFailed& failed) {
        of_workers = std::current_exception();
        more = 1 + failed.others();
    } catch (...) {
        of_workers = std::current_exception();
        more = 1;
    }
    if (first) throw TaskFailed(first->task(), first->target(), first->cause(), first->others() + more);
    if (of_workers != nullptr && callback != nullptr)
        initiator.notices()->keep_failure(std::exchange(callback, nullptr));
    if (of_workers != nullptr) std::rethrow_exception(of_workers);
    if (callback != nullptr) std::rethrow_exception(callback);
}

}  // namespace

void Machine::barrier_of_all_classes() {
    wait_for_both(initiator(), [this] { initiator().barrier(); }, [this] { workers_->barrier(); });
}

void Machine::finish() {
    if (workers_ == nullptr) return core_->finish(initiator());
    wait_for_both(initiator(), [this] { core_->finish(initiator()); }, [this] { workers_->finish(); });
}
std::shared_ptr<SharedHeap> Machine::heap() { return here(core_).heap(); }
int Machine::targets() const noexcept { return core_->target_count(); }

int Machine::processor(int target) const {
    if (target < 0 || target >= targets()) throw UsageError("there is no target " + std::to_string(target));
    return here(core_).target(target).processor();
}

const MachineOptions& Machine::options() const noexcept { return core_->options(); }

bool Machine::in_task() const noexcept {
    Initiator* const mine = Initiator::of_this_thread(id_);
    return mine != nullptr && mine->in_task();
}

int Machine::current_target() const noexcept {
    Initiator* const mine = Initiator::of_this_thread(id_);
    return mine == nullptr ? -1 : mine->target();
}

std::string Machine::description() const {
    Core& core = here(core_);
    std::string text = Topology::here().description() + "; " + std::to_string(targets()) + " target(s)";
    for (int t = 0; t < targets(); ++t) {
        const int processor = core.target(t).processor();
        text += (t == 0 ? " on processors " : ", ") + (processor < 0 ? std::string("any") : std::to_string(processor));
    }
    return text;
}

std::string Machine::waiting_report() const { return here(core_).waiting_report(); }

// ---- the trace ----

namespace {

trace::Track track_of(const Initiator& initiator) {
    const bool thread = initiator.target() == Initiator::any_target;
    trace::Track track;
    track.role = thread ? trace::Role::initiator : trace::Role::target;
    track.id = initiator.track();
    track.started = initiator.started();
    track.name = (thread ? "thread " : "target ") + std::to_string(track.id);
    return track;
}

}  // namespace

trace::Snapshot Machine::snapshot() const {
    trace::Snapshot snapshot(Clock::ticks(), Clock::nanoseconds_per_tick());
    here(core_).each_initiator([&](Initiator& initiator) {
        if (initiator.target() == Initiator::any_target) snapshot.add(track_of(initiator), initiator.counters());
        else snapshot.add(track_of(initiator), core_->backend().counters(initiator.target()));
    });
    return snapshot;
}

void Machine::start_timeline(std::size_t events) { here(core_).start_timeline(events); }

void Machine::stop_timeline() { here(core_).stop_timeline(); }

std::vector<trace::TimelineTrack> timeline_tracks(const Core& core) {
    std::vector<trace::TimelineTrack> tracks;
    core.each_initiator(
        [&](Initiator& initiator) { tracks.push_back({track_of(initiator), initiator.timeline().snapshot()}); });
    return tracks;
}

std::string Machine::timeline_json() const {
    return trace::perfetto_json(timeline_tracks(here(core_)), Clock::nanoseconds_per_tick(),
                                [this](std::uint32_t id) { return core_->timeline_name(id); });
}

bool Machine::timeline_recorded() const noexcept {
    return core_->board().timeline.load(std::memory_order_relaxed) != 0;
}
std::uint32_t Machine::timeline_id(const std::string& name) { return here(core_).timeline_id(name); }

void Machine::record(trace::Event event) {
    Initiator& mine = find_initiator();
    event.issuer = event.target = mine.track();
    const auto alone = mine.alone();  // a timeline has one writer
    mine.timeline().record(event);
}

}  // namespace penstock
