// How many copies a filter has whose number is automatic: as many as the pressure at it asks for.
//
// A thread of its own looks at the queues and at what everybody does every few milliseconds, and judges several looks
// together. A filter is pressed while each of its copies could fire with what waits at it, or those who write to it
// wait for room, and no copy waits for room itself: then it gets copies, if threads have nothing to do that could run
// them (for a placed filter: those of the targets that it has no copy on yet; for one in worker processes: the
// workers). While copies have nothing to do it loses some, but one without a place not while all threads (workers) are
// busy. The copies are made and retired by an edit (change.hpp). A filter that got back what it had lost keeps it for
// longer the next time, so that the number does not swing.
#pragma once

#include "stream/description/adjacency.hpp"
#include "stream/run/timer_thread.hpp"

namespace penstock::streaming {

class Station;
struct RunState;

class Pressure {
  public:
    explicit Pressure(RunState& run) noexcept : run_(run) {}

    /// Looks from now on, if there is a filter to look at. The caller holds the run's `editing`. Throws SystemError.
    void begin();
    /// Returns when nothing is being changed, and nothing will be.
    void stop() { clock_.stop(); }

  private:
    /// What a look saw of a filter, or several of them added up.
    struct Seen {
        int looks = 0;
        int pressed = 0;  ///< looks in which it was
        int busy = 0;     ///< copies that had something to do
        int free = 0;     ///< threads (workers) that had not, and could run another copy
        int copies = 0;
    };
    struct Watched {
        Seen seen{};
        int calm = 0;               ///< times in a row that it was seen with copies to spare
        int most_busy = 0;          ///< copies that were busy in any of them, in quarters
        int patience;               ///< calm times that it takes
        bool lost = false;          ///< its last change took copies away
        bool settled = false;       ///< a copy could not be made: it stays as it is
        std::vector<int> places{};  ///< its targets, copy by copy; none: any
    };

    /// Who is at work.
    struct Busy {
        std::vector<bool> targets;  ///< by what has a place there, or lives there
        int workers = 0;            ///< of these, worker processes
        int free_threads = 0;       ///< that do not run any filter
    };

    bool governs(const Adjacency& adjacency, const std::vector<std::size_t>& cycles, const FilterModel& filter) const;
    void look();
    Busy busy() const;
    int free_for(const FilterModel& filter, const std::vector<int>& places, const Busy& busy) const;
    bool look_at(const FilterModel& filter, const Busy& all, Watched& watched) const;
    /// Copies that it is to have.
    int judge(Watched& watched, int most) const;
    void change(std::uint64_t filter, int copies);

    RunState& run_;
    std::map<std::uint64_t, Watched> watched_;
    bool looking_ = false;  ///< under `editing`
    TimerThread clock_{};
};

}  // namespace penstock::streaming
