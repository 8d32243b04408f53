#include "task/backend/backend.hpp"

#include <bit>
#include <new>

#include "penstock/detail/task/initiator.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/isolated/worker_host.hpp"

namespace penstock {
namespace {

template <class Made>
std::unique_ptr<Backend> make(Core& core, const std::vector<int>& processors) {
    return std::make_unique<Made>(core, processors);
}

/// Threads of this process. Each target has its own, and what runs there needs nobody between.
class Threads final : public Backend {
  public:
    Threads(Core& core, const std::vector<int>&) : Backend(core) {}

    void start() override {
        try {
            for (int t = 0; t < core_.target_count(); ++t) core_.target(t).start();
        } catch (...) {
            stop();  // those that run look at all initiators: they end before any of these goes
            throw;
        }
    }
    void stop() noexcept override {
        for (int t = 0; t < core_.target_count(); ++t) core_.target(t).stop();
    }
    void require(Ability ability) const override {
        if (ability == Ability::time_limits)
            throw UsageError(
                "CallOptions::time_limit needs process targets (MachineOptions::isolation): a thread cannot be ended");
    }
    const trace::TargetCounters& counters(int target) noexcept override {
        return core_.target(target).runner().counters();
    }
};

constexpr std::size_t most_places = 16;

/// By the value of MachineOptions::isolation, of which the last are for those that are added.
constinit std::array<Backend::Maker, most_places> makers{
    Backend::Maker{&make<Threads>},
    Backend::Maker{&make<isolated::WorkerHost>, 1, true},
};

Backend::Maker& place_of(Isolation isolation) {
    const auto place = static_cast<std::size_t>(isolation);
    if (place >= makers.size())
        throw UsageError("MachineOptions::isolation is " + std::to_string(place) + ", which stands for nothing");
    return makers[place];
}

}  // namespace

const Backend::Maker& Backend::maker(Isolation isolation) {
    const Maker& maker = place_of(isolation);
    if (maker.make == nullptr)
        throw UsageError("MachineOptions::isolation is " + std::to_string(static_cast<int>(isolation)) +
                         ", for which no backend has been added");
    return maker;
}

void Backend::add(Isolation isolation, const Maker& maker) { place_of(isolation) = maker; }

Waiter Backend::waiter(int) { return Waiter(core_.wait_policy()); }

// ---- a task that is carried to another place: how it is issued, and the memory for what is copied on the way ----

std::uint32_t Initiator::accept_offloaded(std::uint32_t entry) { return call_side_->backend.accept(*asked_, entry); }

Initiator::Spot Initiator::reserve_offloaded(int target, std::unique_ptr<isolated::StagedTask>& staged) {
    scope();
    const bool balanced = target == any_target && core_.options().distribution == Distribution::balanced;
    // What is staged comes back through a deque, and what is handed over comes out of one.
    if (staged == nullptr && call_side_->sees_rings) {
        if (balanced && lanes_.some_idle() && deque_idle_ && scope_ == &base_ && !shared_)
            if (LaneEnd* const lane = idle_lane()) return {lane->producer.reserve(), lane, lane->ring};
        if (const Spot spot = reserve(target); spot.record != nullptr) return spot;
    }
    const Spot spot = reserve_in_deque(target);
    if (spot.record == nullptr) throw QueueFull("too many tasks are nested here; make fewer levels of calls");
    if (staged == nullptr) return spot;
    staged->counts = true;  // from here on nothing is refused
    if (call_side_->sees_rings) spot.ring->stage(*spot.record, std::move(staged));
    return spot;
}

Handle Initiator::publish_offloaded(const Spot& spot, std::unique_ptr<isolated::StagedTask> staged) {
    if (spot.lane != nullptr) {
        count_in_lane();
        return publish_in_lane(*spot.lane);
    }
    deque_idle_ = false;
    spot.ring->note_append();
    const Handle handle = publish_in_deque(*spot.ring);
    if (!call_side_->sees_rings) call_side_->backend.hand_over(*spot.ring, *runner_, std::move(staged));
    return handle;
}

// ---- the place ----

namespace {

constexpr std::size_t smallest_block = 128;

std::size_t block_size(std::size_t bytes) noexcept { return std::bit_ceil(std::max(bytes, smallest_block)); }

}  // namespace

OffloadBackend::OffloadBackend(Core& core, bool sees_rings) : Backend(core), heap_(core.heap()), side_(*this) {
    side_.sees_rings = sees_rings;
    side_.heap = heap_->base();
    side_.heap_bytes = heap_->size();
}

isolated::SharedRing& OffloadBackend::make_ring(Ring&, Initiation) { throw UsageError("this backend sees no rings"); }

std::byte* OffloadBackend::take_block(std::size_t bytes) {
    const auto size = block_size(bytes);
    {
        const std::lock_guard lock(blocks_mutex_);
        auto& free = blocks_[static_cast<std::size_t>(std::countr_zero(size))];
        if (!free.empty()) {
            auto* const block = free.back();
            free.pop_back();
            return block;
        }
    }
    return heap_->allocate(size);
}

void OffloadBackend::give_block(std::byte* block, std::size_t bytes) noexcept {
    // Large ones are given back, so that a burst does not keep its memory for ever.
    constexpr std::size_t largest_kept = std::size_t{1} << 22;
    constexpr std::size_t most_kept = 256;
    const auto size = block_size(bytes);
    if (size <= largest_kept) try {
            const std::lock_guard lock(blocks_mutex_);
            auto& free = blocks_[static_cast<std::size_t>(std::countr_zero(size))];
            if (free.size() < most_kept) return free.push_back(block);
        } catch (const std::bad_alloc&) {  // no room to note it
        }
    heap_->release(block);
}

}  // namespace penstock
