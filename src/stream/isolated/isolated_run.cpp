#include "stream/isolated/isolated_run.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "penstock/error.hpp"
#include "process/quiet_thread.hpp"
#include "stream/buffers/pool.hpp"
#include "stream/isolated/filter_proxy.hpp"
#include "stream/isolated/worker_filter.hpp"
#include "stream/run/helping.hpp"
#include "stream/run/run_core.hpp"

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

IsolatedRun::IsolatedRun(RunCore& core, Machine& machine)
    : core_(core), machine_(machine), heap_(machine.heap()), memory_(std::make_shared<HeapMemory>(heap_)),
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
        ring(board_->bells[own_bell]);
        thread_.join();
    }
    collect_endings(true);
}

// ---- who runs stations ----

IsolatedRun::Helper::Helper(IsolatedRun* run) : run_(run) {
    if (run_ == nullptr) return;
    const std::lock_guard lock(run_->helpers_lock_);
    for (std::uint32_t slot = 0; slot < RunBoard::most_bells && slot_ < 0; ++slot)
        if ((run_->slots_ >> slot & 1) == 0) slot_ = static_cast<int>(slot);
    if (slot_ >= 0) run_->slots_ |= 1u << slot_;
    run_->helping_.fetch_add(1, std::memory_order_relaxed);
    run_->board().armed.store(run_->slots_ & ~(1u << own_bell), std::memory_order_relaxed);
}

IsolatedRun::Helper::~Helper() {
    if (run_ == nullptr) return;
    const std::lock_guard lock(run_->helpers_lock_);
    if (slot_ >= 0) run_->slots_ &= ~(1u << slot_);
    const bool last = run_->helping_.fetch_sub(1, std::memory_order_relaxed) == 1;
    run_->board().armed.store(last ? 1u << own_bell : run_->slots_ & ~(1u << own_bell), std::memory_order_relaxed);
}

void IsolatedRun::wake() noexcept { ring(board_->bells[own_bell]); }

/// The run's own thread. When the last helper has gone it takes over, by its clock if nothing rings.
void IsolatedRun::attend() noexcept {
    constexpr std::chrono::nanoseconds when_idle = std::chrono::milliseconds(20),
                                       while_others_help = std::chrono::milliseconds(1);
    Waiter waiter(core_.wait_policy(), board_->bells[own_bell]);
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

void IsolatedRun::issue(FilterProxy& proxy, std::uint64_t number) {
    {
        const std::lock_guard lock(lock_);
        jobs_.push_back({&proxy, number});
        under_way_.store(jobs_.size(), std::memory_order_relaxed);
    }
    const auto mine = [&](const UnderWay& job) { return job.proxy == &proxy; };
    try {
        const auto limit = proxy.time_limit();
        const Handle handle =
            limit.count() == 0
                ? machine_.on(proxy.target()).call<&do_job>(proxy.record())
                : machine_.with({.target = proxy.target(), .time_limit = limit}).call<&do_job>(proxy.record());
        const std::lock_guard lock(lock_);
        const auto job = std::find_if(jobs_.begin(), jobs_.end(), mine);
        if (job == jobs_.end() || job->number != number) endings_.push_back({handle});  // it has been reported already
        else job->handle = handle, job->issued = true;
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

void IsolatedRun::look_at_reports() {
    std::vector<FilterProxy*> reported;
    {
        const std::lock_guard lock(lock_);
        seen_.store(board_->news.load(std::memory_order_acquire), std::memory_order_relaxed);
        std::erase_if(jobs_, [&](const UnderWay& job) {
            job.proxy->answer();
            if (!job.proxy->has_reported(job.number)) return false;
            if (job.issued) endings_.push_back({job.handle});
            reported.push_back(job.proxy);
            return true;
        });
        under_way_.store(jobs_.size(), std::memory_order_relaxed);
    }
    for (FilterProxy* const proxy : reported) proxy->tell_station();
    collect_endings(false);
}

void IsolatedRun::look_for_deaths() {
    looked_for_deaths_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    std::vector<FilterProxy*> over;
    {
        const std::lock_guard lock(lock_);
        std::erase_if(jobs_, [&](const UnderWay& job) {
            if (!job.issued || !job.handle.ready()) return false;
            if (!job.proxy->has_reported(job.number)) job.proxy->note_death(cause_of(job.handle));
            over.push_back(job.proxy);
            return true;
        });
        under_way_.store(jobs_.size(), std::memory_order_relaxed);
    }
    for (FilterProxy* const proxy : over) proxy->tell_station();
    collect_endings(false);
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
        const Handle handle = machine_.on(target).call<&forget_filter>(key);
        const std::lock_guard lock(lock_);
        endings_.push_back({handle, std::move(blocks)});
    } catch (const std::exception&) {  // there are no workers any more
        for (Block* const block : blocks) give_back(block);
    }
}

// ---- what is known of the filters ----

void IsolatedRun::enter(FilterProxy& proxy) {
    const std::lock_guard lock(proxies_lock_);
    proxies_.push_back(&proxy);
}

void IsolatedRun::leave(FilterProxy& proxy) {
    const std::lock_guard lock(proxies_lock_);
    std::erase(proxies_, &proxy);
}

std::string IsolatedRun::others_at(const FilterProxy& proxy) {
    const std::lock_guard lock(proxies_lock_);
    std::string names;
    for (const FilterProxy* const each : proxies_)
        if (each != &proxy && each->target() == proxy.target() && each->forgets())
            names += (names.empty() ? "'" : ", '") + each->name() + "'";
    return names;
}

void IsolatedRun::note_lost(const std::vector<LostBuffer>& lost) {
    const std::lock_guard lock(proxies_lock_);
    lost_.insert(lost_.end(), lost.begin(), lost.end());
}

std::vector<LostBuffer> IsolatedRun::lost() {
    const std::lock_guard lock(proxies_lock_);
    return lost_;
}

}  // namespace penstock::streaming
