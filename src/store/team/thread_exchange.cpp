#include <cerrno>
#include <new>

#include "store/team/exchange.hpp"

namespace penstock::team {

std::optional<std::size_t> MemoryNote::offset(std::size_t bytes) noexcept {
    constexpr std::size_t most = SIZE_MAX / 4;
    if (bytes == 0 || bytes > most) return std::nullopt;
    return (bytes + alignof(MemoryNote) - 1) / alignof(MemoryNote) * alignof(MemoryNote);
}

RankMemory Exchange::make(const Member& member, std::string_view name, std::size_t bytes, std::uint64_t kind,
                          Pages pages) {
    const auto offset = MemoryNote::offset(bytes);
    if (!offset) throw SystemError("cannot get " + std::to_string(bytes) + " bytes of memory; ask for less", ENOMEM);
    auto memory = allocate(name, *offset + sizeof(MemoryNote), pages);
    auto* note = new (memory->data() + *offset) MemoryNote;
    note->bytes = bytes;
    note->kind = kind;
    return {std::move(memory), bytes, member.index, name, note};
}

RankMemory Exchange::opened(std::shared_ptr<Mapping> memory, std::size_t bytes, int owner, const std::string& name) {
    auto* note = reinterpret_cast<MemoryNote*>(memory->data() + *MemoryNote::offset(bytes));
    return {std::move(memory), bytes, owner, name, note};
}

bool ThreadExchange::try_send(const Member& member, const RankMemory& memory, int to) {
    const std::lock_guard lock(mutex_);
    letters_[{to, member.index, memory.name()}].push_back(
        {.bytes = memory.size(), .kind = memory.kind(), .memory = memory.memory_});
    return true;
}

std::optional<Letter> ThreadExchange::collect(const Member& member, int owner, const std::string& name) {
    const std::lock_guard lock(mutex_);
    return take_first(letters_, {member.index, owner, name});
}

RankMemory ThreadExchange::open(Letter letter, int owner, const std::string& name) {
    return opened(std::move(letter.memory), letter.bytes, owner, name);
}

}  // namespace penstock::team
