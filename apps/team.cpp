#include "apps/team.hpp"

#include <chrono>
#include <string>

#include "penstock/error.hpp"
#include "penstock/relax.hpp"
#include "penstock/topology.hpp"

namespace penstock::apps {
namespace {

// After so many looks the thread offers its processor: without this a team larger than the machine waits whole time slices.
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

}  // namespace

Team::Team(int size) : size_{size} {
    if (size < 1) throw UsageError("a team needs at least one thread, not " + std::to_string(size));
    const auto& topology = Topology::here();
    if (size <= topology.usable()) {
        for (const auto& processor : topology.processors()) processors_.push_back(processor.index);
    }
    members_ = std::vector<Member>(static_cast<std::size_t>(size));
    for (int rank = 1; rank < size; ++rank) threads_.emplace_back([this, rank] { serve(rank); });
}

Team::~Team() {
    {
        const std::lock_guard lock{mutex_};
        closing_ = true;
    }
    wake_.notify_all();
}

bool Team::pin(int rank) const {
    return !processors_.empty() && pin_this_thread(processors_[static_cast<std::size_t>(rank)]);
}

void Team::serve(int rank) {
    pin(rank);
    for (std::uint64_t seen = 0;;) {
        {
            std::unique_lock lock{mutex_};
            wake_.wait(lock, [&] { return closing_ || run_ != seen; });
            if (closing_) return;
            seen = run_;
        }
        barrier(rank);
        (*body_)(rank);
        barrier(rank);
    }
}

double Team::run(const std::function<void(int rank)>& body) {
    const bool pinned = pin(0);
    {
        const std::lock_guard lock{mutex_};
        body_ = &body;
        ++run_;
    }
    wake_.notify_all();
    barrier(0);
    const auto start = std::chrono::steady_clock::now();
    body(0);
    barrier(0);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (pinned) unpin_this_thread();
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
