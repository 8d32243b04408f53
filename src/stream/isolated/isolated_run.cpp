#include "stream/isolated/isolated_run.hpp"

#include "process/quiet_thread.hpp"
#include "stream/buffers/pool.hpp"
#include "stream/description/adjacency.hpp"
#include "stream/isolated/worker_filter.hpp"
#include "stream/isolated/worker_proxy.hpp"
#include "stream/run/run_core.hpp"
#include "trace/text.hpp"

namespace penstock::streaming {
namespace {

/// The shared heap as the memory of blocks, which may outlive their run.
class HeapMemory final : public BlockMemory {
  public:
    explicit HeapMemory(std::shared_ptr<SharedHeap> heap) noexcept : heap_(std::move(heap)) {}
    std::byte* take(std::size_t& bytes) override {
        bytes =
            std::max(bytes, SharedHeap::alignment);  // an address says which buffer it is, so no buffer is without one
        return heap_->allocate(bytes);
    }
    void give(std::byte* values) noexcept override { heap_->release(values); }

  private:
    std::shared_ptr<SharedHeap> heap_;
};

/// Of a task that has failed.
std::exception_ptr cause_of(const Handle& handle) {
    try {
        handle.wait();
    } catch (const TaskFailed& failed) {
        return failed.cause();
    } catch (...) {
        return std::current_exception();
    }
    return std::make_exception_ptr(
        Error("the worker process ended inside this firing; how, was thrown elsewhere (a barrier of the program's)"));
}

}  // namespace

std::unique_ptr<FilterBackend> IsolatedRun::make(RunCore& core, Machine& machine) {
    if (Machine* const workers = machine.workers()) return std::make_unique<IsolatedRun>(core, *workers, &machine);
    if (machine.options().isolation != Isolation::process || machine.targets() == 0) return nullptr;
    return std::make_unique<IsolatedRun>(core, machine);
}

IsolatedRun::IsolatedRun(RunCore& core, Machine& machine, Machine* threads)
    : FilterBackend(machine, {.fuse = false, .issue_tasks = threads != nullptr}), core_(core), threads_(threads),
      heap_(machine.heap()), memory_(std::make_shared<HeapMemory>(heap_)),
      board_(new(heap_->allocate(sizeof(RunBoard))) RunBoard) {}

IsolatedRun::~IsolatedRun() {
    close();
    heap_->release(board_);
}

void IsolatedRun::begin() {
    board_->armed.store(1u << own_bell, std::memory_order_relaxed);
    thread_ = process::quiet_thread("penstock/run", [this] { attend(); });
}

void IsolatedRun::close() noexcept {
    closing_.store(true, std::memory_order_release);
    if (thread_.joinable()) {
        wake_at(board_->bells[own_bell]);
        thread_.join();
    }
    collect_endings(true);
}

// ---- who runs stations ----

/// Workers ring the bell of a thread that helps, and need the processors that it could spin on.
WaitPolicy IsolatedRun::wait_policy() const {
    auto policy = WaitPolicy::for_threads(machine_.targets() + 1, static_cast<double>(Topology::here().usable()));
    policy.across_processes = true;
    return policy;
}

Doorbell& IsolatedRun::begin_help(Doorbell& own) {
    const std::lock_guard lock(helpers_lock_);
    std::uint32_t slot = 0;
    while (slot < RunBoard::most_bells && (slots_ >> slot & 1) != 0) ++slot;
    if (slot != RunBoard::most_bells) slots_ |= 1u << slot;
    helping_.fetch_add(1, std::memory_order_relaxed);
    board_->armed.store(slots_ & ~(1u << own_bell), std::memory_order_relaxed);
    return slot == RunBoard::most_bells ? own : board_->bells[slot];
}

void IsolatedRun::end_help(Doorbell& bell) noexcept {
    const std::lock_guard lock(helpers_lock_);
    for (std::uint32_t slot = 0; slot < RunBoard::most_bells; ++slot)
        if (&bell == &board_->bells[slot]) slots_ &= ~(1u << slot);
    const bool last = helping_.fetch_sub(1, std::memory_order_relaxed) == 1;
    board_->armed.store(last ? 1u << own_bell : slots_ & ~(1u << own_bell), std::memory_order_relaxed);
}

void IsolatedRun::wake() noexcept { wake_at(board_->bells[own_bell]); }

/// The run's own thread. When the last helper has gone it takes over, by its clock if nothing rings.
void IsolatedRun::attend() noexcept {
    constexpr std::chrono::nanoseconds when_idle = std::chrono::milliseconds(20),
                                       while_others_help = std::chrono::milliseconds(1);
    Waiter waiter(wait_policy(), board_->bells[own_bell]);
    const auto mine = [this] { return helping_.load(std::memory_order_relaxed) == 0; };
    while (!closing_.load(std::memory_order_acquire)) {
        if (mine()) {
            poll();
            Helping helping(core_);
            while (mine() && helping.server.help()) {
            }
            helping.server.hand_back();
        }
        const auto interval = !busy() ? when_idle : mine() ? look_for_deaths_every : while_others_help;
        (void)waiter.wait_for(
            [&] {
                return closing_.load(std::memory_order_acquire) || (mine() && (has_news() || core_.something_ready()));
            },
            interval, {"work of a graph", 0});
    }
}

// ---- firings ----

void IsolatedRun::issue(WorkerProxy& proxy, std::uint64_t number) {
    {
        const std::lock_guard lock(lock_);
        jobs_.push_back({&proxy, number});
        under_way_.store(jobs_.size(), std::memory_order_relaxed);
    }
    const auto mine = [&](const UnderWay& job) { return job.proxy == &proxy; };
    try {
        const auto limit = proxy.time_limit();
        const int worker = proxy.target() - first_target();
        const Handle handle =
            limit.count() == 0 ? machine_.on(worker).call<&do_job>(proxy.record())
                               : machine_.with({.target = worker, .time_limit = limit}).call<&do_job>(proxy.record());
        const std::lock_guard lock(lock_);
        const auto job = std::ranges::find_if(jobs_, mine);
        if (job == jobs_.end() || job->number != number) endings_.push_back({handle});  // it has been reported already
        else job->handle = handle;
    } catch (...) {
        const std::lock_guard lock(lock_);
        std::erase_if(jobs_, mine);
        under_way_.store(jobs_.size(), std::memory_order_relaxed);
        throw;
    }
}

void IsolatedRun::poll() {
    if (has_news()) look_at_reports();
    if (!busy()) return;
    const auto now =
        std::chrono::steady_clock::now().time_since_epoch().count();  // others may have enough to tell for ever
    if (now - looked_for_deaths_.load(std::memory_order_relaxed) > look_for_deaths_every.count()) look_for_deaths();
}

template <class Ended>
void IsolatedRun::end_jobs(Ended&& ended) {
    std::vector<WorkerProxy*> over;
    {
        const std::lock_guard lock(lock_);
        std::erase_if(jobs_, [&](const UnderWay& job) {
            const bool is_over = ended(job);
            if (is_over) over.push_back(job.proxy);
            return is_over;
        });
        under_way_.store(jobs_.size(), std::memory_order_relaxed);
    }
    for (WorkerProxy* const proxy : over) proxy->tell_station();
    collect_endings(false);
}

/// What was announced before it is said to have been seen is seen by the looks at the jobs behind that.
void IsolatedRun::look_at_reports() {
    seen_.store(board_->news.load(std::memory_order_acquire), std::memory_order_relaxed);
    end_jobs([this](const UnderWay& job) {
        job.proxy->answer();
        if (!job.proxy->has_reported(job.number)) return false;
        if (job.handle) endings_.push_back({*job.handle});
        return true;
    });
}

void IsolatedRun::look_for_deaths() {
    looked_for_deaths_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    end_jobs([](const UnderWay& job) {
        if (!job.handle || !job.handle->ready()) return false;
        if (!job.proxy->has_reported(job.number)) job.proxy->note_death(cause_of(*job.handle));
        return true;
    });
}

/// A worker that ended right behind a report has failed a task whose firing is complete: the failure is nobody's.
void IsolatedRun::collect_endings(bool wait) {
    std::vector<Ending> ended;
    {
        const std::lock_guard lock(lock_);
        const auto first = std::partition(endings_.begin(), endings_.end(),
                                          [wait](const Ending& each) { return !wait && !each.handle.ready(); });
        ended.assign(std::make_move_iterator(first), std::make_move_iterator(endings_.end()));
        endings_.erase(first, endings_.end());
    }
    for (Ending& each : ended) {
        try {
            each.handle.wait();
        } catch (const std::exception&) {
        }
        for (Block* const block : each.blocks) give_back(block);
    }
}

void IsolatedRun::forget(int target, std::uint64_t key, std::vector<Block*> blocks) {
    try {
        const Handle handle = machine_.on(target - first_target()).call<&forget_filter>(key);
        const std::lock_guard lock(lock_);
        endings_.push_back({handle, std::move(blocks)});
    } catch (const std::exception&) {  // there are no workers any more
        for (Block* const block : blocks) give_back(block);
    }
}

// ---- what is known of the filters ----

std::string IsolatedRun::others_at(const WorkerProxy& proxy) {
    const std::lock_guard lock(core_.structure);
    std::vector<std::string> names;
    for (const auto& station : core_.stations) {
        const auto* const each = static_cast<const WorkerProxy*>(station->proxy.get());
        if (each != nullptr && each != &proxy && each->target() == proxy.target() && each->forgets())
            names.push_back("'" + station->name() + "'");
    }
    return trace::list_of(names, ", ");
}

// ---- what a graph may ask for ----

bool IsolatedRun::in_worker(const FilterModel& filter, int target) const noexcept {
    if (filter.options.isolation == Isolation::none) return false;
    return threads_ == nullptr || filter.options.needs_process() || target >= threads_->targets();
}

std::unique_ptr<FilterProxy> IsolatedRun::proxy_for(Station& station, const FilterModel& filter, int target) {
    if (station.external || !in_worker(filter, target)) return nullptr;
    // without a place: in each worker in turn. A copy that comes again is where it was, and not beside another.
    if (target < 0) {
        const auto first = first_workers_.try_emplace(filter.id, placed_++).first->second;
        const auto copy = static_cast<unsigned>(station.copy());
        target = first_target() + static_cast<int>((first + copy) % static_cast<unsigned>(machine_.targets()));
    }
    return std::make_unique<WorkerProxy>(*this, station, *filter.kind, target, filter.options.time_limit);
}

std::vector<std::string> IsolatedRun::problems(const Model& model, const Model* before) const {
    std::vector<std::string> problems;
    const auto wrong = [&](const FilterModel& filter, const std::string& what) {
        problems.push_back("filter '" + filter.name + "' " + what);
    };
    for (const auto& filter : model.filters) {
        const auto& options = filter.options;
        const auto limit = options.time_limit;
        if (threads_ != nullptr && options.needs_process() &&
            std::ranges::any_of(options.targets, [&](int target) { return target < threads_->targets(); })) {
            wrong(filter, "is to live in a worker process, and has places among targets that are threads");
        } else if (options.isolation == Isolation::none && threads_ != nullptr) {
            if (std::ranges::any_of(options.targets, [&](int target) { return target >= threads_->targets(); }))
                wrong(filter, "is to live in the program, and has places among worker processes");
            refuse_isolation(filter, problems);
        } else if (options.isolation == Isolation::none) {
            if (!(options.targets.empty() && options.near.empty()))
                wrong(filter,
                      "is to live in the program, and cannot have a place among targets that are worker "
                      "processes");
            refuse_isolation(filter, problems);
        } else if (limit.count() != 0 && (limit < std::chrono::milliseconds(1) || limit > std::chrono::minutes(27))) {
            wrong(filter, "has a time limit that is not from 1 ms to 27 minutes");
        }
    }
    const Adjacency adjacency(model), adjacency_before(before == nullptr ? model : *before);
    for (const auto& filter : model.filters) {
        const auto& places = filter.options.targets;
        const auto* const same = before == nullptr ? nullptr : before->filter(filter.id);
        const auto changes_sides = [&](int copy) {
            return in_worker(filter, adjacency.place(filter, copy)) !=
                   in_worker(*same, adjacency_before.place(*same, copy));
        };
        if (same != nullptr &&
            std::ranges::any_of(std::views::iota(0, std::min(core_.copies(filter), core_.copies(*same))),
                                changes_sides))
            wrong(filter, "cannot go from the program to a worker process, or back, while the graph runs");
        if (filter.kind->external || !(in_worker(filter, -1) || std::ranges::any_of(places, [&](int target) {
                                           return in_worker(filter, target);
                                       })))
            continue;
        if (same == nullptr) {
            if (const auto why = why_not_carried(*filter.kind, *filter.first, heap()); !why.empty())
                wrong(filter, "of type " + std::string(filter.first->type()) + " cannot be made in a worker process: " +
                                  why + " (with Isolation::none of its own it stays in the program)");
            continue;
        }
        const auto moves = [&](int copy) {
            const int target = adjacency.place(filter, copy);
            return target >= 0 && target != adjacency_before.place(*same, copy);
        };
        const bool begins_afresh = filter.first->has_state() || filter.kind->may_be_copied;
        if (!begins_afresh && std::ranges::any_of(std::views::iota(0, std::max(filter.options.copies, 0)), moves))
            wrong(filter,
                  "cannot go to another worker process: it has no state() that could go with it, and does not "
                  "say that it may be copied");
    }
    for (const auto& removal : model.removals) {
        if (!removal.take_over || before == nullptr) continue;
        const auto* const old = before->filter(removal.filter);
        const auto* const successor = model.filter(removal.successor);
        if (old == nullptr || successor == nullptr || successor->options.isolation == Isolation::none ||
            (old->first->has_state() && successor->first->has_state()))
            continue;
        wrong(*old, "cannot be taken over between worker processes: both it and its successor need a state()");
    }
    return problems;
}

}  // namespace penstock::streaming
