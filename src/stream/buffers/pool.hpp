// The blocks of one output of one copy of a filter: made as they are needed, used again; new ones near the thread that
// fills them, or from the cache of blocks.
//
// Whoever runs the filter takes from a list of its own; readers on other threads put blocks into a second list, which
// is taken over as a whole when the first is empty. The pool ends with its output, and goes when the last block that is
// still abroad has come back.
//
// Happens-before. A reader's last use of a block comes before it gives the block back; the owner acquires it with the
// list (return_list.hpp). The list that only one thread touches is published with `home_` (release, acquire) when the
// station moves.
#pragma once

#include "penstock/buffer.hpp"
#include "stream/buffers/budget.hpp"
#include "stream/buffers/return_list.hpp"
#include "stream/run/recycled.hpp"
#include "stream/run/starvation.hpp"

namespace penstock::streaming {

/// A block of nobody's with values in this memory.
Block* make_block_in(std::shared_ptr<BlockMemory> memory, std::size_t bytes);

class Pool;
/// Another block that reads the same values, from the pool of whoever shares it, who gives the first one back himself
/// and hands on only such others.
Block* share(Block* block, Pool& pool);
/// The same for who has no pool: the other is nobody's.
Block* share(Block* block);

class Server;
class Station;

class Pool : public Recycled<Pool> {
  public:
    /// `most`: blocks that exist at once before exhausted(); 0: no limit. `memory`: of their values; null: the cache of
    /// blocks, or malloc.
    /// `budgets`: that its blocks are part of; null: none.
    Pool(Station& station, std::size_t most, std::shared_ptr<BlockMemory> memory,
         std::shared_ptr<Budgets> budgets) noexcept
        : station_(station), most_(most), memory_(std::move(memory)), budgets_(std::move(budgets)) {}

    /// For whoever runs the station. Throws std::bad_alloc.
    Block* get(std::size_t bytes);
    /// A block to read another's values, for whoever runs the station. Those of a bounded pool do not come back to it.
    /// Throws std::bad_alloc.
    Block* get_envelope();
    /// Any thread.
    void put(Block* block) noexcept;
    /// True when the station must wait for a block to come back. It will be told.
    bool exhausted() noexcept;
    Mail& room_mail() noexcept { return room_mail_; }
    /// A block that get() gives without making one, or one more of which exhausted() would not say that it is too many?
    /// One that is part of a budget is asked for when it is needed only.
    bool has_one() const noexcept {
        if (budgets_ != nullptr) return false;
        return most_ == 0 || local_ != nullptr || made_ < static_cast<std::int64_t>(most_) || returned_.any_relaxed();
    }
    Starvation<>& starvation() noexcept { return starvation_; }
    /// No more blocks will be asked for. The pool deletes itself, now or later.
    void close() noexcept;
    /// The server whose thread alone runs the station, or null: another, or the station has ended. Called by whoever
    /// runs the station.
    void set_home(Server* home) noexcept { home_.store(home, std::memory_order_release); }
    /// Of whose budget blocks are from now on; -1: that of no target. Called as set_home() is.
    void set_target(int target) noexcept { target_ = target; }

  private:
    ~Pool() = default;
    void keep(Block* block) noexcept;
    void take_in_returned() noexcept;
    bool limited() const noexcept { return most_ != 0 || budgets_ != nullptr; }
    bool over_budget() noexcept;
    void count_in(Block& block) noexcept;
    void count_out(Block& block) noexcept;

    Block* local_ = nullptr;      ///< whoever runs the station
    Block* envelopes_ = nullptr;  ///< the same, without values
    /// Only its own thread ever finds itself here, so it sees its own last change
    std::atomic<Server*> home_{nullptr};
    Station& station_;
    std::size_t most_;
    std::shared_ptr<BlockMemory> memory_;
    std::shared_ptr<Budgets> budgets_;
    int target_ = -1;
    std::int64_t made_ = 0;
    std::int64_t abroad_ = 0;                ///< with values, and not taken in again; where there is a budget
    alignas(64) ReturnList<Mail> returned_;  ///< readers elsewhere
    Starvation<> starvation_;
    Mail room_mail_{.kind = MailKind::room};  ///< a block has come back
};

}  // namespace penstock::streaming
