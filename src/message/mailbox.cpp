#include "message/mailbox.hpp"

#include <cstring>

namespace penstock::message {
namespace {

/// What stands before the words that others write.
constexpr std::size_t described_bytes = offsetof(MailboxHeader, address);

void expect(int rank, const char* field, std::uint64_t expected, std::uint64_t actual) {
    if (expected != actual) throw InvalidMessage(rank, field, expected, actual);
}

}  // namespace

void Mailbox::fill(MailboxHeader& header, Rank owner, const MessengerOptions& options) {
    header.size = size_of(owner.size(), options.ring_bytes);
    header.ring_bytes = options.ring_bytes;
    header.ranks = static_cast<std::uint32_t>(owner.size());
    header.owner = static_cast<std::uint32_t>(owner.index());
    header.protocol = options.protocol;
}

std::string Mailbox::described(Rank owner, const MessengerOptions& options) {
    MailboxHeader header;
    fill(header, owner, options);
    return {reinterpret_cast<const char*>(&header), described_bytes};
}

void Mailbox::adopt(std::byte* memory, int owner, const std::string& description) {
    if (description.size() != described_bytes)
        throw InvalidMessage(owner, "description of its mailbox in bytes", described_bytes, description.size());
    auto* header = new (memory) MailboxHeader;
    std::memcpy(static_cast<void*>(header), description.data(), described_bytes);
}

std::size_t Mailbox::size_of(int ranks, std::uint64_t ring_bytes) {
    return rings_at(ranks) + ring_bytes * static_cast<unsigned>(ranks);
}

std::vector<team::MemoryPart> Mailbox::parts_of(std::uint64_t bytes, int ranks, int writer) {
    if (bytes < rings_at(ranks)) return {};  // it is no mailbox
    const auto peer = static_cast<unsigned>(writer);
    const auto lane = sizeof(MailboxHeader) + sizeof(Lane) * peer, outward = lane + offsetof(Lane, outward);
    const auto slots = sizeof(Record<Envelope>) * slots_a_lane;
    const auto ring = (bytes - rings_at(ranks)) / static_cast<unsigned>(ranks);
    return {{lane + offsetof(Lane, inward) + offsetof(Inward, filled), sizeof(Inward::filled)},
            {outward + offsetof(Outward, credits), sizeof(Outward::credits)},
            {outward + offsetof(Outward, freed), sizeof(Outward::freed)},
            {slots_at(ranks) + slots * peer, slots},
            {rings_at(ranks) + ring * peer, ring}};
}

Mailbox Mailbox::create(std::byte* memory, Rank owner, const MessengerOptions& options) {
    const Mailbox box(memory, owner.size(), options.ring_bytes);
    auto* header = new (memory) MailboxHeader;
    fill(*header, owner, options);
    header->address = reinterpret_cast<std::uintptr_t>(header);
    for (int peer = 0; peer < owner.size(); ++peer) {
        new (&box.lane(peer)) Lane;
        auto* slots = box.slots(peer);
        for (std::uint32_t slot = 0; slot < slots_a_lane; ++slot) new (slots + slot) Record<Envelope>;
    }
    return box;
}

Mailbox Mailbox::open(std::byte* memory, std::size_t size, Rank me, int owner, const MessengerOptions& options) {
    const Mailbox box(memory, me.size(), options.ring_bytes);
    const auto needed = size_of(me.size(), options.ring_bytes);
    if (size < needed) throw InvalidMessage(owner, "mailbox's size in bytes", needed, size);
    const auto& header = box.header();
    expect(owner, "mailbox's size in bytes", needed, header.size);
    expect(owner, "option ring_bytes", options.ring_bytes, header.ring_bytes);
    expect(owner, "option protocol", static_cast<unsigned>(options.protocol), static_cast<unsigned>(header.protocol));
    expect(owner, "number of ranks", static_cast<unsigned>(me.size()), header.ranks);
    expect(owner, "own number", static_cast<unsigned>(owner), header.owner);
    expect(owner, "number of headers", slots_a_lane, header.slots);
    return box;
}

void Mailbox::empty(const std::function<bool(int)>& is_near) const {
    for (int peer = 0; peer < ranks_; ++peer) {
        if (!is_near(peer)) continue;  // another node writes there, and no parcel comes from it
        auto* records = slots(peer);
        for (std::uint32_t slot = 0; slot < slots_a_lane; ++slot) {
            auto& envelope = records[slot].payload;
            if (envelope.way != Way::parcel) continue;
            delete reinterpret_cast<Parcel*>(envelope.words[0]);
            envelope.words[0] = 0;
        }
    }
}

}  // namespace penstock::message
