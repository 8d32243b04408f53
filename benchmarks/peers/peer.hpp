// What is asked of each rival: the same three things, written the way its own documentation recommends, with its
// threads kept on processors where it has a way to say so.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/measure.hpp"

namespace bench {

/// The null task of everybody: a call that no compiler can see through (an empty body would be removed, task and all).
void null_task();

/// One rival, or one way of using it. Each member returns the nanoseconds of one operation; an empty one means that the
/// rival has no such thing.
struct Peer {
    std::string name;
    /// One null task issued and waited for; the rival may run it in the waiting thread.
    std::function<void()> round_trip = {};
    /// One null task that another processor executes, and the way back.
    std::function<void()> hand_off = {};
    /// `tasks` null tasks issued by one thread, then one wait for all of them.
    std::function<void(int tasks)> many = {};
    /// Surrounds a whole batch: enters what must be entered (an OpenMP parallel region, a TBB arena) and keeps the
    /// calling thread on the first processor where the rival's own threads stay away from it.
    std::function<void(const std::function<void()>&)> inside = [](const auto& batch) { batch(); };
};

Peer onetbb_peer();               ///< oneTBB task_group, and task_arena::enqueue for the hand-off
Peer onetbb_parallel_for_peer();  ///< oneTBB parallel_for with one iteration a task: its workers split the range
                                  ///< themselves
Peer openmp_peer();               ///< OpenMP task and taskwait
Peer openmp_depend_peer();        ///< the same with depend clauses
Peer async_peer();                ///< std::async, a thread a task
Peer taskflow_peer();             ///< Taskflow, asynchronous tasks
Peer taskflow_static_peer();      ///< Taskflow, a graph made once and run again

/// All that this program was built with; the functions of the others are declared and not defined.
std::vector<Peer> all_peers();

/// Turns one of the three into a contestant. The wrapping is outside of what is timed.
Contestant round_trip_of(const Peer& peer, int operations);
Contestant hand_off_of(const Peer& peer, int operations);
Contestant throughput_of(const Peer& peer, int tasks);

}  // namespace bench
