// A ring whose records worker processes see.

#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/carrier.hpp"
#include "penstock/detail/task/chain_image.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/ring.hpp"
#include "task/backend/backend.hpp"
#include "task/isolated/worker_board.hpp"

namespace penstock {

void Ring::share(OffloadBackend& seen_by, Initiation initiation) {
    if (kind_ == Kind::pending) {
        if (staged_ == nullptr) staged_ = std::make_unique<std::unique_ptr<isolated::StagedTask>[]>(capacity_);
        if (forwarding_ == nullptr) forwarding_ = std::make_unique<std::atomic<std::uint64_t>[]>(capacity_);
        for (std::uint32_t i = 0; i < capacity_; ++i) forwarding_[i].store(0, std::memory_order_relaxed);
        forwarded_.store(0, std::memory_order_relaxed);
        appended_.store(0, std::memory_order_relaxed);
    }
    shared_ = &seen_by.make_ring(*this, initiation);
    slots_ = shared_->slots;
    worker_done_ = shared_->done;
    extensions_ = shared_->extensions;
    credits_ = &shared_->credits;
    bell_ = &shared_->bell;
}

/// The addresses stay: a handle that is older than the machine's end may still look, and reads zeros there.
void Ring::unshare() noexcept {
    shared_ = nullptr;
    appended_.store(0, std::memory_order_relaxed);
    if (staged_ == nullptr) return;
    for (std::uint32_t i = 0; i < capacity_; ++i) staged_[i] = nullptr;
}

void Ring::note_cancellations() noexcept {
    const auto count = static_cast<std::uint32_t>(cancelled_.size());
    cancellations_.store(count, std::memory_order_relaxed);
    if (shared_ != nullptr) shared_->cancels.store(count, std::memory_order_relaxed);
}

void Ring::note_append() noexcept {
    if (shared_ != nullptr) appended_.store(pending_->appended() + 1, std::memory_order_relaxed);
}

void Ring::stage(const TaskRecord& record, std::unique_ptr<isolated::StagedTask> staged) noexcept {
    staged_[static_cast<std::size_t>(&record - slots_)] = std::move(staged);
}

bool Ring::worker_completed(std::uint64_t number) const noexcept {
    return worker_done_[pending_->slot(number)].number.load(std::memory_order_acquire) >= number;
}

// Happens-before: all that the task wrote -> the worker's done (release) -> acquire here -> what is written back -> the
// program's done (release) -> acquire by a waiter, or by the owner before it uses the slot again. The compare-and-swap
// lets one thread do it.
bool Ring::forward(std::uint64_t number) noexcept {
    if (pending_->completed(number)) return true;
    if (!worker_completed(number)) return false;
    const auto slot = pending_->slot(number);
    auto begun = forwarding_[slot].load(std::memory_order_relaxed);
    if (begun >= number || !forwarding_[slot].compare_exchange_strong(begun, number, std::memory_order_acq_rel))
        return false;
    if (staged_[slot] != nullptr) {
        staged_[slot]->write_back();
        staged_[slot] = nullptr;
    }
    pending_->complete(number);
    completed_[0].count.fetch_add(1, std::memory_order_release);
    penstock::wake_at(*owner_bell_);
    return true;
}

void Ring::forward_through(std::uint64_t last) noexcept {
    auto number = forwarded_.load(std::memory_order_relaxed);
    while (number < last && forward(number + 1)) ++number;
    note_forwarded(number);
}

void Ring::forward_all() noexcept {
    const auto appended = appended_.load(std::memory_order_acquire);
    // What a worker has completed and another thread is bringing back at this moment is waited for.
    const auto brought_back = [&](std::uint64_t number) {
        while (!forward(number)) {
            if (!worker_completed(number)) return false;
            relax();
        }
        return true;
    };
    auto number = forwarded_.load(std::memory_order_relaxed);
    while (number < appended && brought_back(number + 1)) ++number;
    note_forwarded(number);
}

/// Another thread may have come further.
void Ring::note_forwarded(std::uint64_t number) noexcept {
    auto noted = forwarded_.load(std::memory_order_relaxed);
    while (noted < number && !forwarded_.compare_exchange_weak(noted, number, std::memory_order_relaxed)) {
    }
}

std::uint64_t Ring::waiting() const noexcept {
    if (shared_ == nullptr) return pending_->waiting();
    const auto appended = pending_->appended();
    return appended - std::min(appended, shared_->claims.head.load(std::memory_order_relaxed));
}

const TaskRecord* Ring::record_of(std::uint64_t number) const noexcept {
    for (std::uint32_t slot = 0; slot < capacity_; ++slot)
        if (slots_[slot].sequence.load(std::memory_order_acquire) >> 1 == number) return &slots_[slot];
    return nullptr;
}

std::string Ring::task_name(std::uint64_t number) const {
    const TaskRecord* const record = shared_ == nullptr ? nullptr : record_of(number);
    const auto entry = record == nullptr ? 0 : record->payload.entry;
    return entry == 0 || entry >= entries.size() || entries[entry] == nullptr ? "unknown"
                                                                              : std::string(entries[entry]->name);
}

std::string Ring::task_name(std::uint64_t number, std::uint32_t step) const {
    const TaskRecord* const record =
        step == 0 || shared_ == nullptr || staged_ == nullptr ? nullptr : record_of(number);
    const auto* const staged = record == nullptr ? nullptr : staged_[static_cast<std::size_t>(record - slots_)].get();
    if (staged == nullptr || staged->chain == nullptr || step > staged->chain->program().count)
        return task_name(number);
    return staged->chain->program().step_name(step);
}

std::vector<std::size_t> Ring::argument_bytes(std::uint64_t number) const {
    const TaskRecord* const record = shared_ == nullptr ? nullptr : record_of(number);
    if (record == nullptr) return {};
    // Copied once: a worker that is still there could change it.
    TaskPayload payload = record->payload;
    Extension extension = extensions_[record - slots_];
    if (payload.entry == 0 || payload.entry >= entries.size() || entries[payload.entry] == nullptr) return {};
    // a list of pieces would be read where a worker could have put anything
    if (entries[payload.entry]->has_rows) return {};
    std::array<ArgumentBlock, Entry::max_blocks> blocks;
    const auto count = entries[payload.entry]->describe({payload.line, extension.bytes, false}, blocks.data());
    std::vector<std::size_t> bytes;
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(blocks[i].bytes());
    return bytes;
}

void Ring::give_up(std::exception_ptr cause, Credits<>& credits, TaskRecord* slots, Done<>* done) noexcept {
    {
        const std::lock_guard lock(mutex_);
        given_up_ = std::move(cause);
        note_failures();
    }
    constexpr auto all = ~std::uint64_t{0};
    if (kind_ == Kind::lane) {
        credits.completed.store(all, std::memory_order_release);
        for (std::uint32_t slot = 0; slot < capacity_; ++slot) slots[slot].done.store(all, std::memory_order_release);
    } else {
        for (std::uint32_t slot = 0; slot < capacity_; ++slot) done[slot].number.store(all, std::memory_order_release);
    }
    penstock::wake_at(*owner_bell_);
}

}  // namespace penstock
