// What the ports of a filter do in a worker process: they use what the job brought, and note what is to be done for it
// in the program.
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "stream/isolated/worker_filter.hpp"

namespace penstock::streaming {
namespace {

constexpr int looks_before_yield = 200;
constexpr int looks_before_sleep = 2'000;

}  // namespace

// ---- memory ----

Loan WorkerFilter::ask(FiringRecord::Question question) {
    const auto number = record_.asked.load(std::memory_order_relaxed) + 1;
    record_.question = question;
    record_.asked.store(number, std::memory_order_release);
    record_.board->announce();
    for (int looks = 0; record_.answered.load(std::memory_order_acquire) != number; ++looks) {
        if (looks < looks_before_yield) relax();
        else if (looks < looks_before_sleep) waiting::yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return record_.answer;
}

/// Throws std::bad_alloc.
Loan WorkerFilter::borrow(FiringRecord::Question question) {
    const Loan loan = ask(question);
    if (loan.values == nullptr) throw std::bad_alloc();
    loans_.emplace(loan.values, loan);
    return loan;
}

/// Two inputs may bring the same values, each in a slot of its own.
WorkerFilter::Loans::iterator WorkerFilter::loan_of(const std::byte* values, std::uint64_t slot) noexcept {
    const auto [first, last] = loans_.equal_range(values);
    const auto found = std::find_if(first, last, [slot](const auto& each) { return each.second.slot == slot; });
    return found == last ? loans_.end() : found;
}

void WorkerFilter::give(std::byte* values) noexcept { give(loans_.find(values)); }

void WorkerFilter::give(Loans::iterator loan) noexcept {
    if (loan == loans_.end()) return;
    actions_.push_back({Action::give_back, 0, loan->second.slot});
    loans_.erase(loan);
}

// ---- ports ----

/// The filter that fires now.
WorkerFilter& WorkerFilter::firing() {
    if (current_ == nullptr) throw UsageError("the ports of a filter are used inside its firing only");
    return *current_;
}

Block* WorkerFilter::take(Inlet& inlet) {
    WorkerFilter& filter = firing();
    if (inlet.queue.empty()) return nullptr;
    filter.actions_.push_back({Action::take, inlet.index});
    auto& count = filter.record_.taken[inlet.index];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return inlet.queue.pop().block;
}

Block* WorkerFilter::make(Outlet& outlet, std::size_t bytes) {
    auto& grants = firing().grants_[outlet.index];
    const auto fits = std::ranges::find_if(grants, [bytes](const Loan& each) { return each.capacity >= bytes; });
    const bool granted = fits != grants.end();
    const Loan loan = granted ? *fits : current_->borrow({FiringRecord::Question::values, outlet.index, bytes});
    if (granted) grants.erase(fits);
    Block* const block = current_->block_over(loan);
    block->bytes = bytes;
    return block;
}

void WorkerFilter::write(Outlet& outlet, Block* block) {
    const Buffer<std::byte> given_back(block);  // of which the program knows by the action alone
    WorkerFilter& filter = firing();
    if (outlet.closing)
        throw UsageError("a filter writes to its output '" + outlet.port->name() + "' after it has closed it");
    if (filter.discards_) return;
    auto loan = filter.loan_of(block->data, block->number);
    if (loan == filter.loans_.end()) loan = filter.loans_.find(block->data);
    if (loan == filter.loans_.end()) {  // made by no output: its values are this process's own
        const auto borrowed = filter.borrow({FiringRecord::Question::values, outlet.index, block->bytes});
        if (block->bytes != 0) std::memcpy(borrowed.values, block->data, block->bytes);
        loan = filter.loans_.find(borrowed.values);
    }
    filter.actions_.push_back({Action::write, outlet.index, loan->second.slot, Shape::of(*block)});
    filter.loans_.erase(loan);
}

void WorkerFilter::close(Outlet& outlet) {
    WorkerFilter& filter = firing();
    if (std::exchange(outlet.closing, true)) return;
    if (!filter.discards_) filter.actions_.push_back({Action::close, outlet.index});
}

void WorkerFilter::send_event(const EventPort& output, SettingValue value) {
    WorkerFilter& filter = firing();
    const auto& all = filter.filter_->event_outputs;
    if (filter.discards_) return;
    carried::encode(filter.events_, static_cast<std::uint32_t>(std::ranges::find(all, &output) - all.begin()));
    encode_setting(filter.events_, value);
}

}  // namespace penstock::streaming
