// store layer: a rank is one member of a team that runs the same program, as a thread or as a process of its own, or on
// a node of a cluster.
//
// What members have of one another goes through here: memory that its owner makes, grants to named ranks, and that
// these accept by name (contract 18); waits that end in a typed error when whoever is waited for is gone; doorbells.
// Regions, flags, locks and messages are uses of it, and little above knows whether ranks are threads or processes.
//
// A seat is what all know of one rank. It lies in the control block of the team: ordinary memory for threads, a sealed
// mapping for processes. Happens-before: whatever a rank stored before it left -> state.store(release) ->
// state.load(acquire) by a waiter -> its last look at what it waits for. So a wait never reports a rank as lost whose
// answer had been given before.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/memory.hpp"
#include "penstock/detail/machine/parking.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/process/identity.hpp"
#include "penstock/detail/store/far.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// What a rank is: a thread of one process, a process of its own, or a thread of an agent on a node of a cluster.
enum class Substrate : std::uint8_t { threads, processes, nodes };

/// The word for it in reports.
std::string_view name(Substrate substrate) noexcept;

/// What was waited for can no longer come, because this rank is gone. Either RankDied or RankLeft.
class RankLost : public Error {
  public:
    RankLost(int rank, const std::string& what) : Error(what), rank_(rank) {}
    /// Which rank.
    int rank() const noexcept { return rank_; }

  private:
    int rank_;
};

/// The process of a rank ended without a word: a signal, or an exit in the middle; or its node is lost.
class RankDied : public RankLost {
  public:
    RankDied(int rank, int pid, std::optional<int> exit_code, std::optional<int> signal);
    /// `node`: of a cluster, "workers.1"; `how` it was lost, in words.
    RankDied(int rank, int pid, std::string node, const std::string& how);
    /// Its process.
    int pid() const noexcept { return pid_; }
    /// The node that it ran on; empty without a cluster.
    const std::string& node() const noexcept { return node_; }
    /// The status with which it exited.
    std::optional<int> exit_code() const noexcept { return exit_code_; }
    /// The signal that killed it.
    std::optional<int> signal() const noexcept { return signal_; }

  private:
    int pid_;
    std::optional<int> exit_code_, signal_;
    std::string node_;
};

/// A rank came to the end of its function (`failed`: by an exception) while somebody still waited for it.
class RankLeft : public RankLost {
  public:
    RankLeft(int rank, bool failed);
    /// Did it leave by an exception?
    bool failed() const noexcept { return failed_; }

  private:
    bool failed_;
};

/// Nobody has granted memory of this name within the time.
class GrantMissing : public Error {
  public:
    GrantMissing(int owner, std::string name, std::chrono::nanoseconds waited);
    /// Whose memory was asked for.
    int owner() const noexcept { return owner_; }
    const std::string& name() const noexcept { return name_; }
    /// How long.
    std::chrono::nanoseconds waited() const noexcept { return waited_; }

  private:
    int owner_;
    std::string name_;
    std::chrono::nanoseconds waited_;
};

/// Asked for was what only ranks of one machine can share, and the team is spread over several nodes.
class NotOverNodes : public UsageError {
  public:
    explicit NotOverNodes(std::string what);
    /// What was asked for: "a Mutex".
    const std::string& what_for() const noexcept { return what_; }

  private:
    std::string what_;
};

/// What was granted is not what was asked for (another type, another kind of object), or its description is spoilt.
class InvalidGrant : public Error {
  public:
    InvalidGrant(int owner, std::string name, const std::string& what);
    /// Whose memory was asked for.
    int owner() const noexcept { return owner_; }
    const std::string& name() const noexcept { return name_; }

  private:
    int owner_;
    std::string name_;
};

namespace team {

inline constexpr int most_ranks = 256;
inline constexpr std::size_t longest_name = 63;

enum class State : std::uint32_t { starting, running, finished, failed, dead };

/// What all know of one rank. `state` is written by the rank itself, and when it died by whoever noticed: the process
/// that started the team, or any member that watches; `parked` by all.
struct alignas(128) Seat {
    std::atomic<State> state{State::starting};
    std::atomic<std::uint32_t> fenced{0};     ///< 1: a barrier over processes reaches this rank
    std::atomic<std::int32_t> exit_code{-1};  ///< valid once the state says dead; -1: none, or nobody was told
    std::atomic<std::int32_t> signal{0};      ///< valid once the state says dead; 0: none, or nobody was told
    ProcessIdentity identity;                 ///< valid once the state says running
    std::uint32_t user = 0;                   ///< whose process it is; valid once the state says running
    Doorbell bell;
};
static_assert(sizeof(Seat) == 256);

/// Stands behind the data of shared memory. Written by the owner, but for `accepted`.
struct MemoryNote;
/// How memory gets from its owner to other ranks: by descriptors over sockets, or within the process.
class Exchange;
class ThreadExchange;
class ProcessExchange;
class NodeExchange;

/// Asked by a rank that waits, before it parks and each time it wakes (within about 20 ms): what look() throws ends the
/// wait. For callers with interruptions of their own, such as an interpreter that handles signals between its steps.
class Interruption {
  public:
    virtual void look() = 0;

  protected:
    ~Interruption() = default;
};

/// One rank's own view of its team.
struct Member {
    Seat* seats = nullptr;
    Exchange* exchange = nullptr;
    int index = 0;
    int size = 0;
    Substrate substrate = Substrate::threads;
    WaitPolicy policy;
    std::chrono::nanoseconds accept_within{};
    Interruption* interruption = nullptr;  ///< null: nothing interrupts this rank's waits
    Far* far = nullptr;                    ///< null: all ranks are on one machine
};

/// A fence on every running thread of all ranks; false where the kernel cannot.
bool fence_all(const Member& member) noexcept;

}  // namespace team

/// Memory that ranks share, as one of them sees it. Moved, not copied; whoever still has it keeps it alive.
class RankMemory {
  public:
    RankMemory() noexcept = default;
    RankMemory(RankMemory&&) noexcept = default;
    RankMemory& operator=(RankMemory&&) noexcept = default;

    /// Where it lies in this process. Of memory on another node: its shadow.
    std::byte* data() const noexcept { return data_; }
    /// Null for memory of this machine.
    team::FarMemory* far() const noexcept { return far_; }
    std::size_t size() const noexcept { return size_; }  ///< bytes
    /// Whose memory it is.
    int owner() const noexcept { return owner_; }
    const std::string& name() const noexcept { return name_; }
    explicit operator bool() const noexcept { return data_ != nullptr; }
    /// Bytes that this rank has by huge pages now. Reads /proc.
    std::size_t huge_bytes() const { return memory_ ? memory_->huge_bytes() : 0; }
    /// What its owner calls it (Rank::make).
    std::uint64_t kind() const noexcept;
    /// What its owner says of what is in it, in words of its own. Throws InvalidGrant when it is spoilt.
    std::string description() const;

  private:
    friend class Rank;
    friend class team::Exchange;
    friend class team::ThreadExchange;
    friend class team::ProcessExchange;
    friend class team::NodeExchange;
    RankMemory(std::shared_ptr<Mapping> memory, std::size_t size, int owner, std::string_view name,
               team::MemoryNote* note)
        : memory_(std::move(memory)), data_(memory_->data()), size_(size), owner_(owner), name_(name), note_(note) {}

    std::shared_ptr<Mapping> memory_;  ///< LocalMemory of threads, SharedMemory of processes, FarMemory of other nodes
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;  ///< without the note behind it
    int owner_ = -1;
    std::string name_;
    team::MemoryNote* note_ = nullptr;
    team::FarMemory* far_ = nullptr;
    bool frozen_ = false;
};

/// Whose end makes a wait hopeless.
class Awaited {
  public:
    /// Only this rank can bring what is waited for: hopeless when it is dead or has left.
    static constexpr Awaited rank(int index) noexcept { return Awaited(index); }
    /// Any member may bring it: hopeless when one died or failed, or when all others have left.
    static constexpr Awaited anybody() noexcept { return Awaited(any); }
    /// All members must bring it: hopeless when one has left in any way.
    static constexpr Awaited everybody() noexcept { return Awaited(all); }

  private:
    friend class Rank;
    static constexpr int any = -1;
    static constexpr int all = -2;
    constexpr explicit Awaited(int value) noexcept : value_(value) {}
    int value_;
};

/// One member of a team, as `spmd` and `join` give it to the function that they run. One word, copied freely; used by
/// the thread (or the first thread of the process) that it stands for, and only while that function runs.
class Rank {
  public:
    explicit Rank(team::Member& member) noexcept : member_(&member) {}

    /// Its number, from 0.
    int index() const noexcept { return member_->index; }
    /// Ranks of the team.
    int size() const noexcept { return member_->size; }
    /// Threads, processes or nodes.
    Substrate substrate() const noexcept { return member_->substrate; }
    /// Null where all ranks are on one machine.
    team::Far* far() const noexcept { return member_->far; }
    /// Is this rank on another node?
    bool elsewhere(int rank) const noexcept { return member_->far != nullptr && member_->far->elsewhere(rank); }

    // ---- memory ----

    /// New zeroed memory of `bytes` > 0, near this rank's processor, that nobody else has. `name` (1 to 63 bytes) is
    /// what others accept it by; `kind` tells apart what must not be mistaken for one another; `description` (up to
    /// 1,000 bytes) is shown to those who accept it; `pages` is a wish. Throws UsageError, SystemError.
    RankMemory make(std::string_view name, std::size_t bytes, std::uint64_t kind = 0, std::string_view description = {},
                    Pages pages = Pages::ordinary) const;

    /// Lets another rank accept this memory, once for each grant; to oneself is legal. Throws UsageError when it is not
    /// this rank's, is frozen, or there is no such rank; RankLost when that rank is gone; SystemError when descriptors
    /// run out.
    void grant(RankMemory& memory, int to) const;

    /// No further grants, and none can be made behind this rank's back: waits until all grants were accepted, then
    /// seals the memory against new writers. Throws GrantMissing when they were not accepted within the time, RankLost,
    /// SystemError.
    void freeze(RankMemory& memory, std::chrono::nanoseconds within = {}) const;

    /// Waits for a grant of this name by `owner` and takes it; grants of one name are taken in the order in which they
    /// were given. `within` 0: what SpmdOptions say. Only the bits of `kind` that `mask` has are compared. Throws
    /// GrantMissing, RankLost, InvalidGrant when it has another kind, SystemError, NotOverNodes when the owner is on
    /// another node.
    RankMemory accept(int owner, std::string_view name, std::uint64_t kind = 0, std::chrono::nanoseconds within = {},
                      std::uint64_t mask = ~std::uint64_t{0}) const;
    /// As accept(), of an owner on another node too, for callers that know what to do with a shadow (RankMemory::far).
    RankMemory accept_anywhere(int owner, std::string_view name, std::uint64_t kind = 0,
                               std::chrono::nanoseconds within = {}, std::uint64_t mask = ~std::uint64_t{0}) const;

    /// For all ranks together: each makes memory of `bytes`, grants it to all, and accepts everybody's. Element r is
    /// rank r's. Throws NotOverNodes where they are on several nodes.
    std::vector<RankMemory> exchange(std::string_view name, std::size_t bytes, std::uint64_t kind = 0) const;

    // ---- the others ----

    /// Has this rank's process died? One load. Throws UsageError when there is no such rank.
    bool dead(int rank) const { return state_of(rank) == team::State::dead; }
    /// Was this rank's function ended by an exception? One load.
    bool failed(int rank) const { return state_of(rank) == team::State::failed; }
    /// Is this rank gone in any way: dead, failed or at the end of its function? One load.
    bool gone(int rank) const { return state_of(rank) >= team::State::finished; }
    /// The process that this rank runs in, as the team knows it. Throws UsageError when there is no such rank.
    const ProcessIdentity& process(int rank) const {
        check(rank);
        return member_->seats[rank].identity;
    }
    /// Throws RankDied or RankLeft for a rank that is gone.
    [[noreturn]] void throw_lost(int rank) const;

    // ---- waiting ----

    /// From now on this one is asked in every wait of this rank; null: nobody. A wait that it ends leaves a barrier or
    /// a mutex in the middle of what it did: do not use those again. Returns the one before.
    team::Interruption* set_interruption(team::Interruption* interruption) const noexcept {
        return std::exchange(member_->interruption, interruption);
    }

    /// Tells this rank that something was published for it. Costs the load of one cached flag.
    void wake(int rank) const noexcept { penstock::wake_at(member_->seats[rank].bell); }

    /// Waits until `poll()` is true: spins, then parks on this rank's doorbell. Who makes it true must wake(). Throws
    /// RankDied or RankLeft as soon as the wait is hopeless (within about 20 ms); what came before that is seen first.
    template <class Poll>
    void wait(Poll&& poll, Awaited awaited) const {
        wait_unless(poll, [this, awaited] { return lost(awaited); });
    }

    /// As wait(), with a judgement of the caller's own: `hopeless()` returns the rank whose end makes the wait
    /// hopeless, or -1. It is asked now and then, and always before a last poll.
    template <class Poll, class Hopeless>
    void wait_unless(Poll&& poll, Hopeless&& hopeless) const {
        wait_until(poll, hopeless, std::chrono::steady_clock::time_point::max());
    }

    /// As wait(), but gives up after `limit`. False when it gave up.
    template <class Poll>
    [[nodiscard]] bool wait_for(Poll&& poll, Awaited awaited, std::chrono::nanoseconds limit) const {
        return wait_until(poll, [this, awaited] { return lost(awaited); }, deadline_after(limit));
    }

  private:
    /// Looks before anything else is thought of: about one microsecond, longer than any hand-off between two free
    /// processors.
    static constexpr int short_spin = 64;

    template <class Poll, class Hopeless>
    bool wait_until(Poll&& poll, Hopeless&& hopeless, std::chrono::steady_clock::time_point deadline) const {
        if (member_->far == nullptr) [[likely]]
            return wait_here(poll, hopeless, deadline);
        return wait_here([&] { return poll() || (member_->far->look() && poll()); }, hopeless, deadline);
    }

    template <class Poll, class Hopeless>
    bool wait_here(Poll&& poll, Hopeless&& hopeless, std::chrono::steady_clock::time_point deadline) const {
        for (int looks = 0; looks < short_spin; ++looks) {
            if (poll()) return true;
            relax();
        }
        const waiting::Brief brief;
        for (;;) {
            if (member_->interruption != nullptr) member_->interruption->look();
            const int who = hopeless();
            if (waiting::spin(poll, member_->policy, [] { relax(); })) return true;
            if (who >= 0) throw_lost(who);
            if (std::chrono::steady_clock::now() >= deadline) return false;
            bool fenced = false;
            Doorbell& bell = member_->seats[index()].bell;
            if (member_->far != nullptr) member_->far->look_away();
            if (Parking(bell.parked)
                    .park([&] { fenced = team::fence_all(*member_); }, poll,
                          [&] { waiting::sleep_on(bell, sleep_limit(fenced, deadline)); }))
                return true;
        }
    }

    team::State state_of(int rank) const {
        check(rank);
        return member_->seats[rank].state.load(std::memory_order_acquire);
    }
    void check(int rank) const {
        if (rank < 0 || rank >= size()) throw_no_such_rank(rank);
    }
    [[noreturn]] void throw_no_such_rank(int rank) const;
    /// The rank whose end makes waiting for `awaited` hopeless, or -1.
    int lost(Awaited awaited) const;
    static std::chrono::nanoseconds sleep_limit(bool fenced, std::chrono::steady_clock::time_point deadline) noexcept;

    team::Member* member_;
};

}  // namespace penstock
