// store layer: one function, n ranks. `spmd(4, [](Rank me) { ... })` runs it in four threads; with {.substrate =
// Substrate::processes} in four processes; with {.cluster = &cluster} on the nodes of a cluster. Nothing else of the
// program changes, as long as ranks share nothing but what they grant.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "penstock/error.hpp"
#include "penstock/launch.hpp"
#include "penstock/rank.hpp"

namespace penstock {

class Cluster;

/// How a team runs.
struct SpmdOptions {
    Substrate substrate = Substrate::threads;  ///< threads or processes; with a cluster: nodes
    /// How long accept() waits for a grant unless it is told otherwise.
    std::chrono::nanoseconds accept_within = std::chrono::seconds{10};
    /// Pin each rank to a processor of its own, where there are enough of them.
    bool pin = true;
    /// On whose nodes the ranks run (docs/nodes.md), each a thread of the agent there; null: on this machine.
    Cluster* cluster = nullptr;
    /// The group of nodes; empty: all nodes of the cluster.
    std::string_view nodes{};
};

/// A rank ended by an exception. On threads `cause()` is the exception itself; from another process it is an Error with
/// its text.
class RankFailed : public Error {
  public:
    RankFailed(int rank, std::exception_ptr cause, int others = 0);
    /// Which rank failed first.
    int rank() const noexcept { return rank_; }
    std::exception_ptr cause() const noexcept { return cause_; }  ///< never null
    int others() const noexcept { return others_; }               ///< how many more ranks failed or died

  private:
    int rank_;
    std::exception_ptr cause_;
    int others_;
};

namespace team {

/// The program of a team: calls `call(closure, rank)` in each rank.
struct Program {
    void (*call)(const void* closure, Rank rank) = nullptr;
    const void* closure = nullptr;
    std::size_t bytes = 0;  ///< of the closure
    bool sendable = false;  ///< byte by byte, to the process that launch() started
    bool function = false;  ///< the closure is the address of a function
};

inline constexpr std::size_t largest_sent_closure = 192;

void run(int size, const Program& program, const SpmdOptions& options);

}  // namespace team

/// Runs `function(rank)` in `size` ranks (1 to 256) and returns when all have come to its end.
///
/// With processes, each rank is a copy of this process at this moment: it sees what the caller had, and what it writes
/// into that stays its own. That takes a caller with one thread. One with more needs launch(): then each rank is a copy
/// of the program as it was at launch(), and `function` is sent there, so it must be trivially copyable, of at most 192
/// bytes, and refer to nothing that was made since.
///
/// With a cluster, of whose m nodes number i has the ranks from size * i / m on, `function` goes to agents that are the
/// same build of the program (become_agent), so it must be trivially copyable too, of at most 192 bytes, and refer to
/// nothing. Mutex, SharedMutex and Condition refuse such a team with NotOverNodes.
///
/// Throws RankDied when the process of a rank died, or its node was lost; RankFailed with the first exception that
/// ended a rank; UsageError; NodeDied when a node died before the team began.
///
/// Costs about 50 us for each thread and from 200 us for each process, and about 15 ms more where the caller
/// has threads.
template <class Function>
    requires std::invocable<const std::decay_t<Function>&, Rank>
void spmd(int size, Function&& function, SpmdOptions options = {}) {
    using Closure = std::decay_t<Function>;
    const Closure closure(std::forward<Function>(function));
    const auto call = [](const void* held, Rank rank) { std::invoke(*static_cast<const Closure*>(held), rank); };
    constexpr bool sendable = std::is_trivially_copyable_v<Closure> && sizeof(Closure) <= team::largest_sent_closure &&
                              alignof(Closure) <= 64;
    constexpr bool of_function = std::is_pointer_v<Closure> && std::is_function_v<std::remove_pointer_t<Closure>>;
    team::run(size, {call, &closure, sizeof(Closure), sendable, of_function}, options);
}

}  // namespace penstock
