// What all processes of a team have mapped: the seats, then how each rank ended, then how many have failed.
#pragma once

#include "penstock/detail/machine/memory.hpp"
#include "penstock/rank.hpp"
#include "process/children.hpp"
#include "store/team/team.hpp"

namespace penstock::team {

class ControlBlock {
  public:
    ControlBlock() noexcept = default;
    /// A new one, with a fresh seat for each rank. Throws SystemError.
    explicit ControlBlock(int size);
    /// That of a team which another process made, from a descriptor that it sent. Throws InvalidSharedMemory,
    /// SystemError.
    static ControlBlock adopt(int descriptor, int size);

    int size() const noexcept { return size_; }
    int descriptor() const noexcept { return memory_.descriptor(); }
    explicit operator bool() const noexcept { return size_ != 0; }

    Seat* seats() const noexcept { return seats_; }
    Seat& seat(int rank) const noexcept { return seats_[rank]; }
    EndRecord& report(int rank) const noexcept { return reports_[rank]; }
    State state(int rank) const noexcept { return seats_[rank].state.load(std::memory_order_acquire); }
    /// Orders failures: 1, 2, ...
    int next_failure() const noexcept { return failures_->fetch_add(1, std::memory_order_relaxed) + 1; }

    /// Notes what this rank failed by; end() comes behind it. `consequence`: only because another rank was gone.
    void report_failure(int rank, std::string_view what, bool consequence) const noexcept;
    /// From now on this rank has ended so, and all are woken to see it. False when it had ended before, which stands.
    bool end(int rank, State state) const noexcept;

    /// Notes how the process of this rank ended, as far as that is known.
    void write_down(int rank, const process::Death& death) const noexcept;
    /// How this rank ended, for whoever wants to know of the team.
    EndRecord ending(int rank) const noexcept;

  private:
    ControlBlock(SharedMemory memory, int size) noexcept;

    SharedMemory memory_;
    int size_ = 0;
    Seat* seats_ = nullptr;
    EndRecord* reports_ = nullptr;
    std::atomic<std::int32_t>* failures_ = nullptr;
};

}  // namespace penstock::team
