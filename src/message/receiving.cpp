// The receiver's half of every protocol. Nothing that another process wrote is used before it was looked at (contract
// 20).
#include <algorithm>
#include <cstring>

#include "message/engine.hpp"

namespace penstock::message {

std::uint32_t Engine::start_receive(int from, std::span<std::byte> into) {
    if (from != any_source) {
        check(from);
        if (peer(from).spoilt) std::rethrow_exception(peer(from).spoilt);
    }
    if (options_.protocol == Protocol::pure_pull) {  // the headers lie with the senders
        for (int rank = 0; rank < me_.size(); ++rank) {
            if ((from != any_source && from != rank) || rank == me_.index()) continue;
            if (peer(rank).attached || peer(rank).spoilt) continue;
            try {
                attach(rank);
            } catch (const RankLost&) {
                if (from == rank) throw;
            }
        }
    }
    const auto index = make_operation();
    Operation& operation = operations_[index];
    operation.state = Operation::State::posted;
    operation.receives = true;
    operation.peer = from;
    operation.order = ++order_;
    operation.into = into.data();
    operation.bytes = into.size();
    try {
        (from == any_source ? posted_any_ : peer(from).posted).push_back(index);
    } catch (...) {  // no memory
        abandon(index);
        throw;
    }
    return index;
}

/// The next message of a peer, or none. A peer that nothing was sent to or received from yet is attached when its first
/// one is there.
Engine::Incoming Engine::first(int from, Peer& peer) {
    if (!peer.attached) {
        if (options_.protocol == Protocol::pure_pull) return {};
        if (box_.slots(from)[0].sequence.load(std::memory_order_acquire) == 0) return {};
        attach(from);
    }
    peer.owed.complete(peer.consumer);
    const auto* record = peer.consumer.front();
    if (const Envelope* answer = peer.sought.look()) {
        const auto before = to_take_before(*answer, peer);
        if (before == 0) return {answer, true};
        if (!record) record = peer.consumer.front();  // they were sent before the answer, so they are there
        if (!record || before > slots_a_lane)
            throw InvalidMessage(from, "number of messages before an answer", 0, before);
    }
    return record ? Incoming{&record->payload, false} : Incoming{};
}

/// The front of the channel, which was seen before. Between processes the peer can spoil it at any time.
Record<Envelope>& Engine::front_of(int from, Peer& peer) {
    if (auto* front = peer.consumer.front()) return *front;
    throw InvalidMessage(from, "number of a header", peer.consumer.next(), 0);
}

/// Can a message that travels in this way have this size?
void Engine::check_size(int from, const Peer& peer, const Envelope& header) {
    const bool exchanged = (header.way == Way::asking || header.is_answer()) && peer.exchange_in != nullptr;
    const std::uint64_t longest = exchanged ? exchange_bytes : bytes_inside;
    if ((is_inside(header.way) || header.is_answer()) && header.bytes > longest)
        throw InvalidMessage(from, "size in the header", longest, header.bytes);
    if (header.way == Way::ring_whole && header.bytes > peer.reader.capacity())
        throw InvalidMessage(from, "size in the ring", peer.reader.capacity(), header.bytes);
}

/// The receive that the next message of this peer goes to: the one posted first.
std::optional<std::uint32_t> Engine::wanted(Peer& peer) const {
    if (peer.posted.empty()) return posted_any_.empty() ? std::nullopt : std::optional(posted_any_.front());
    if (posted_any_.empty()) return peer.posted.front();
    const auto named = peer.posted.front();
    const auto any = posted_any_.front();
    return operations_[named].order < operations_[any].order ? named : any;
}

/// Takes what is there and wanted. Stops after a message that went to a receive from anybody, so that others get their
/// turn; true then.
bool Engine::move_in(int from, Peer& peer) {
    for (;;) {
        if (peer.taking) {
            if (!take(from, peer)) return false;
            continue;
        }
        const auto index = wanted(peer);
        if (!index) return false;
        const auto incoming = first(from, peer);
        if (!incoming) return false;
        peer.header = *incoming.envelope;
        peer.takes_answer = incoming.is_answer;
        peer.taking = index;
        Operation& operation = operations_[*index];
        const bool any = operation.peer == any_source;
        (any ? posted_any_ : peer.posted).pop_front();
        operation.state = Operation::State::taking;
        operation.peer = from;
        ++moved_;
        operation.number = peer.consumer.next();
        if (peer.header.way == Way::push) offer_place(from, peer, operation, operation.bytes);
        const bool taken = take(from, peer);
        if (any) return true;
        if (!taken) return false;
    }
}

/// Goes on with the message under way. True when it is all there.
bool Engine::take(int from, Peer& peer) {
    Operation& operation = operations_[*peer.taking];
    const Envelope& header = peer.header;
    const auto wanted_bytes = std::min(header.bytes, operation.bytes);
    if ((header.way == Way::answer) != peer.takes_answer)
        throw InvalidMessage(from, "way", static_cast<unsigned>(Way::inside), static_cast<unsigned>(header.way));
    check_size(from, peer, header);
    if (peer.far != nullptr) check_far(from, peer, header);
    switch (header.way) {
        case Way::inside:
        case Way::asking:
        case Way::answer:
            if (header.bytes <= bytes_inside) copy_bytes(operation.into, header.words.data(), wanted_bytes);
            else copy_bytes(operation.into, peer.takes_answer ? peer.exchange_out : peer.exchange_in, wanted_bytes);
            break;
        case Way::ring_whole:
        case Way::ring_pieces:
            if (!take_pieces(from, peer, operation)) return false;
            break;
        case Way::pull:
        case Way::segment:
            if (!fetch(from, peer, operation)) return false;
            break;
        case Way::halves:
            if (!take_halves(from, peer, operation)) return false;
            break;
        case Way::push:
            if (!pushed(from, operation)) return false;
            break;
        case Way::parcel: {
            if (!threads())
                throw InvalidMessage(from, "way", static_cast<unsigned>(Way::push), static_cast<unsigned>(header.way));
            const std::unique_ptr<Parcel> parcel(reinterpret_cast<Parcel*>(header.words[0]));
            front_of(from, peer).payload.words[0] = 0;
            copy_bytes(operation.into, parcel->data, wanted_bytes);
            break;
        }
        default:
            throw InvalidMessage(from, "way", static_cast<unsigned>(Way::inside), static_cast<unsigned>(header.way));
    }
    finish(from, peer, operation);
    return true;
}

void Engine::finish(int from, Peer& peer, Operation& operation) {
    if (peer.takes_answer) peer.sought.taken(peer.producer);
    else took(from, peer, front_of(from, peer), peer.header.way);
    if (peer.far != nullptr) put_taken_far(peer);
    peer.taking.reset();
    deliver(from, operation, peer.header);
}

void Engine::deliver(int from, Operation& operation, const Envelope& header) {
    operation.status = {from, header.bytes, header.tag};
    try {
        if (header.bytes > operation.bytes)
            operation.error = std::make_exception_ptr(Truncated(from, header.bytes, operation.bytes));
    } catch (const std::bad_alloc&) {
        operation.error = std::current_exception();
    }
    done(operation);
}

/// Reads what has come of a message in the ring; what does not fit the receiver's memory is passed over.
bool Engine::take_pieces(int from, Peer& peer, Operation& operation) {
    RingReader<std::byte>& reader = peer.reader;
    const Envelope& header = peer.header;
    if (operation.moved == 0 && header.words[0] != reader.position())
        throw InvalidMessage(from, "position in the ring", reader.position(), header.words[0]);
    while (operation.moved < header.bytes) {
        const auto left = header.bytes - operation.moved;
        const auto there = header.way == Way::ring_whole ? left : std::min(left, reader.available());
        if (reader.broken()) throw InvalidMessage(from, "count of bytes filled", reader.position(), ~std::uint64_t{0});
        if (there == 0) return false;
        const auto begin = operation.moved;
        reader.read(there, [&](const std::byte* cell, std::uint64_t offset, std::uint64_t count) {
            const auto at = begin + offset;
            if (at < operation.bytes) copy_bytes(operation.into + at, cell, std::min(count, operation.bytes - at));
        });
        operation.moved += there;
        ++moved_;
        reader.publish_freed();
        if (peer.far != nullptr) put_freed_far(peer);
        me_.wake(from);
    }
    return true;
}

/// Receives a message that stands first in the lane, whole in the ring. False, and nothing is done, when anything about
/// it is not as it should be: the long way says what.
bool Engine::take_whole(int from, Peer& peer, Envelope header, std::span<std::byte> into, Status& status) {
    if (header.bytes > into.size() || header.bytes > peer.reader.capacity() ||
        header.words[0] != peer.reader.position())
        return false;
    peer.reader.read(header.bytes, [&](const std::byte* cell, std::uint64_t offset, std::uint64_t count) {
        copy_bytes(into.data() + offset, cell, count);
    });
    peer.reader.publish_freed();
    peer.consumer.complete();
    me_.wake(from);
    status = {from, header.bytes, header.tag};
    return true;
}

/// May the sender's memory be read? Not when it has taken its offer back.
bool Engine::begin_fetch(Peer& peer, const Operation& operation) {
    if (peer.fetched < operation.number) {
        if (!peer.box.lane(me_.index()).outward.fetch.begin(peer.fetched, operation.number)) return false;
        peer.fetched = operation.number;
    }
    return true;
}

/// Reads bytes `first` to `last` of the message where the sender has them. False when the sender has died.
bool Engine::fetch_part(int from, const Peer& peer, const Operation& operation, std::uint64_t first,
                        std::uint64_t last) {
    const auto address = peer.header.words[0] + first;
    if (threads()) {
        copy_bytes(operation.into + first, reinterpret_cast<const void*>(address), last - first);
        return true;
    }
    const bool all = copy_across(&process_vm_readv, peer.process, operation.into + first, address, last - first,
                                 [&] { refuse_address(from, "address to fetch from", address); });
    return all && !me_.dead(from);  // its number may have had a new owner meanwhile
}

/// Pull: False when the sender has taken its offer back or has died.
bool Engine::fetch(int from, Peer& peer, Operation& operation) {
    // Whatever can fail comes before the claim, for from then on the sender cannot have its memory back before this has
    // ended.
    const std::byte* const segment = peer.header.way == Way::segment ? in_segment(from, peer, peer.header) : nullptr;
    if (!begin_fetch(peer, operation)) return false;
    const auto bytes = std::min(peer.header.bytes, operation.bytes);
    if (segment == nullptr) return fetch_part(from, peer, operation, 0, bytes);
    copy_bytes(operation.into, segment, bytes);
    return true;
}

/// Offers the sender the place of the first half, fetches the second, and then the first too if the sender has not
/// begun with it. False when it has and is not ready, or as fetch().
bool Engine::take_halves(int from, Peer& peer, Operation& operation) {
    if (operation.pushes) return pushed(from, operation);
    constexpr std::uint64_t page = 4096;
    const auto bytes = std::min(peer.header.bytes, operation.bytes);
    const auto half = bytes / 2 / page * page;
    if (!begin_fetch(peer, operation)) return false;
    auto& place = peer.box.lane(me_.index()).outward.place;
    offer_place(from, peer, operation, half);
    if (!fetch_part(from, peer, operation, half, bytes)) return false;
    if (pushed(from, operation)) return true;
    operation.pushes = place.take_back(operation.number);
    return operation.pushes ? pushed(from, operation) : fetch_part(from, peer, operation, 0, half);
}

/// The bytes of a message that lies in a segment of its sender. The first one of each segment accepts it.
const std::byte* Engine::in_segment(int from, Peer& peer, const Envelope& header) {
    const auto number = header.words[0], offset = header.words[1];
    if (threads() || number >= most_segments)
        throw InvalidMessage(from, "number of a segment", threads() ? 0 : most_segments - 1, number);
    RankMemory& segment = peer.segments[number];
    if (!segment) segment = me_.accept(from, segment_name(options_.name, number), segment_kind);
    if (offset > segment.size() || header.bytes > segment.size() - offset)
        throw InvalidMessage(from, "place in a segment", segment.size(), offset + header.bytes);
    return segment.data() + offset;
}

/// Tells the sender where the first `bytes` should go.
void Engine::offer_place(int from, Peer& peer, Operation& operation, std::uint64_t bytes) {
    auto& place = peer.box.lane(me_.index()).outward.place;
    place.address = reinterpret_cast<std::uintptr_t>(operation.into);
    place.bytes = bytes;
    place.offer(operation.number);
    me_.wake(from);
}

bool Engine::receive_from_self() {
    Peer& self = peer(me_.index());
    bool received = false;
    while (!to_self_.empty()) {
        const auto index = wanted(self);
        if (!index) break;
        Operation& operation = operations_[*index];
        (operation.peer == any_source ? posted_any_ : self.posted).pop_front();
        SelfMessage message = std::move(to_self_.front());
        to_self_.pop_front();
        copy_bytes(operation.into, message.parcel->data,
                   std::min<std::uint64_t>(message.parcel->bytes, operation.bytes));
        deliver(me_.index(), operation, {message.parcel->bytes, message.tag, Way::inside, {}, {}, {}});
        received = true;
    }
    return received;
}

std::optional<Status> Engine::unclaimed(int from) {
    for (int i = 0; i < me_.size(); ++i) {
        const int rank = from == any_source ? (next_any_ + i) % me_.size() : from;
        Peer& peer = this->peer(rank);
        if (rank == me_.index()) {
            if (!to_self_.empty()) return Status{rank, to_self_.front().parcel->bytes, to_self_.front().tag};
        } else if (!peer.taking && !peer.spoilt) {
            if (const auto incoming = first(rank, peer)) {
                const Envelope header = *incoming.envelope;
                check_size(rank, peer, header);
                return Status{rank, header.bytes, header.tag};
            }
        }
        if (from != any_source) break;
    }
    return std::nullopt;
}

std::unique_ptr<Parcel> Engine::take_parcel(int from, const std::type_info& type) {
    Peer& peer = this->peer(from);
    if (from == me_.index()) {
        if (*to_self_.front().parcel->type != type) return nullptr;
        auto parcel = std::move(to_self_.front().parcel);
        to_self_.pop_front();
        return parcel;
    }
    if (!threads() || me_.elsewhere(from) || first(from, peer).is_answer) return nullptr;
    auto& envelope = front_of(from, peer).payload;
    if (envelope.way != Way::parcel || *reinterpret_cast<Parcel*>(envelope.words[0])->type != type) return nullptr;
    std::unique_ptr<Parcel> parcel(reinterpret_cast<Parcel*>(envelope.words[0]));
    envelope.words[0] = 0;
    peer.consumer.complete();
    me_.wake(from);
    return parcel;
}

}  // namespace penstock::message
