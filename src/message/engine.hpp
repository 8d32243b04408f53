// What stands behind a Messenger: one lane in each direction to every peer, and the sends and receives under way.
//
// Sends of one peer wait in `queued` until their header is out (and, through the ring, their last byte), then in
// `offered` until the receiver has their bytes. Receives wait in `posted`, those for anybody in `posted_any_`; the
// first message of a lane goes to whichever was posted first of the two. Since nothing is matched but the source, a
// message that nobody wants yet stays in its lane.
//
// A peer on another node: its mailbox here is a shadow. What this rank writes there, it then sends (far.cpp); what the
// peer writes into this rank's mailbox comes by frames. All goes through the ring, and the headers lie with the
// receiver.
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "message/mailbox.hpp"
#include "message/segments.hpp"
#include "message/standstill.hpp"

namespace penstock::message {

/// No bytes may lie nowhere.
inline void copy_bytes(void* to, const void* from, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
}

/// Copies between this process and another by `move` (process_vm_readv, process_vm_writev). False when the other one
/// has died, of which whoever waits is told. `refuse` throws, unless it is known to have died, for an address where
/// nothing lies.
template <class Refuse>
bool copy_across(decltype(process_vm_readv)* move, pid_t process, std::byte* here, std::uintptr_t there,
                 std::uint64_t bytes, Refuse&& refuse) {
    for (std::uint64_t moved = 0; moved < bytes;) {
        const iovec own{here + moved, bytes - moved};
        const iovec other{reinterpret_cast<void*>(there + moved), bytes - moved};
        const auto count = move(process, &own, 1, &other, 1, 0);
        if (count <= 0) {
            if (count == 0 || errno != ESRCH) refuse();
            return false;
        }
        moved += static_cast<std::uint64_t>(count);
    }
    return true;
}

/// copy_bytes() for up to 32 bytes, without a call: the two halves overlap.
inline void copy_inside(void* to, const void* from, std::uint64_t bytes) {
    auto* const target = static_cast<std::byte*>(to);
    const auto* const source = static_cast<const std::byte*>(from);
    const auto ends = [&]<std::size_t half>(std::integral_constant<std::size_t, half>) {
        std::byte last[half];
        std::memcpy(last, source + bytes - half, half);
        std::memcpy(target, source, half);
        std::memcpy(target + bytes - half, last, half);
    };
    if (bytes == 8) std::memcpy(target, source, 8);
    else if (bytes >= 16) ends(std::integral_constant<std::size_t, 16>{});
    else if (bytes >= 8) ends(std::integral_constant<std::size_t, 8>{});
    else if (bytes >= 4) ends(std::integral_constant<std::size_t, 4>{});
    else
        for (std::uint64_t i = 0; i < bytes; ++i) target[i] = source[i];
}

/// One send or receive that did not end at once.
struct Operation {
    enum class State : std::uint8_t { free, queued, feeding, offered, posted, taking, done };

    State state = State::free;
    bool receives = false;
    bool in_segment = false;  ///< sends: the bytes lie in one of this rank's segments
    bool pushes = false;   ///< sends: has not begun to store what its receiver wants stored; receives: the sender has
    bool fetched = false;  ///< sends: the receiver says when it has all of it, whoever copied it
    std::uint32_t generation = 0;
    int peer = -1;                    ///< any_source for a receive from anybody that has no message yet
    std::uint64_t order = 0;          ///< receives: in which they were posted
    const std::byte* from = nullptr;  ///< sends
    std::byte* into = nullptr;        ///< receives
    std::uint64_t bytes = 0;          ///< to be sent, or room
    std::uint64_t moved = 0;          ///< through the ring
    std::uint64_t number = 0;         ///< of the record with its header
    Ticket ticket{};                  ///< sends: of that record
    std::uint32_t tag = 0;
    Status status;
    std::unique_ptr<Parcel> parcel;
    std::exception_ptr error;
};

/// The two lanes to one peer.
struct Peer {
    Producer<Envelope> producer;
    Consumer<Envelope> consumer;
    AnswerSought<Envelope> sought;                       ///< the answer to what this rank sent
    AnswerOwed<Envelope> owed;                           ///< a message of the peer that the next one to it may answer
    const std::atomic<std::uint32_t>* closed = nullptr;  ///< of its lane: it exchanges nothing more with this rank
    bool quick = false;                                  ///< attached and not spoilt: the short ways may be taken
    bool attached = false;
    bool answer_due = false;         ///< something short was sent to it, and nothing short received from it since
    bool answers = false;            ///< short messages to it may be answered in their own header
    bool stores = false;             ///< this process may write the peer's memory
    team::FarMemory* far = nullptr;  ///< its mailbox, where it is on another node
    bool mourned = false;            ///< a receive from anybody has told that nothing can be expected of it
    std::exception_ptr spoilt;
    std::byte* exchange_out = nullptr;  ///< the buffer for what asks it and the answers; null: these fit the header
    std::byte* exchange_in = nullptr;   ///< the buffer for what it asks

    RingWriter<std::byte> writer;
    RingReader<std::byte> reader;
    std::deque<std::uint32_t> queued;
    std::deque<std::uint32_t> offered;
    std::deque<std::uint32_t> posted;
    std::optional<std::uint32_t> taking;  ///< the receive whose message is under way
    Envelope header{};                    ///< of that message, as it was when it was looked at first
    bool takes_answer = false;            ///< that message is an answer
    std::uint64_t fetched = 0;            ///< number of the last message that was claimed for fetching

    RankMemory memory;
    Mailbox box;                                   ///< the peer's
    std::map<std::uint64_t, RankMemory> segments;  ///< the peer's, those that were accepted
    int process = 0;
};

class Engine {
  public:
    Engine(Rank me, MessengerOptions options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    Rank rank() const noexcept { return me_; }
    const MessengerOptions& options() const noexcept { return options_; }
    /// Ranks that are near share memory.
    bool threads() const noexcept { return me_.substrate() != Substrate::processes; }
    /// Are vectors handed over to it as they are?
    bool hands_over(int to) const noexcept { return to == me_.index() || (threads() && !me_.elsewhere(to)); }

    /// Sends what fits into the header, or goes whole into the ring, if that can be done at once.
    bool send_short(int to, std::span<const std::byte> bytes, std::uint32_t tag) {
        if (bytes.size() > longest_short_ || !known(to)) return false;
        Peer& peer = peers_[static_cast<unsigned>(to)];
        if (!peer.quick || !peer.queued.empty() || over(to)) return false;
        if (!(bytes.size() <= bytes_inside ? put_inside(peer, bytes, tag) : put_whole(peer, bytes, tag))) return false;
        peer.answer_due = true;
        me_.wake(to);
        return true;
    }

    /// Receives what send_short() sent, if it is the next message of `from` and comes soon.
    bool receive_short(int from, std::span<std::byte> into, Status& status) {
        if (live_ != 0 || !known(from)) return false;
        Peer& peer = peers_[static_cast<unsigned>(from)];
        if (!peer.quick) return false;
        peer.owed.complete(peer.consumer);
        // An answer comes later than a few looks, and each bare look that comes while it is written moves its line once
        // more. In a stream of messages that go one way the next one is there, or about to be.
        const int bare_looks = std::exchange(peer.answer_due, false) ? 0 : hot_spin;
        for (int looks = 0; looks < short_spin; ++looks) {
            if (const Envelope* answer = peer.sought.look()) {
                if (to_take_before(*answer, peer) != 0 || !copy_out(from, *answer, peer.exchange_out, into, status))
                    return false;
                peer.sought.taken(peer.producer);
                return true;
            }
            if (auto* record = peer.consumer.front()) {
                if (peer.sought.look()) continue;  // it may be the older of the two
                const Way way = record->payload.way;
                if (way == Way::ring_whole) return take_whole(from, peer, record->payload, into, status);
                std::byte* const exchange = way == Way::asking ? peer.exchange_in : nullptr;
                if (!is_inside(way) || !copy_out(from, record->payload, exchange, into, status)) return false;
                took(from, peer, *record, way);
                return true;
            }
            if (looks >= bare_looks) relax();
        }
        return false;
    }

    /// Starts a send or receive; it may be done at once. Throws for a rank that does not exist or cannot be reached.
    std::uint32_t start_send(int to, std::span<const std::byte> bytes, std::uint32_t tag,
                             std::unique_ptr<Parcel> parcel = nullptr);
    std::uint32_t start_receive(int from, std::span<std::byte> into);

    /// Made when it is first asked for.
    const std::shared_ptr<Segments>& segments() {
        if (!segments_) segments_ = std::make_shared<Segments>(me_, options_.name);
        return segments_;
    }

    Operation& operation(std::uint32_t index) { return operations_[index]; }
    /// Is this operation still to be collected?
    bool stands_for(std::uint32_t index, std::uint32_t generation) const noexcept {
        return index < operations_.size() && operations_[index].generation == generation &&
               operations_[index].state != Operation::State::free;
    }
    /// Waits until the operation is done. False when `limit` passed first.
    bool await(std::uint32_t index, std::chrono::nanoseconds limit = std::chrono::nanoseconds::max());
    /// What became of it; forgets it.
    Status collect(std::uint32_t index);
    /// Waits until it is done and collects it. When the wait is interrupted the operation is over all the same.
    Status collect_when_done(std::uint32_t index);
    /// Waits for all operations, or those of one peer, and collects them. Throws the first error when all are done.
    void finish_all(std::optional<int> peer);
    /// Moves on whatever can be moved on.
    void progress();
    /// What stands first in the lane from `from`, or from anybody, and nobody wants yet. To be asked after progress().
    std::optional<Status> unclaimed(int from);
    Status probe(int from);
    std::unique_ptr<Parcel> take_parcel(int from, const std::type_info& type);
    void check(int rank) const {
        if (!known(rank)) throw NoSuchRank(rank, me_.size());
    }

  private:
    struct SelfMessage {
        std::uint32_t tag;
        std::unique_ptr<Parcel> parcel;
    };
    static constexpr int short_spin = 512;
    static constexpr int hot_spin = 256;  ///< looks without a pause, which may cost as much as the transfer

    bool known(int rank) const noexcept { return static_cast<unsigned>(rank) < static_cast<unsigned>(me_.size()); }
    Peer& peer(int rank) { return peers_[static_cast<unsigned>(rank)]; }
    static bool is_inside(Way way) noexcept { return way == Way::inside || way == Way::asking; }
    static void write_header(Envelope& envelope, Way way, std::uint64_t bytes, std::uint32_t tag) {
        envelope.bytes = bytes;
        envelope.tag = tag;
        envelope.way = way;
    }
    static void write_inside(Envelope& envelope, Way way, std::span<const std::byte> bytes, std::uint32_t tag) {
        write_header(envelope, way, bytes.size(), tag);
        copy_inside(envelope.words.data(), bytes.data(), bytes.size());
    }
    /// Sends in a header of its own, or in the one that waits for an answer. False when there is no room.
    static bool put_inside(Peer& peer, std::span<const std::byte> bytes, std::uint32_t tag) {
        if (peer.owed.holds()) {
            write_inside(peer.owed.payload(), Way::answer, bytes, tag);
            complete_with_answer(peer);
            return true;
        }
        auto* record = peer.producer.reserve();
        if (!record) return false;
        const bool asks = peer.sought.may_ask(*record, peer.answers && peer.producer.known_empty());
        write_inside(record->payload, asks ? Way::asking : Way::inside, bytes, tag);
        const auto ticket = peer.producer.publish();
        if (asks) peer.sought.asked(*record, ticket);
        return true;
    }
    /// Completes the message that is held with what was written over it.
    static void complete_with_answer(Peer& peer) {
        peer.owed.payload().before = static_cast<std::uint16_t>(peer.producer.issued());
        peer.owed.complete(peer.consumer);
    }
    /// How many messages that its sender sent before an answer have not been taken yet.
    static std::uint16_t to_take_before(const Envelope& answer, const Peer& peer) noexcept {
        return static_cast<std::uint16_t>(answer.before - (peer.consumer.next() - 1));
    }
    /// Copies what came in a header, or in the exchange buffer behind it (null: in none), if it is what fits there and
    /// into the receiver's memory.
    static bool copy_out(int from, const Envelope& envelope, std::byte* exchange, std::span<std::byte> into,
                         Status& status) {
        const auto bytes = envelope.bytes;
        if (bytes > into.size()) return false;
        if (bytes <= bytes_inside) {
            copy_inside(into.data(), envelope.words.data(), bytes);
        } else {
            if (exchange == nullptr || bytes > exchange_bytes) return false;
            copy_exchange(into.data(), exchange, bytes);
        }
        status = {from, bytes, envelope.tag};
        return true;
    }
    /// The lines are asked for together, for writing: what this rank sends next goes there, too.
    static void copy_exchange(std::byte* into, std::byte* exchange, std::uint64_t bytes) {
        for (std::uint64_t line = 0; line < bytes; line += 64) prefetch_write(exchange + line);
        std::memcpy(into, exchange, bytes);
    }
    /// The front of this peer's channel, whose header had this way, was taken: it completes now, or with the answer to
    /// it.
    void took(int from, Peer& peer, Record<Envelope>& front, Way way) {
        if (way == Way::asking) return peer.owed.hold(front);
        peer.consumer.complete();
        me_.wake(from);
    }

    // lanes (engine.cpp)
    void attach(int rank, std::chrono::nanoseconds within = {});
    StandstillWords* standstill_of(int rank);
    void find_out_what_may_be_copied(Peer& peer, int rank);
    std::uint32_t make_operation();
    void done(Operation& operation);
    void fail(std::uint32_t index, std::exception_ptr error);
    void spoil(int rank, std::exception_ptr error);
    void judge(std::uint32_t index, bool forever);
    void judge_any(std::uint32_t index);
    std::exception_ptr lost(int rank);
    /// This rank takes and sends no more messages. What it sent before may still be there. Two loads of what hardly
    /// ever changes.
    bool over(int rank) const {
        const Peer& peer = peers_[static_cast<unsigned>(rank)];
        return me_.gone(rank) || (peer.closed != nullptr && peer.closed->load(std::memory_order_acquire) != 0);
    }
    template <class Step>
    bool or_spoil(int rank, Step&& step);
    bool receive(int rank, Peer& peer);
    void progress_of(int rank);
    bool awaits_one_lane(const Operation& operation) const noexcept { return live_ == 1 && operation.peer >= 0; }
    void withdraw_from(int rank);
    void refuse_address(int rank, const char* what, std::uintptr_t address) const;
    void close(int rank);
    void give_up(std::uint32_t index, std::exception_ptr error);
    void abandon(std::uint32_t index) noexcept;

    // sending (sending.cpp)
    Way way_of(const Peer& peer, const Operation& operation) const;
    bool may_be_fetched(const Peer& peer) const noexcept {
        return peer.box.lane(me_.index()).can_fetch.load(std::memory_order_acquire) == 1;
    }
    static bool put_whole(Peer& peer, std::span<const std::byte> bytes, std::uint32_t tag);
    bool begin(int to, Peer& peer, std::uint32_t index);
    bool start(int to, Peer& peer, Operation& operation);
    bool feed(int to, Peer& peer, Operation& operation);
    bool store(int to, Peer& peer, Operation& operation);
    void move_out(int to, Peer& peer);
    void send_to_self(Operation& operation);

    // to peers on other nodes (far.cpp)
    void adopt(Peer& peer, int rank);
    static void put_bytes_far(const Peer& peer, const std::byte* cell, std::uint64_t bytes);
    void put_header_far(const Peer& peer) const;
    void put_filled_far(const Peer& peer) const;
    void put_freed_far(const Peer& peer) const;
    void put_taken_far(const Peer& peer) const;
    void check_far(int from, const Peer& peer, const Envelope& header) const;

    // receiving (receiving.cpp)
    struct Incoming {
        const Envelope* envelope = nullptr;
        bool is_answer = false;
        explicit operator bool() const noexcept { return envelope != nullptr; }
    };
    Incoming first(int from, Peer& peer);
    static Record<Envelope>& front_of(int from, Peer& peer);
    static void check_size(int from, const Peer& peer, const Envelope& header);
    std::optional<std::uint32_t> wanted(Peer& peer) const;
    bool move_in(int from, Peer& peer);
    bool take(int from, Peer& peer);
    bool take_pieces(int from, Peer& peer, Operation& operation);
    bool take_whole(int from, Peer& peer, Envelope header, std::span<std::byte> into, Status& status);
    bool begin_fetch(Peer& peer, const Operation& operation);
    bool fetch_part(int from, const Peer& peer, const Operation& operation, std::uint64_t first, std::uint64_t last);
    bool fetch(int from, Peer& peer, Operation& operation);
    bool take_halves(int from, Peer& peer, Operation& operation);
    bool pushed(int from, const Operation& operation) const noexcept {
        return box_.lane(from).inward.pushed.load(std::memory_order_acquire) >= operation.number;
    }
    const std::byte* in_segment(int from, Peer& peer, const Envelope& header);
    void offer_place(int from, Peer& peer, Operation& operation, std::uint64_t bytes);
    void finish(int from, Peer& peer, Operation& operation);
    void deliver(int from, Operation& operation, const Envelope& header);
    bool receive_from_self();

    Rank me_;
    MessengerOptions options_;
    std::uint64_t longest_whole_;  ///< message that goes into the ring whole
    std::uint64_t longest_short_;  ///< that send_short() takes
    RankMemory memory_;
    Mailbox box_;                         ///< this rank's own
    std::shared_ptr<Segments> segments_;  ///< shared with what was allotted from them
    std::vector<Peer> peers_;
    std::deque<Operation> operations_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> posted_any_;
    std::deque<SelfMessage> to_self_;
    Standstill standstill_;
    std::uint64_t moved_ = 0;  ///< counts all that was sent or received, in whole or in part
    std::uint64_t order_ = 0;
    std::size_t live_ = 0;  ///< operations that are not done
    int next_any_ = 0;      ///< whose turn it is with receives from anybody
};

}  // namespace penstock::message
