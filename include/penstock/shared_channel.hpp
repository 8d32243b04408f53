// channel layer: a channel between two processes, in a mapping that both have.
//
// The hand-off is the one of channel.hpp. This file adds what two processes need: a layout that the attaching side
// validates, ends that are open or closed, parking on doorbells in the mapping, and the death of the peer as a typed
// error. A record becomes visible by one store, so a producer that is killed at any instruction leaves whole records or
// none.
//
//     auto channel = SharedChannel<Block>::create(64);              // in the parent
//     SharedProducer producer(std::move(channel));                  // takes the producing end
//     ...
//     SharedConsumer consumer(SharedChannel<Block>::attach(fd));    // in the child, which got descriptor()
//     while (auto block = consumer.receive()) { use(*block); consumer.complete(); }
//
// Against accidents, not against enemies (contract 19): the memory stays writable for both. What is read from it is
// checked or harmless (contract 20): the layout is copied once, payloads are copied out before use, counters are
// compared with what was issued.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "penstock/channel.hpp"
#include "penstock/error.hpp"
#include "penstock/memory.hpp"
#include "penstock/peer.hpp"
#include "penstock/relax.hpp"
#include "penstock/waiter.hpp"

namespace penstock {

/// The memory is not a channel of this kind: another version, payload, capacity, or not a channel at all.
class InvalidChannel : public Error {
  public:
    InvalidChannel(const std::string& field, std::uint64_t expected, std::uint64_t actual);
    const std::string& field() const noexcept { return field_; }
    std::uint64_t expected() const noexcept { return expected_; }
    std::uint64_t actual() const noexcept { return actual_; }

  private:
    std::string field_;
    std::uint64_t expected_;
    std::uint64_t actual_;
};

/// The consumer closed its end, so nobody will take what is sent.
class PeerClosed : public Error {
  public:
    PeerClosed();
};

/// Nobody has taken the other end within the time that the options give.
class PeerMissing : public Error {
  public:
    explicit PeerMissing(std::chrono::nanoseconds waited);
    std::chrono::nanoseconds waited() const noexcept { return waited_; }

  private:
    std::chrono::nanoseconds waited_;
};

namespace shared_channel {

inline constexpr std::uint64_t magic = 0x314e4e4843534e50;  // "PNSCHNN1"
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t largest_capacity = 1u << 20;

enum class EndState : std::uint32_t { free, opening, open, closed };

/// One end of the channel: who has it and where it sleeps. Written by that end, read by the other; the bell by both.
struct alignas(128) End {
    std::atomic<std::uint32_t> state{0};  ///< EndState
    std::uint32_t fenced = 0;             ///< 1: a barrier over processes reaches this process
    PeerIdentity owner;                ///< valid once state says open
    Doorbell bell;
};

/// What the mapping starts with. The first line is written once, at creation.
struct alignas(128) Header {
    std::uint64_t magic = shared_channel::magic;
    std::uint32_t version = shared_channel::version;
    std::uint32_t capacity = 0;
    std::uint32_t payload_size = 0;
    std::uint32_t record_size = 0;
    Initiation initiation = Initiation::push;
    End producer;
    End consumer;
    Credits<> credits;
    Bell<> bell;
};

/// Bytes of a channel.
std::size_t size_of(std::uint32_t capacity, std::uint32_t record_size);
/// Writes the header. Throws UsageError for a capacity that is no power of two or too large.
SharedMemory create(std::uint32_t capacity, Initiation initiation, std::uint32_t payload_size,
                    std::uint32_t record_size);
/// Checks everything that the header says against this program and the size of the memory. Throws InvalidChannel.
void validate(const SharedMemory& memory, std::uint32_t payload_size, std::uint32_t record_size);

/// This process's side of a channel: takes an end, waits on it, watches who has the other.
class Side {
  public:
    enum Role { producing, consuming };

    /// Takes one end. Throws UsageError when it was taken before: an end is used once.
    Side(SharedMemory memory, Role role, std::chrono::nanoseconds attach_within);
    ~Side();
    Side(Side&& other) noexcept;
    Side& operator=(Side&&) = delete;

    void close() noexcept;
    void ring_other() noexcept { ring(other_->bell); }

    /// Waits until `poll()`; false when the peer closed its end first. Throws PeerDied within about 20 ms of the death,
    /// PeerMissing when nobody took the other end in time. What the peer published before either is seen first.
    template <class Poll>
    bool wait(Poll&& poll) {
        for (int looks = 0; looks < 2'000; ++looks) {
            if (poll()) return true;
            relax();
        }
        const auto since = std::chrono::steady_clock::now();
        for (;;) {
            const bool closed = look_at_peer(since);
            if (poll()) return true;
            if (watch_.dead_seen()) throw watch_.obituary();
            if (closed) return false;
            bool fenced = false;
            if (Parking(own_->bell.parked).park([&] { fenced = barrier(); }, poll, [&] { sleep(fenced); })) return true;
        }
    }

  private:
    bool look_at_peer(std::chrono::steady_clock::time_point since);
    bool barrier() const noexcept;
    void sleep(bool fenced) noexcept;

    SharedMemory memory_;
    End* own_ = nullptr;
    End* other_ = nullptr;
    std::chrono::nanoseconds attach_within_;
    PeerWatch watch_;
};

}  // namespace shared_channel

/// How long a wait goes on while nobody has taken the other end yet.
inline constexpr std::chrono::nanoseconds default_attach_within = std::chrono::seconds{10};

/// The memory of a channel of which no end is taken yet by this object. Moved, not copied.
template <class Payload>
class SharedChannel {
    static_assert(std::is_trivially_copyable_v<Payload>, "what processes share must be copied byte by byte");

  public:
    using RecordType = Record<Payload>;

    /// A new channel of `capacity` records (a power of two, 1 to 2^20). Throws UsageError, SystemError.
    static SharedChannel create(std::uint32_t capacity, Initiation initiation = Initiation::push) {
        return SharedChannel(shared_channel::create(capacity, initiation, sizeof(Payload), sizeof(RecordType)));
    }

    /// The channel behind a descriptor from another process; takes the descriptor over. Throws InvalidChannel,
    /// InvalidSharedMemory, SystemError.
    static SharedChannel attach(int descriptor) {
        auto memory = SharedMemory::adopt(descriptor, sizeof(shared_channel::Header));
        shared_channel::validate(memory, sizeof(Payload), sizeof(RecordType));
        return SharedChannel(std::move(memory));
    }

    /// To be sent to the peer; stays owned by this object.
    int descriptor() const noexcept { return memory_.descriptor(); }
    /// A descriptor of the caller's own.
    int duplicate_descriptor() const { return memory_.duplicate_descriptor(); }

  private:
    template <class>
    friend class SharedProducer;
    template <class>
    friend class SharedConsumer;

    explicit SharedChannel(SharedMemory memory) : memory_(std::move(memory)) {
        auto& header = this->header();
        parts_ = {reinterpret_cast<RecordType*>(memory_.data() + sizeof header), &header.credits, &header.bell,
                  header.capacity, header.initiation};
    }
    shared_channel::Header& header() noexcept { return *reinterpret_cast<shared_channel::Header*>(memory_.data()); }

    SharedMemory memory_;
    ChannelParts<Payload> parts_;
};

/// The producing end. Used by one thread at a time. Closes at destruction.
template <class Payload>
class SharedProducer {
  public:
    explicit SharedProducer(SharedChannel<Payload> channel, Completion completion = Completion::automatic,
                            std::chrono::nanoseconds attach_within = default_attach_within)
        : capacity_(channel.parts_.capacity),
          producer_(channel.parts_, channel.parts_.capacity, completion),
          side_(std::move(channel.memory_), shared_channel::Side::producing, attach_within) {}

    /// Sends where there is room. Costs one line and the load of one cached flag. Throws InvalidChannel when the peer
    /// claims to have completed what was never sent.
    std::optional<Ticket> try_send(const Payload& payload) {
        auto* record = producer_.reserve();
        if (producer_.claimed() != 0) [[unlikely]]
            throw InvalidChannel("number of completed records", producer_.issued(), producer_.claimed());
        if (!record) return std::nullopt;
        record->payload = payload;
        const auto ticket = producer_.publish();
        side_.ring_other();
        return ticket;
    }

    /// Waits for room and sends. Throws PeerDied, PeerMissing, and PeerClosed when the consumer has closed.
    Ticket send(const Payload& payload) {
        std::optional<Ticket> ticket;
        if (!side_.wait([&] { return (ticket = try_send(payload)).has_value(); })) throw PeerClosed();
        return *ticket;
    }

    bool complete(Ticket ticket) { return producer_.complete(ticket); }

    /// Waits until everything sent is complete. Throws as send().
    void drain() {
        if (!side_.wait([&] { return producer_.drained(); })) throw PeerClosed();
    }

    /// No more will be sent. The consumer still receives what was.
    void close() noexcept { side_.close(); }

  private:
    std::uint32_t capacity_;
    Producer<Payload> producer_;
    shared_channel::Side side_;
};

/// The consuming end. Used by one thread at a time. Closes at destruction.
template <class Payload>
class SharedConsumer {
  public:
    explicit SharedConsumer(SharedChannel<Payload> channel,
                            std::chrono::nanoseconds attach_within = default_attach_within)
        : consumer_(channel.parts_),
          side_(std::move(channel.memory_), shared_channel::Side::consuming, attach_within) {}

    /// A copy of the next record, if one is there. complete() must follow before the next one is asked for.
    std::optional<Payload> try_receive() {
        auto* record = consumer_.front();
        if (!record) return std::nullopt;
        return record->payload;
    }

    /// Waits for the next record; nothing when the producer has closed and all was received. Throws PeerMissing, and
    /// PeerDied once everything that the dead producer had published was received.
    std::optional<Payload> receive() {
        std::optional<Payload> payload;
        side_.wait([&] { return (payload = try_receive()).has_value(); });
        return payload;
    }

    /// Completes what was received last: its slot is free, and its sender may see so.
    void complete() noexcept {
        consumer_.complete();
        side_.ring_other();
    }

    void close() noexcept { side_.close(); }

  private:
    Consumer<Payload> consumer_;
    shared_channel::Side side_;
};

}  // namespace penstock
