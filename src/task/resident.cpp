#include "penstock/resident.hpp"

#include <new>
#include <string>

#include "penstock/error.hpp"
#include "task/core.hpp"

namespace penstock::resident {
namespace {

constexpr std::align_val_t alignment{LocalStore::alignment};

std::byte* copy_of(const std::byte* bytes, std::size_t size) {
    auto* const copy = static_cast<std::byte*>(::operator new(size == 0 ? 1 : size, alignment));
    if (size != 0) std::memcpy(copy, bytes, size);
    return copy;
}

}  // namespace

Version::Version(std::span<const std::byte> bytes, std::uint64_t number, std::size_t workers)
    : number_(number), size_(bytes.size()), original_(nullptr), copies_(workers, nullptr) {
    original_ = copy_of(bytes.data(), bytes.size());
}

Version::~Version() {
    ::operator delete(original_, alignment);
    for (auto* const copy : copies_)
        if (copy != nullptr) ::operator delete(copy, alignment);
}

/// The worker's own thread allocates and writes it first, so that it lies near.
std::byte* Version::make_copy(std::uint32_t worker) { return copies_[worker] = copy_of(original_, size_); }

State::State(Machine& machine, std::span<const std::byte> bytes) : bytes_(bytes.size()) {
    Core& core = *machine.core_;
    machine_ = core.id();
    workers_ = static_cast<std::size_t>(core.target_count()) + Core::most_threads + 1;
    current_ = std::shared_ptr<Version>(new Version(bytes, 1, workers_), LetGo{});
    budget_ = core.resident_bytes();
    const auto before = budget_->fetch_add(bytes_);
    if (before + bytes_ > core.local_store_bytes()) {
        budget_->fetch_sub(bytes_);
        throw UsageError("resident data of " + std::to_string(bytes_) + " bytes do not fit beside the " + std::to_string(before) +
                         " bytes that are resident already: a local store holds " + std::to_string(core.local_store_bytes()) +
                         "; make fewer data resident, or raise MachineOptions::local_store");
    }
}

State::~State() { budget_->fetch_sub(bytes_); }

void State::update(std::span<const std::byte> bytes) {
    if (bytes.size() != bytes_)
        throw UsageError("resident data of " + std::to_string(bytes_) + " bytes cannot be updated with " + std::to_string(bytes.size()) +
                         "; the size stays what it was");
    auto fresh = std::shared_ptr<Version>(new Version(bytes, 0, workers_), LetGo{});
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
