#include <cerrno>

#include "process/descriptor_message.hpp"
#include "store/team/exchange.hpp"

namespace penstock::team {
namespace {

/// What travels beside the descriptor. Never trusted: everything in it is checked against the seats and the memory
/// itself.
struct Envelope {
    static constexpr std::uint64_t valid = 0x3154454c4e534e50;  // "PNSNLET1"
    std::uint64_t magic = valid;
    std::uint64_t bytes = 0;
    std::uint64_t kind = 0;
    std::int32_t owner = -1;
    std::uint32_t name_length = 0;
    char name[longest_name + 1]{};
};

/// Is this a letter of the rank that it names, sent by the process that sits there?
bool genuine(const Envelope& envelope, const ucred& sender, const Member& member) {
    if (envelope.magic != Envelope::valid || envelope.owner < 0 || envelope.owner >= member.size) return false;
    if (envelope.name_length == 0 || envelope.name_length > longest_name) return false;
    const Seat& seat = member.seats[envelope.owner];
    return seat.state.load(std::memory_order_acquire) != State::starting && sender.uid == seat.user &&
           sender.pid == seat.identity.pid;
}

}  // namespace

ProcessExchange::Boxes::Boxes(int size) {
    for (auto* const ends : {&receiving, &sending}) ends->reserve(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
            throw SystemError("cannot make the socket over which a rank is granted memory", errno);
        receiving.emplace_back(ends[0]);
        sending.emplace_back(ends[1]);
        const int yes = 1;
        if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
            throw SystemError("cannot ask the kernel who sends grants of memory", errno);
    }
}

bool ProcessExchange::try_send(const Member& member, const RankMemory& memory, int to) {
    Envelope envelope{.bytes = memory.size(), .kind = memory.kind(), .owner = member.index};
    envelope.name_length = static_cast<std::uint32_t>(memory.name().copy(envelope.name, longest_name));
    const auto sent = process::send_with_descriptor(
        outboxes_[static_cast<std::size_t>(to)].get(), std::as_bytes(std::span(&envelope, 1)),
        static_cast<SharedMemory&>(*memory.memory_).descriptor(), MSG_DONTWAIT);
    if (sent >= 0) return true;
    // Full, too many descriptors under way, or the receiver has closed its end, which its seat will tell.
    for (const int passing : {EAGAIN, ENOBUFS, ETOOMANYREFS, EPIPE, ECONNREFUSED, ECONNRESET, ENOTCONN})
        if (errno == passing) return false;
    throw SystemError("cannot send a grant of memory to rank " + std::to_string(to), errno);
}

void ProcessExchange::take_in(const Member& member) {
    for (;;) {
        Envelope envelope;
        process::Arrived arrived;
        const auto length = process::receive_with_descriptors(
            inbox_.get(), std::as_writable_bytes(std::span(&envelope, 1)), MSG_DONTWAIT, arrived);
        if (length < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) return;
            throw SystemError("cannot receive a grant of memory", errno);
        }
        // Whoever sent anything else is no member: it is thrown away, with its descriptors.
        if (length != sizeof envelope || arrived.text_cut || !genuine(envelope, arrived.sender, member)) continue;
        Letter letter{.bytes = envelope.bytes, .kind = envelope.kind};
        letter.descriptor_lost = arrived.descriptors.empty() && arrived.control_cut;
        if (arrived.descriptors.size() == 1) letter.descriptor = std::move(arrived.descriptors.front());
        letters_[{envelope.owner, std::string(envelope.name, envelope.name_length)}].push_back(std::move(letter));
    }
}

std::optional<Letter> ProcessExchange::collect(const Member& member, int owner, const std::string& name) {
    take_in(member);
    return take_first(letters_, {owner, name});
}

RankMemory ProcessExchange::open(Letter letter, int owner, const std::string& name) {
    if (letter.descriptor_lost)
        throw SystemError("a grant of memory '" + name + "' by rank " + std::to_string(owner) +
                              " arrived when this process had no descriptor left; raise the limit (ulimit -n)",
                          EMFILE);
    if (!letter.descriptor) throw InvalidGrant(owner, name, "it came without memory");
    const auto offset = MemoryNote::offset(letter.bytes);
    if (!offset) throw InvalidGrant(owner, name, "it cannot have " + std::to_string(letter.bytes) + " bytes");
    auto shared = SharedMemory::adopt(letter.descriptor.take(), *offset + sizeof(MemoryNote));
    auto memory = opened(std::make_shared<SharedMemory>(std::move(shared)), letter.bytes, owner, name);
    const auto& note = *memory.note_;
    if (note.magic != MemoryNote::valid || note.bytes != letter.bytes || note.kind != letter.kind)
        throw InvalidGrant(owner, name, "the memory does not say the same of itself as the grant");
    return memory;
}

}  // namespace penstock::team
