#include "store/team/control_block.hpp"

#include <new>

namespace penstock::team {
namespace {

std::size_t bytes_for(int size) {
    return static_cast<std::size_t>(size) * (sizeof(Seat) + sizeof(EndRecord)) + sizeof(std::atomic<std::int32_t>);
}

}  // namespace

ControlBlock::ControlBlock(SharedMemory memory, int size) noexcept
    : memory_(std::move(memory)), size_(size), seats_(reinterpret_cast<Seat*>(memory_.data())),
      reports_(reinterpret_cast<EndRecord*>(seats_ + size)),
      failures_(reinterpret_cast<std::atomic<std::int32_t>*>(reports_ + size)) {}

ControlBlock::ControlBlock(int size) : ControlBlock(SharedMemory::create("penstock-team", bytes_for(size)), size) {
    for (int rank = 0; rank < size; ++rank) {
        new (seats_ + rank) Seat;
        new (reports_ + rank) EndRecord;
    }
    new (failures_) std::atomic<std::int32_t>(0);
}

ControlBlock ControlBlock::adopt(int descriptor, int size) {
    return {SharedMemory::adopt(descriptor, bytes_for(size)), size};
}

void ControlBlock::report_failure(int rank, std::string_view what, bool consequence) const noexcept {
    auto& report = this->report(rank);
    report.consequence = consequence;
    report.write(what);
    report.order = next_failure();
}

bool ControlBlock::end(int rank, State state) const noexcept {
    auto& word = seat(rank).state;
    State seen = word.load(std::memory_order_acquire);
    do {
        if (seen >= State::finished) return false;
    } while (!word.compare_exchange_weak(seen, state, std::memory_order_acq_rel));
    for (int other = 0; other < size_; ++other) wake_at(seat(other).bell);
    return true;
}

void ControlBlock::write_down(int rank, const process::Death& death) const noexcept {
    if (death.signal) seat(rank).signal.store(*death.signal, std::memory_order_relaxed);
    if (death.exit_code) seat(rank).exit_code.store(*death.exit_code, std::memory_order_relaxed);
}

EndRecord ControlBlock::ending(int rank) const noexcept {
    EndRecord record = report(rank);
    record.rank = rank;
    record.state = state(rank);
    record.pid = seat(rank).identity.pid;
    record.exit_code = seat(rank).exit_code.load(std::memory_order_relaxed);
    record.signal = seat(rank).signal.load(std::memory_order_relaxed);
    return record;
}

}  // namespace penstock::team
