#include "penstock/resident.hpp"

#include "machine/pages.hpp"
#include "task/calls/core.hpp"

namespace penstock::resident {
namespace {

constexpr std::align_val_t alignment{LocalStore::alignment};

std::byte* copy_of(const std::byte* bytes, std::size_t size) {
    auto* const copy = static_cast<std::byte*>(::operator new(size == 0 ? 1 : size, alignment));
    if (size != 0) std::memcpy(copy, bytes, size);
    return copy;
}

}  // namespace

/// A copy counts as filled only when all of it is there.
std::byte* SharedVersion::local(std::uint32_t worker, std::uint64_t incarnation) noexcept {
    auto& copy = copies[worker];
    const auto filled = copy.filled_by.load(std::memory_order_relaxed);
    if (filled == incarnation || (accumulates && filled != 0)) return copy.bytes;
    if (size != 0) std::memcpy(copy.bytes, original, size);
    copy.filled_by.store(incarnation, std::memory_order_release);
    return copy.bytes;
}

Version::Version(std::span<const std::byte> bytes, std::uint64_t number, std::size_t workers, std::size_t targets,
                 bool accumulates)
    : number_(number), size_(bytes.size()), original_(nullptr), targets_(targets), accumulates_(accumulates),
      copies_(workers, nullptr) {
    original_ = copy_of(bytes.data(), bytes.size());
}

Version::~Version() {
    ::operator delete(original_, alignment);
    for (auto* const copy : copies_)
        if (copy != nullptr) ::operator delete(copy, alignment);
    if (heap_ != nullptr) heap_->release(shared_.load(std::memory_order_relaxed));
}

SharedVersion& Version::share(const std::shared_ptr<SharedHeap>& heap) {
    if (auto* const made = shared_.load(std::memory_order_acquire)) return *made;
    const std::lock_guard lock(mutex_);
    if (auto* const made = shared_.load(std::memory_order_relaxed)) return *made;
    // One block: what it is, which copies there are, the bytes, the copies.
    const auto rounded = [](std::size_t bytes) { return pages::rounded_up(bytes, SharedHeap::alignment); };
    const auto head = rounded(sizeof(SharedVersion));
    const auto list = rounded(targets_ * sizeof(SharedVersion::Copy));
    std::byte* const block = heap->allocate(head + list + (targets_ + 1) * rounded(size_));
    auto* const shared = new (block) SharedVersion;
    shared->size = size_;
    shared->accumulates = accumulates_;
    shared->copies = reinterpret_cast<SharedVersion::Copy*>(block + head);
    std::byte* bytes = block + head + list;
    shared->original = bytes;
    if (size_ != 0) std::memcpy(bytes, original_, size_);
    for (std::size_t target = 0; target < targets_; ++target)
        (new (&shared->copies[target]) SharedVersion::Copy)->bytes = bytes += rounded(size_);
    heap_ = heap;
    shared_.store(shared, std::memory_order_release);
    return *shared;
}

const std::byte* Version::copy(std::uint32_t worker) const noexcept {
    const auto* const shared = shared_.load(std::memory_order_acquire);
    if (shared == nullptr || worker >= targets_) return copies_[worker];
    const auto& copy = shared->copies[worker];
    return copy.filled_by.load(std::memory_order_acquire) == 0 ? nullptr : copy.bytes;
}

/// The worker's own thread allocates and writes it first, so that it lies near.
std::byte* Version::make_copy(std::uint32_t worker) { return copies_[worker] = copy_of(original_, size_); }

State::State(Machine& machine, std::span<const std::byte> bytes, bool accumulates)
    : bytes_(bytes.size()), accumulates_(accumulates) {
    Core& core = *machine.core_;
    machine_ = core.id();
    targets_ = static_cast<std::size_t>(core.target_count());
    workers_ = targets_ + Core::most_threads + 1;
    current_ = std::shared_ptr<Version>(new Version(bytes, 1, workers_, targets_, accumulates_), LetGo{});
    budget_ = core.resident_bytes();
    const auto before = budget_->fetch_add(bytes_);
    if (before + bytes_ > core.local_store_bytes()) {
        budget_->fetch_sub(bytes_);
        throw UsageError("resident data of " + std::to_string(bytes_) + " bytes do not fit beside the " +
                         std::to_string(before) + " bytes that are resident already: a local store holds " +
                         std::to_string(core.local_store_bytes()) +
                         "; make fewer data resident, or raise MachineOptions::local_store");
    }
}

State::~State() { budget_->fetch_sub(bytes_); }

void State::update(std::span<const std::byte> bytes) {
    if (bytes.size() != bytes_)
        throw UsageError("resident data of " + std::to_string(bytes_) + " bytes cannot be updated with " +
                         std::to_string(bytes.size()) + "; the size stays what it was");
    auto fresh = std::shared_ptr<Version>(new Version(bytes, 0, workers_, targets_, accumulates_), LetGo{});
    const std::lock_guard lock(mutex_);
    fresh->renumber(number_.load(std::memory_order_relaxed) + 1);
    current_.swap(fresh);
    number_.store(current_->number(), std::memory_order_release);
}

std::shared_ptr<Version> State::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

Version& State::begin(std::uint64_t machine) const {
    require_machine(machine);
    const std::lock_guard lock(mutex_);
    current_->uses.begin();
    return *current_;
}

bool State::begin(const Version& version) const {
    const std::lock_guard lock(mutex_);
    if (current_.get() != &version) return false;
    current_->uses.begin();
    return true;
}

void State::visit(const std::function<void(const std::byte*)>& first,
                  const std::function<void(std::uint32_t, const std::byte*)>& copy) const {
    const std::lock_guard lock(mutex_);
    if (!current_->uses.quiet())
        throw UsageError("an accumulator was collected while tasks that use it are outstanding; wait for them first");
    first(current_->bytes().data());
    for (std::uint32_t worker = 0; worker < current_->workers(); ++worker)
        if (const auto* const bytes = current_->copy(worker)) copy(worker, bytes);
}

void State::refuse_machine() {
    throw UsageError("these resident data belong to another machine; make them with the machine that runs the task");
}

}  // namespace penstock::resident
