#include "penstock/shared_channel.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <new>
#include <string>

namespace penstock {

InvalidChannel::InvalidChannel(const std::string& field, std::uint64_t expected, std::uint64_t actual)
    : Error("this is not a channel that can be used here: its " + field + " is " + std::to_string(actual) + " where " +
            std::to_string(expected) + " was expected; build both processes from the same sources"),
      field_(field),
      expected_(expected),
      actual_(actual) {}

PeerClosed::PeerClosed()
    : Error("the consumer has closed its end of the channel: stop sending, or make a new channel") {}

PeerMissing::PeerMissing(std::chrono::nanoseconds waited)
    : Error("nobody has taken the other end of the channel for " + std::to_string(waited.count() / 1'000'000) +
            " ms; check that the peer was started and got the descriptor, or allow it more time"),
      waited_(waited) {}

namespace shared_channel {
namespace {

/// Lets barriers that other processes issue reach this one. False where the kernel cannot.
bool accept_barriers() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0; }

void expect(const char* field, std::uint64_t expected, std::uint64_t actual) {
    if (expected != actual) throw InvalidChannel(field, expected, actual);
}

bool is_capacity(std::uint32_t capacity) { return std::has_single_bit(capacity) && capacity <= largest_capacity; }

}  // namespace

std::size_t size_of(std::uint32_t capacity, std::uint32_t record_size) {
    return sizeof(Header) + std::size_t{capacity} * record_size;
}

SharedMemory create(std::uint32_t capacity, Initiation initiation, std::uint32_t payload_size,
                    std::uint32_t record_size) {
    if (!is_capacity(capacity))
        throw UsageError("the capacity of a channel must be a power of two from 1 to " +
                         std::to_string(largest_capacity) + ", but " + std::to_string(capacity) + " was asked for");
    auto memory = SharedMemory::create("penstock-channel", size_of(capacity, record_size));
    auto* header = new (memory.data()) Header;
    header->capacity = capacity;
    header->initiation = initiation;
    header->payload_size = payload_size;
    header->record_size = record_size;
    return memory;  // the records are zero, which is what a record that never carried anything is
}

void validate(const SharedMemory& memory, std::uint32_t payload_size, std::uint32_t record_size) {
    const auto& header = *reinterpret_cast<const Header*>(memory.data());
    expect("magic number", magic, header.magic);
    expect("version", version, header.version);
    expect("size of a payload", payload_size, header.payload_size);
    expect("size of a record", record_size, header.record_size);
    const auto initiation = static_cast<std::uint8_t>(header.initiation);
    if (initiation > static_cast<std::uint8_t>(Initiation::pull))
        throw InvalidChannel("way of initiation", static_cast<std::uint8_t>(Initiation::pull), initiation);
    const auto capacity = header.capacity;
    if (!is_capacity(capacity)) throw InvalidChannel("capacity", largest_capacity, capacity);
    if (memory.size() < size_of(capacity, record_size))
        throw InvalidChannel("size in bytes", size_of(capacity, record_size), memory.size());
}

Side::Side(SharedMemory memory, Role role, std::chrono::nanoseconds attach_within)
    : memory_(std::move(memory)), attach_within_(attach_within) {
    auto& header = *reinterpret_cast<Header*>(memory_.data());
    auto& own = role == producing ? header.producer : header.consumer;
    const auto identity = PeerIdentity::of_this_process();  // before taking: who dies in between would not be missed
    auto expected = static_cast<std::uint32_t>(EndState::free);
    const auto opening = static_cast<std::uint32_t>(EndState::opening);
    if (!own.state.compare_exchange_strong(expected, opening, std::memory_order_acquire))
        throw UsageError("this end of the channel was taken before; each end is taken once, make a new channel");
    own.owner = identity;
    own.fenced = accept_barriers() ? 1 : 0;
    own.state.store(static_cast<std::uint32_t>(EndState::open), std::memory_order_release);
    own_ = &own;
    other_ = role == producing ? &header.consumer : &header.producer;
    ring_other();
}

Side::Side(Side&& other) noexcept
    : memory_(std::move(other.memory_)),
      own_(std::exchange(other.own_, nullptr)),
      other_(other.other_),
      attach_within_(other.attach_within_),
      watch_(std::move(other.watch_)) {}

Side::~Side() { close(); }

void Side::close() noexcept {
    if (own_ == nullptr) return;
    own_->state.store(static_cast<std::uint32_t>(EndState::closed), std::memory_order_release);
    ring_other();
}

/// True when the peer has closed. Starts to watch it once it has opened.
bool Side::look_at_peer(std::chrono::steady_clock::time_point since) {
    switch (static_cast<EndState>(other_->state.load(std::memory_order_acquire))) {
        case EndState::closed:
            return true;
        case EndState::open:
            if (!watch_.watching()) watch_ = PeerWatch(other_->owner);
            watch_.dead();
            return false;
        default:
            if (const auto waited = std::chrono::steady_clock::now() - since; waited > attach_within_)
                throw PeerMissing(waited);
            return false;
    }
}

/// A fence on every running thread of the peer's process, which private membarriers do not reach.
bool Side::barrier() const noexcept {
    if (other_->state.load(std::memory_order_acquire) != static_cast<std::uint32_t>(EndState::open) ||
        other_->fenced != 1)
        return false;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void Side::sleep(bool fenced) noexcept {
    // Bounded in any case: a peer that dies rings nobody.
    waiting::sleep_on(own_->bell, std::chrono::milliseconds{fenced ? 20 : 1});
}

}  // namespace shared_channel
}  // namespace penstock
