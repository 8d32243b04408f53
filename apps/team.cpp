#include "apps/team.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/error.hpp"
#include "penstock/topology.hpp"

namespace penstock::apps {
namespace {

// So long it looks for the next run before it sleeps, as a machine's targets do.
constexpr std::chrono::microseconds awake_behind_a_run{50};

// After so many looks the thread offers its processor: without this a team larger than the machine waits whole time
// slices.
constexpr int looks_before_yield = 4096;

void spin_until(const std::atomic<std::uint64_t>& flag, std::uint64_t epoch) noexcept {
    for (int looks = 0; flag.load(std::memory_order_acquire) < epoch; ++looks) {
        if (looks < looks_before_yield) {
            relax();
        } else {
            std::this_thread::yield();
        }
    }
}

/// As a machine's targets do when they have slept: where a virtual processor has halted, code for SSE is slower until
/// then. A call of its own, behind which no vector register is expected to have its value.
[[gnu::noinline]] void forget_upper_halves() noexcept {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx")) asm volatile("vzeroupper" ::: "memory");
#endif
}

std::vector<int> first_processors(int size) {
    if (size < 1) throw UsageError("a team needs at least one thread, not " + std::to_string(size));
    std::vector<int> processors;
    const Topology& topology = Topology::here();
    if (size <= topology.usable()) {
        const int here = current_processor();
        if (topology.find(here) != nullptr) processors.push_back(here);
        for (const auto& processor : topology.processors()) {
            if (processor.index != here) processors.push_back(processor.index);
        }
    }
    processors.resize(static_cast<std::size_t>(size), Team::anywhere);
    return processors;
}

}  // namespace

Team::Team(int size) : Team{first_processors(size)} {}

Team::Team(std::vector<int> processors)
    : processors_{std::move(processors)}, size_{static_cast<int>(processors_.size())}, members_(processors_.size()) {
    if (size_ < 1)
        throw UsageError("a team needs at least one thread: give it at least one processor, or Team::anywhere");
    // The threads first: they would inherit the caller's pinning.
    for (int rank = 1; rank < size_; ++rank) threads_.emplace_back([this, rank] { serve(rank); });
    pinned_ = pin(0);
}

Team::~Team() {
    if (pinned_) unpin_this_thread();
    {
        const std::lock_guard lock{mutex_};
        closing_ = true;
    }
    wake_.notify_all();
}

bool Team::pin(int rank) const {
    const int processor = processors_[static_cast<std::size_t>(rank)];
    return processor != anywhere && pin_this_thread(processor);
}

void Team::serve(int rank) {
    pin(rank);
    for (std::uint64_t seen = 0;;) {
        const auto sleepy = std::chrono::steady_clock::now() + awake_behind_a_run;
        while (run_.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < sleepy) relax();
        if (run_.load(std::memory_order_acquire) == seen) {
            std::unique_lock lock{mutex_};
            wake_.wait(lock, [&] { return closing_ || run_.load(std::memory_order_relaxed) != seen; });
            if (closing_) return;
            forget_upper_halves();
        }
        ++seen;
        barrier(rank);
        (*body_)(rank);
        barrier(rank);
    }
}

double Team::run(const std::function<void(int rank)>& body) {
    {
        const std::lock_guard lock{mutex_};
        body_ = &body;
        run_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    barrier(0);
    const auto start = std::chrono::steady_clock::now();
    body(0);
    barrier(0);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    return time.count();
}

void Team::barrier(int rank) noexcept {
    Member& self = members_[static_cast<std::size_t>(rank)];
    const std::uint64_t epoch = ++self.epoch;
    for (int round = 0; (1 << round) < size_; ++round) {
        const int partner = (rank + (1 << round)) % size_;
        members_[static_cast<std::size_t>(partner)].arrived[round].epoch.store(epoch, std::memory_order_release);
        spin_until(self.arrived[round].epoch, epoch);
    }
}

Range Team::share(int rank, std::size_t count) const noexcept {
    const auto size = static_cast<std::size_t>(size_);
    const auto index = static_cast<std::size_t>(rank);
    return {count * index / size, count * (index + 1) / size};
}

}  // namespace penstock::apps
