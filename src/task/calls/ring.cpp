#include "penstock/detail/task/ring.hpp"

#include <iterator>
#include <new>

#include "penstock/detail/task/carrier.hpp"
#include "penstock/detail/task/initiator.hpp"
#include "process/fork.hpp"

namespace penstock {
namespace {

/// All rings of the process, by number, in chunks that never move; and the free ones by kind and capacity. Links stand
/// beside the rings, so that giving one back needs no memory.
struct Directory {
    static constexpr std::uint32_t chunk = 1024;
    struct Entry {
        std::atomic<Ring*> ring{nullptr};
        std::uint32_t next_free = 0;
    };
    std::array<std::atomic<Entry*>, 4096> chunks{};
    ProcessMutex mutex;
    std::uint32_t count = 1;  // 0 is no ring
    std::array<std::uint32_t, 2 * 33> free{};

    Entry& entry(std::uint32_t index) noexcept {
        return chunks[index / chunk].load(std::memory_order_acquire)[index % chunk];
    }
    /// Rings whose records worker processes see are apart from the others.
    std::uint32_t& first_free(std::uint32_t capacity, bool shared) noexcept {
        return free[2 * std::bit_width(capacity) + (shared ? 1 : 0)];
    }
};

constinit Directory directory;  // nothing of it is ever destroyed: it outlives every thread

}  // namespace

Ring::Ring(std::uint32_t index, std::uint32_t capacity, bool shared) : index_(index), capacity_(capacity) {
    if (capacity == 0 || shared) return;
    memory_ = LocalMemory(std::size_t{capacity} * sizeof(TaskRecord));
    slots_ = reinterpret_cast<TaskRecord*>(memory_.data());
    own_extensions_ = std::make_unique_for_overwrite<Extension[]>(capacity);
    extensions_ = own_extensions_.get();
}

void Ring::note_issued(const TaskRecord& record, std::uint64_t tick) noexcept {
    if (own_issued_ == nullptr) {
        if (capacity_ == 0) return;
        own_issued_.reset(new (std::nothrow) std::atomic<std::uint64_t>[capacity_]());
        if (own_issued_ == nullptr) return;  // then it is not known
        issued_.store(own_issued_.get(), std::memory_order_release);
    }
    own_issued_[static_cast<std::size_t>(&record - slots_)].store(tick, std::memory_order_relaxed);
}

std::uint64_t Ring::take_issued(const TaskPayload& payload) noexcept {
    auto* const issued = issued_.load(std::memory_order_acquire);
    if (issued == nullptr) return 0;
    const auto* const record = reinterpret_cast<const std::byte*>(&payload);
    const auto* const first = reinterpret_cast<const std::byte*>(slots_);
    if (record < first || record >= first + capacity_ * sizeof(TaskRecord)) return 0;  // it ran inside its call
    return issued[static_cast<std::size_t>(record - first) / sizeof(TaskRecord)].exchange(0, std::memory_order_relaxed);
}

Ring& Ring::acquire(Kind kind, std::uint32_t capacity, std::uint32_t claimants, Initiator& owner, Doorbell& owner_bell,
                    int only_target, OffloadBackend* seen_by, Initiation initiation) {
    auto& all = directory;
    const bool shared = seen_by != nullptr && capacity != 0;
    Ring* ring = nullptr;
    const std::lock_guard lock(all.mutex);
    auto& first_free = all.first_free(capacity, shared);
    if (first_free == 0) {
        const auto index = all.count;
        auto& chunk = all.chunks.at(index / Directory::chunk);
        if (chunk.load(std::memory_order_relaxed) == nullptr)
            chunk.store(new Directory::Entry[Directory::chunk], std::memory_order_release);
        ring = new Ring(index, capacity, shared);
        all.entry(index).ring.store(ring, std::memory_order_release);
        first_free = index;
        ++all.count;
    }
    const auto index = first_free;
    ring = all.entry(index).ring.load(std::memory_order_relaxed);
    ring->kind_ = kind;
    ring->only_target_ = only_target;
    ring->owner_bell_ = &owner_bell;
    // All that may fail comes before the workers see the ring, so that a failure leaves it as free as it was.
    if (kind == Kind::pending || kind == Kind::dependent) {
        if (ring->claimants_ < claimants) {
            ring->completed_ = std::make_unique<Completed<>[]>(claimants);
            ring->claimants_ = claimants;
        }
        if (ring->done_ == nullptr) ring->done_ = std::make_unique<Done<>[]>(capacity);
        if (ring->returned_ == nullptr)
            ring->returned_ = std::make_unique<PendingRing<TaskPayload>::ReturnedType[]>(
                PendingRing<TaskPayload>::words_for(capacity));
    }
    if (kind == Kind::dependent) {
        ring->nodes_ = std::make_unique<DependentNode[]>(capacity);
        ring->notes_ = std::make_unique<DependentNote[]>(capacity);
    }
    if (shared) ring->share(*seen_by, initiation);
    ring->reset(claimants, owner);
    first_free = all.entry(index).next_free;  // from here on it is taken
    ring->in_use_ = true;
    return *ring;
}

void Ring::reset(std::uint32_t claimants, Initiator& owner) {
    name_ = std::uint64_t{generation_.load(std::memory_order_relaxed)} << 32 | index_;
    owner_ = &owner;
    machine_.store(owner.machine_id(), std::memory_order_release);
    if (has_records_of_its_own()) {
        for (std::uint32_t i = 0; i < capacity_; ++i) new (&slots_[i]) TaskRecord;
        credits_->completed.store(0, std::memory_order_relaxed);
        bell_->issued.store(0, std::memory_order_relaxed);
    }
    if (kind_ == Kind::pending || kind_ == Kind::dependent) {
        for (std::uint32_t i = 0; i < PendingRing<TaskPayload>::words_for(capacity_); ++i)
            returned_[i].store(0, std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < capacity_; ++i) done_[i].number.store(0, std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < claimants_; ++i) completed_[i].count.store(0, std::memory_order_relaxed);
        pending_.emplace(slots_, done_.get(), capacity_, completed_.get(), claimants, returned_.get());
    }
    if (kind_ == Kind::dependent) {
        scope_ = nullptr;
        settled = 0;
        orphaned = false;
    }
}

void Ring::release() noexcept {
    // What users threw dies where no lock is held: a destructor may do anything.
    Failures failures;
    std::exception_ptr given_up;
    generation_.fetch_add(1, std::memory_order_acq_rel);
    {
        const std::lock_guard lock(mutex_);
        failures = std::exchange(failures_, {});
        cancelled_.clear();
        cancellations_.store(0, std::memory_order_relaxed);
        given_up = std::exchange(given_up_, nullptr);
        given_up_told_ = false;
        note_failures();
    }
    auto& all = directory;
    const std::lock_guard lock(all.mutex);
    in_use_ = false;
    unshare();
    all.entry(index_).next_free = std::exchange(all.first_free(capacity_, !has_records_of_its_own()), index_);
}

Ring* Ring::find(std::uint32_t index) noexcept {
    if (index == 0 || index / Directory::chunk >= directory.chunks.size()) return nullptr;
    auto* const chunk = directory.chunks[index / Directory::chunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk[index % Directory::chunk].ring.load(std::memory_order_acquire);
}

void Ring::after_fork_in_child(void (*visit)(Ring&)) noexcept {
    for (std::uint32_t index = 1; Ring* const ring = find(index); ++index) {
        ring->generation_.fetch_add(1, std::memory_order_relaxed);
        if (ring->in_use_) visit(*ring);
    }
}

void Ring::note_failures() noexcept {
    untold_.store(failures_.untold() + (given_up_ != nullptr && !given_up_told_ ? 1 : 0), std::memory_order_relaxed);
    newest_failed_.store(given_up_ != nullptr ? no_limit : failures_.newest(), std::memory_order_release);
}

void Ring::throw_gone() {
    throw MachineGone(
        "this handle's machine no longer exists here (it was destroyed after it had finished all its tasks, or it "
        "stayed "
        "behind in the parent of a fork); wait while it lives");
}

void Ring::fail(Failure failure) noexcept {
    Failures::Dropped dropped;  // dies behind the lock
    const std::lock_guard lock(mutex_);
    dropped = failures_.keep(std::move(failure), most_failures());
    note_failures();
}

std::optional<Failure> Ring::failure_of(std::uint64_t number, std::uint32_t generation) {
    Failures::Dropped dropped;  // dies behind the lock
    const std::lock_guard lock(mutex_);
    // The generation changes before the failures go: where it is the same, they are those of the task's machine.
    if (generation_.load(std::memory_order_relaxed) != generation) throw_gone();
    auto failure = failures_.tell(number, most_failures(), dropped);
    if (!failure && given_up_ != nullptr)
        return Failure{number, task_name(number), TaskFailed::unknown_target, given_up_, false};
    note_failures();
    return failure;
}

std::optional<Failure> Ring::look_at_failure_of(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return failures_.look(number);
}

void Ring::take_untold(std::vector<Failure>& into, std::uint64_t after, std::uint64_t until) {
    std::vector<Failure> taken;
    {
        const std::lock_guard lock(mutex_);
        taken = failures_.take(after, until);
        // Once, or a barrier would never come to an end of the failures.
        if (given_up_ != nullptr && !std::exchange(given_up_told_, true))
            taken.push_back({after + 1, "unfinished", TaskFailed::unknown_target, given_up_, false});
        note_failures();
    }
    into.insert(into.end(), std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end()));
}

void Ring::ask_to_cancel(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(number);
    note_cancellations();
}

bool Ring::take_cancellation(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const bool asked = std::erase(cancelled_, number) != 0;
    note_cancellations();
    return asked;
}

void Ring::forget_cancellations(std::uint64_t after, std::uint64_t until) {
    const std::lock_guard lock(mutex_);
    std::erase_if(cancelled_, [&](std::uint64_t number) { return number > after && number <= until; });
    note_cancellations();
}

}  // namespace penstock
