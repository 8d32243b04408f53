// The sender's half of every protocol.
#include <algorithm>
#include <cstring>

#include "message/engine.hpp"
#include "penstock/store_way.hpp"

namespace penstock::message {
namespace {

/// A long message goes through the ring in pieces of this size, so that both copies run at the same time in nearby
/// caches.
constexpr std::uint64_t piece_bytes = 8192;
/// From here on, sender and receiver copy half of a message each, straight from one user's memory to the other's.
constexpr std::uint64_t shortest_in_halves = 64 * 1024;

/// The receiver has read these lines a round ago. (64 B took 0.9 to 1.1 of the time with their line asked for first,
/// 1 KiB 0.8, and a stream of 1 MiB in pieces 0.75.)
void store_in_ring(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (bytes < 512) copy_bytes(to, from, bytes);
    else store_bytes(to, from, bytes, StoreWay::plain);
}

}  // namespace

Way Engine::way_of(const Peer& peer, const Operation& operation) const {
    if (operation.parcel) return Way::parcel;
    if (operation.bytes <= bytes_inside) return Way::inside;
    const auto through_ring = operation.bytes <= longest_whole_ ? Way::ring_whole : Way::ring_pieces;
    if (peer.far != nullptr) return through_ring;
    switch (options_.protocol) {
        case Protocol::automatic:
            // Two copies that overlap are faster than one by the kernel, which looks up every page.
            if (through_ring == Way::ring_whole) break;
            if (operation.in_segment) return Way::segment;
            if (operation.bytes >= shortest_in_halves && (threads() || (peer.stores && may_be_fetched(peer))))
                return Way::halves;
            if (threads()) return Way::pull;
            break;
        case Protocol::pull:
        case Protocol::pure_pull:
            if (operation.in_segment) return Way::segment;
            if (threads() || may_be_fetched(peer)) return Way::pull;
            break;
        case Protocol::push:
            if (threads() || peer.stores) return Way::push;
            break;
        case Protocol::ring:
            break;
    }
    return through_ring;
}

std::uint32_t Engine::start_send(int to, std::span<const std::byte> bytes, std::uint32_t tag,
                                 std::unique_ptr<Parcel> parcel) {
    check(to);
    if (to != me_.index()) {
        if (peer(to).spoilt) std::rethrow_exception(peer(to).spoilt);
        if (!peer(to).attached) attach(to);
        if (over(to)) std::rethrow_exception(lost(to));
        if (me_.far() != nullptr) me_.far()->release(to);
    }
    const auto index = make_operation();
    Operation& operation = operations_[index];
    operation.state = Operation::State::queued;
    operation.receives = false;
    operation.peer = to;
    operation.from = bytes.data();
    operation.bytes = parcel ? parcel->bytes : bytes.size();
    operation.tag = tag;
    operation.parcel = std::move(parcel);
    operation.in_segment = !threads() && segments_ && segments_->find(operation.from, operation.bytes).has_value();
    operation.status = {to, operation.bytes, tag};
    try {
        if (to == me_.index()) {
            send_to_self(operation);
        } else {
            peer(to).queued.push_back(index);
            progress_of(to);
        }
    } catch (...) {  // no memory for the copy; an interruption
        abandon(index);
        throw;
    }
    return index;
}

void Engine::send_to_self(Operation& operation) {
    if (!operation.parcel)
        operation.parcel = std::make_unique<VectorParcel<std::byte>>(
            std::vector<std::byte>(operation.from, operation.from + operation.bytes));
    to_self_.push_back({operation.tag, std::move(operation.parcel)});
    done(operation);
    receive_from_self();
}

void Engine::move_out(int to, Peer& peer) {
    while (!peer.offered.empty()) {
        Operation& operation = operations_[peer.offered.front()];
        const bool stored = operation.pushes && store(to, peer, operation);
        if (!(stored && !operation.fetched) && !peer.producer.complete(operation.ticket)) break;
        done(operation);
        peer.offered.pop_front();
    }
    while (!peer.queued.empty()) {
        const auto index = peer.queued.front();
        Operation& operation = operations_[index];
        if (operation.state == Operation::State::queued && !begin(to, peer, index)) break;
        if (operation.state == Operation::State::feeding && !feed(to, peer, operation)) break;
        if (operation.state != Operation::State::offered) done(operation);
        peer.queued.pop_front();
    }
    if (peer.producer.claimed() != 0)
        throw InvalidMessage(to, "number of messages taken", peer.producer.issued(), peer.producer.claimed());
    if (peer.writer.broken())
        throw InvalidMessage(to, "count of bytes freed", peer.writer.position(), peer.writer.position() + 1);
}

/// As start(). What the receiver may then copy from stands in `offered` before its header is out: nothing is refused
/// from there on, and whoever leaves takes it back.
bool Engine::begin(int to, Peer& peer, std::uint32_t index) {
    const Operation& operation = operations_[index];
    peer.offered.push_back(index);
    try {
        start(to, peer, operations_[index]);
    } catch (...) {
        peer.offered.pop_back();
        throw;
    }
    if (operation.state != Operation::State::offered) peer.offered.pop_back();
    return operation.state != Operation::State::queued;
}

/// Writes a message that does not fit a header into the exchange buffer, if it answers or may be answered, else into
/// the ring, and publishes it by its header. False when there is no room. The header is written last: its line is the
/// one that the receiver polls.
bool Engine::put_whole(Peer& peer, std::span<const std::byte> bytes, std::uint32_t tag) {
    if (peer.exchange_in != nullptr && peer.owed.holds()) {
        std::memcpy(peer.exchange_in, bytes.data(), bytes.size());
        write_header(peer.owed.payload(), Way::answer, bytes.size(), tag);
        complete_with_answer(peer);
        return true;
    }
    auto* record = peer.producer.reserve();
    if (!record) return false;
    // An answer that stands in the record is set aside.
    if (peer.sought.may_ask(*record, peer.exchange_out != nullptr && peer.producer.known_empty())) {
        std::memcpy(peer.exchange_out, bytes.data(), bytes.size());
        write_header(record->payload, Way::asking, bytes.size(), tag);
        peer.sought.asked(*record, peer.producer.publish());
        return true;
    }
    if (peer.writer.room(bytes.size()) < bytes.size()) return false;
    const auto position = peer.writer.position();
    peer.writer.write(bytes.size(), [&](std::byte* cell, std::uint64_t offset, std::uint64_t count) {
        store_in_ring(cell, bytes.data() + offset, count);
        if (peer.far != nullptr) put_bytes_far(peer, cell, count);
    });
    write_header(record->payload, Way::ring_whole, bytes.size(), tag);
    record->payload.words[0] = position;
    peer.producer.publish();
    return true;
}

/// Sends the header, and with it what goes along with it. False when there is no room now.
bool Engine::start(int to, Peer& peer, Operation& operation) {
    const Way way = way_of(peer, operation);
    if (const std::span bytes{operation.from, operation.bytes}; way == Way::inside || way == Way::ring_whole) {
        if (!(way == Way::inside ? put_inside(peer, bytes, operation.tag) : put_whole(peer, bytes, operation.tag)))
            return false;
        if (peer.far != nullptr) put_header_far(peer);
        operation.state = Operation::State::done;
        ++moved_;
        me_.wake(to);
        return true;
    }
    if (way == Way::segment) segments_->grant(segments_->find(operation.from, operation.bytes)->number, to);
    auto* record = peer.producer.reserve();
    if (!record) return false;
    peer.sought.may_ask(*record, false);  // an answer that stands there is set aside
    Envelope& envelope = record->payload;
    operation.state = Operation::State::done;
    envelope.bytes = operation.bytes;
    envelope.tag = operation.tag;
    envelope.way = way;
    envelope.words[0] = peer.writer.position();
    if (way == Way::ring_pieces) {
        operation.state = Operation::State::feeding;
        peer.writer.publish_filled();  // so that the receiver does not count the short messages before
        if (peer.far != nullptr) put_filled_far(peer);
    } else if (way == Way::parcel) {
        envelope.words[0] = reinterpret_cast<std::uintptr_t>(operation.parcel.release());
    } else if (way == Way::segment) {
        const auto place = *segments_->find(operation.from, operation.bytes);
        envelope.words = {place.number, place.offset};
        operation.state = Operation::State::offered;
    } else {
        envelope.words[0] = reinterpret_cast<std::uintptr_t>(operation.from);
        operation.state = Operation::State::offered;
        operation.pushes = way == Way::push || way == Way::halves;
        operation.fetched = way != Way::push;
    }
    operation.ticket = peer.producer.publish();
    if (peer.far != nullptr) put_header_far(peer);
    operation.number = operation.ticket.number;
    ++moved_;
    me_.wake(to);
    return true;
}

/// Writes as many pieces as there is room for. True when all are written.
bool Engine::feed(int to, Peer& peer, Operation& operation) {
    while (operation.moved < operation.bytes) {
        const auto piece = std::min(piece_bytes, operation.bytes - operation.moved);
        const auto room = std::min(piece, peer.writer.room(piece));
        if (room == 0) return false;
        peer.writer.write(room, [&](std::byte* cell, std::uint64_t offset, std::uint64_t count) {
            store_in_ring(cell, operation.from + operation.moved + offset, count);
            if (peer.far != nullptr) put_bytes_far(peer, cell, count);
        });
        operation.moved += room;
        ++moved_;
        peer.writer.publish_filled();
        if (peer.far != nullptr) put_filled_far(peer);
        me_.wake(to);
    }
    return true;
}

/// Push, halves: stores the bytes that the receiver wants stored, once it has said where. True when they are there.
/// Once it has begun it never begins again, whatever becomes of it.
bool Engine::store(int to, Peer& peer, Operation& operation) {
    auto& place = box_.lane(to).outward.place;
    if (!place.offered(operation.number)) return false;
    if (!threads() && me_.dead(to)) return false;  // its number may have had a new owner meanwhile
    if (!place.begin(operation.number)) return false;
    operation.pushes = false;
    // Read behind begin(), for a place that was taken back is written again; and once, for the peer may write there.
    const auto address = std::atomic_ref(place.address).load(std::memory_order_relaxed);
    const auto room = std::atomic_ref(place.bytes).load(std::memory_order_relaxed);
    const auto bytes = std::min(room, operation.bytes);
    if (threads()) copy_bytes(reinterpret_cast<void*>(address), operation.from, bytes);
    else if (!copy_across(&process_vm_writev, peer.process, const_cast<std::byte*>(operation.from), address, bytes,
                          [&] { refuse_address(to, "address to store to", address); }))
        return false;
    peer.box.lane(me_.index()).inward.pushed.store(operation.number, std::memory_order_release);
    ++moved_;
    me_.wake(to);
    return true;
}

}  // namespace penstock::message
