// Finds ranks that wait for one another in blocking calls of one messenger, so that none of them will ever go on
// (contract 16).
//
// A rank that has waited for long (10 ms) writes into its mailbox whom it waits for, with a number that is new with
// each wait and whenever something of it moved. Who is written down looks at the others: those stand still that wait
// for a rank that stands still, or for anybody where all stand still. What was on its way when they were looked at may
// still end a wait; so each of them is asked to look once more, and answers when it has found nothing. When all have
// answered and none has moved, nothing can ever move.
//
// Happens-before. A rank's messages -> waits.store(release) -> waits.load(acquire) by the one who looks -> asked
// (read-modify-write, release) -> asked.load(acquire) by each of the others -> its next look at all that it waits for
// -> answered.store(release) -> answered.load(acquire). So each look that is answered sees all messages of all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "message/mailbox.hpp"

namespace penstock::message {

class Standstill {
  public:
    /// `mine`: where this rank writes. `of(rank)`: where another one does, null when its mailbox is not known (yet).
    Standstill(Rank me, StandstillWords& mine, std::function<StandstillWords*(int)> of)
        : me_(me), mine_(&mine), of_(std::move(of)) {}

    /// For as long as it lives, this rank is in a wait that nothing but `peer` (or, for any_source, anybody) can end.
    class Waiting {
      public:
        Waiting(Standstill& standstill, int peer, bool sends) noexcept : standstill_(standstill) {
            standstill_.begin(peer, sends);
        }
        ~Waiting() { standstill_.end(); }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

      private:
        Standstill& standstill_;
    };

    /// After each look that found nothing. `moved`: a count that changes whenever something was sent or received.
    /// Cheap until the wait has lasted long. Gives a report of who waits for whom once that is certain.
    std::string look(std::uint64_t moved);

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto long_wait = std::chrono::milliseconds{10};
    struct Seen {
        int rank;
        std::uint64_t word;
        std::uint64_t question;
    };

    void begin(int peer, bool sends) noexcept;
    void end() noexcept;
    StandstillWords* words_of(int rank) const { return rank == me_.index() ? mine_ : of_(rank); }
    void write_down() noexcept;
    std::vector<Seen> standing_still() const;
    std::string check();
    std::string report(const std::vector<Seen>& still) const;

    Rank me_;
    StandstillWords* mine_;
    std::function<StandstillWords*(int)> of_;
    std::uint64_t number_ = 0;  ///< of what is written down
    std::uint64_t moved_ = 0;
    std::uint64_t question_ = 0;  ///< the last one that was seen before a look
    std::uint32_t looks_ = 0;
    int peer_ = -1;
    bool sends_ = false;
    bool written_ = false;
    Clock::time_point since_{};
    std::vector<Seen> asked_;
};

}  // namespace penstock::message
