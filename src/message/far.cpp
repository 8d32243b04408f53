// What a rank writes into the mailbox of a peer on another node: first into its shadow, by the code that writes into
// any mailbox, then over the wire, the word that publishes the rest last. Frames of one wire are applied in order.
#include "message/engine.hpp"

namespace penstock::message {

void Engine::adopt(Peer& peer, int rank) { Mailbox::adopt(peer.memory.data(), rank, peer.memory.description()); }

/// Bytes of the ring, which a header or a count publishes later.
void Engine::put_bytes_far(const Peer& peer, const std::byte* cell, std::uint64_t bytes) {
    peer.far->copy(peer.far->offset_of(cell), bytes);
}

/// The header that was published last.
void Engine::put_header_far(const Peer& peer) const {
    const auto& record = peer.box.slots(me_.index())[peer.producer.position()];
    peer.far->copy(peer.far->offset_of(&record.payload), sizeof record.payload, peer.far->offset_of(&record.sequence));
}

void Engine::put_filled_far(const Peer& peer) const {
    peer.far->copy(0, 0, peer.far->offset_of(&peer.box.lane(me_.index()).inward.filled.cells));
}

void Engine::put_freed_far(const Peer& peer) const {
    peer.far->copy(0, 0, peer.far->offset_of(&peer.box.lane(me_.index()).outward.freed.cells));
}

void Engine::put_taken_far(const Peer& peer) const {
    peer.far->copy(0, 0, peer.far->offset_of(&peer.box.lane(me_.index()).outward.credits.completed));
}

/// Only what goes through the ring can come from another node.
void Engine::check_far(int from, const Peer& peer, const Envelope& header) const {
    const bool possible = header.way == Way::inside || header.way == Way::ring_whole || header.way == Way::ring_pieces;
    if (!possible || peer.takes_answer)
        throw InvalidMessage(from, "way", static_cast<unsigned>(Way::inside), static_cast<unsigned>(header.way));
}

}  // namespace penstock::message
