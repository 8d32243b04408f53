#include <cerrno>
#include <new>

#include "store/team/mail.hpp"

namespace penstock::team {

std::optional<std::size_t> MemoryNote::offset(std::size_t bytes) noexcept {
    constexpr std::size_t most = SIZE_MAX / 4;
    if (bytes == 0 || bytes > most) return std::nullopt;
    return (bytes + alignof(MemoryNote) - 1) / alignof(MemoryNote) * alignof(MemoryNote);
}

RankMemory Mail::assemble(std::byte* data, std::size_t bytes, int owner, std::string_view name, MemoryNote* note) {
    RankMemory memory;
    memory.data_ = data;
    memory.size_ = bytes;
    memory.owner_ = owner;
    memory.name_ = name;
    memory.note_ = note;
    return memory;
}

/// Memory of this process asks for huge pages whenever it is large enough.
RankMemory ThreadMail::make(const Member& member, std::string_view name, std::size_t bytes, std::uint64_t kind, Pages) {
    const auto offset = MemoryNote::offset(bytes);
    if (!offset) throw SystemError("cannot get " + std::to_string(bytes) + " bytes of memory; ask for less", ENOMEM);
    auto local = std::make_shared<LocalMemory>(*offset + sizeof(MemoryNote));
    auto* note = new (local->data() + *offset) MemoryNote;
    note->bytes = bytes;
    note->kind = kind;
    auto memory = assemble(local->data(), bytes, member.index, name, note);
    keep(memory, std::move(local));
    return memory;
}

bool ThreadMail::try_send(const Member& member, const RankMemory& memory, int to) {
    Letter letter;
    letter.bytes = memory.size();
    letter.kind = note(memory).kind;
    letter.local = local(memory);
    const std::lock_guard lock(mutex_);
    letters_[{to, member.index, memory.name()}].push_back(std::move(letter));
    return true;
}

std::optional<Letter> ThreadMail::collect(const Member& member, int owner, const std::string& name) {
    const std::lock_guard lock(mutex_);
    return take_first(letters_, {member.index, owner, name});
}

RankMemory ThreadMail::open(Letter letter, int owner, const std::string& name) {
    auto* note = reinterpret_cast<MemoryNote*>(letter.local->data() + *MemoryNote::offset(letter.bytes));
    auto memory = assemble(letter.local->data(), letter.bytes, owner, name, note);
    keep(memory, std::move(letter.local));
    return memory;
}

}  // namespace penstock::team
