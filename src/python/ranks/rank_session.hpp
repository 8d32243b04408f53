// One rank as Python has it: refused where it must not be used, and interrupted where Python wants it.
//
// A rank belongs to one thread and to one run of its function; Python objects may outlive both and wander between
// threads. So every use goes through check() or wait(). All that a rank made holds its session, and what must not
// outlive the rank (its messengers) is closed by end().
//
// Waits run without the interpreter's lock. In the main thread, where Python handles signals, a wait takes the lock
// every 50 ms for them; a rank in a thread of its own looks at a flag that whoever waits for the team raises.
#pragma once

#include <thread>

#include "penstock/rank.hpp"
#include "python/binding.hpp"

namespace penstock::python {

/// How often waits look for signals and interruptions.
inline constexpr std::chrono::milliseconds between_looks{50};

/// A rank, or what it made, was used when its function had ended.
struct RankEnded : UsageError {
    using UsageError::UsageError;
};

/// Elements of a region or message that cannot be: not of fixed size, or Python objects; or memory that cannot be used
/// for them.
struct ElementError : UsageError {
    using UsageError::UsageError;
};

/// A remote was read.
struct UnreadableRemote : UsageError {
    using UsageError::UsageError;
};

/// Ends the wait of a rank whose team was interrupted; KeyboardInterrupt in Python. No Error, so that no layer takes it
/// for one of its own.
struct Interrupted {};

/// Closed when its rank ends, because it cannot be used after that even by its own destructor.
class EndsWithRank {
  public:
    virtual void end() noexcept = 0;

  protected:
    ~EndsWithRank() = default;
};

class RankSession final : public team::Interruption {
  public:
    /// Made and ended by the rank's own thread, with the interpreter's lock. `in_team`: a thread of spmd, which ends
    /// with the session; teams that it starts itself are interrupted with it.
    RankSession(Rank rank, bool in_team);
    ~RankSession() { end(); }

    /// The rank. Throws RankEnded, and UsageError in any thread but the rank's own.
    const Rank& check() const {
        if (!rank_ || std::this_thread::get_id() != thread_) [[unlikely]]
            refuse();
        return *rank_;
    }
    /// The same for what a signal handler must not use while the rank waits: UsageError then.
    const Rank& check_idle() const {
        const Rank& rank = check();
        if (waiting()) [[unlikely]]
            refuse_waiting();
        return rank;
    }

    /// Calls `action(rank)` without the interpreter's lock; its waits can be interrupted. Throws UsageError when the
    /// rank waits already (a signal handler that uses it).
    template <class Action>
    auto wait(Action&& action) {
        const Rank& rank = check();
        begin_waiting();
        const AtEnd end{[this] { waiting_.store(false, std::memory_order_relaxed); }};
        const nb::gil_scoped_release release;
        return action(rank);
    }
    /// The same, but what it waits for comes soon and must not be left half done: not interrupted.
    template <class Action>
    auto finish(Action&& action) {
        ++shields_;
        const AtEnd end{[this] { --shields_; }};
        return wait(std::forward<Action>(action));
    }

    /// Closes what ends with the rank. Everything throws RankEnded from now on.
    void end() noexcept;
    bool ended() const noexcept { return !rank_; }
    bool in_own_thread() const noexcept { return std::this_thread::get_id() == thread_; }
    /// Keeps the place of the rank until the session has ended, or until nobody has it any more.
    void keep(std::shared_ptr<void> place) noexcept { place_ = std::move(place); }

    void attach(std::weak_ptr<EndsWithRank> part) { parts_.push_back(std::move(part)); }
    /// Keeps what was dropped in another thread until the rank's own thread has closed it.
    void bury(std::shared_ptr<EndsWithRank> part) { buried_.push_back(std::move(part)); }

    // ---- for whoever runs the team; with the interpreter's lock ----

    /// Every wait of this rank ends from now on.
    void interrupt() noexcept { interrupted_.store(true, std::memory_order_relaxed); }
    /// Raises KeyboardInterrupt in the Python code of this rank, unless it waits or was told in a wait.
    void interrupt_code() const;
    bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

    /// Was the team of the calling thread's rank interrupted?
    static bool calling_thread_interrupted() noexcept;
    /// What is thrown now tells that rank of it: nothing else interrupts its code any more. With the interpreter's
    /// lock.
    static void tell_calling_thread() noexcept;

    /// Memory that was accepted and could not be used as its caller wanted: for his next try.
    std::vector<std::shared_ptr<RankMemory>> unclaimed;

  private:
    void look() override;
    void begin_waiting();
    void tell() noexcept;
    [[noreturn]] void refuse() const;
    [[noreturn]] static void refuse_waiting();

    std::shared_ptr<void> place_;  ///< goes after the rank
    std::optional<Rank> rank_;
    std::thread::id thread_;
    unsigned long python_thread_;
    bool handles_signals_;
    int shields_ = 0;
    std::atomic<bool> waiting_{false};
    std::atomic<bool> interrupted_{false};
    bool told_ = false;  ///< a wait was ended by that
    std::chrono::steady_clock::time_point next_look_{};
    std::vector<std::weak_ptr<EndsWithRank>> parts_;
    std::vector<std::shared_ptr<EndsWithRank>> buried_;
    bool in_team_;
};

/// What Python calls Rank.
struct PythonRank {
    std::shared_ptr<RankSession> session;

    const Rank& use() const { return session->check(); }
};

/// Text of Python as UTF-8; what has no UTF-8 (lone surrogates, as names of files have them) is escaped.
std::string text_of(nb::handle text);
/// An exception as "Type: text", whatever its text is.
std::string description_of(nb::handle error) noexcept;

/// Seconds, as Python gives times. Throws UsageError for what is negative or no number.
std::chrono::nanoseconds seconds(const char* what, double value);
/// The same for "how long"; nothing is 0, which means what the team was started with.
std::chrono::nanoseconds within_of(std::optional<double> within);
/// None: anybody; a number: that rank; "everybody".
Awaited awaited_of(nb::handle awaited);

void bind_rank(nb::module_& module);
void bind_team(nb::module_& module);
void bind_synchronisation(nb::module_& module);
void bind_region(nb::module_& module);
void bind_messenger(nb::module_& module);
void bind_join(nb::module_& module);

}  // namespace penstock::python
