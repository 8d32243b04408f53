// task layer: a recorded graph as it is run: a list of steps for each worker, and the counters by which workers wait
// for one another.
//
// Happens-before. A worker that has run a step which others wait for stores its position, release, into a line that
// lies with each of them; who waits loads it, acquire. Positions of later replays are larger, so nothing is ever reset.
// All lists follow the order in which the tasks were issued, and a task only waits for tasks issued before it: the
// first unfinished task of all lists never waits, so replays end.
#pragma once

#include <array>
#include <exception>
#include <limits>
#include <mutex>
#include <string_view>

#include "penstock/recording.hpp"

namespace penstock {

/// One task in the list of its worker. `begin` is where its waits, and then its signals, stand in
/// Replay::Worker::words.
struct alignas(64) ReplayStep {
    TaskPayload payload;
    std::uint32_t task;
    std::uint32_t begin;
    std::uint16_t waits;
    std::uint16_t signals;
    std::uint32_t position;  ///< in its list, from 1
};
static_assert(sizeof(ReplayStep) == 64);

struct Replay {
    /// A wait: until that worker has come so far. A signal: to that worker.
    struct Word {
        std::uint32_t worker;
        std::uint32_t position;
    };
    struct alignas(128) Counter {
        std::atomic<std::uint64_t> reached{0};
    };
    struct Worker {
        std::vector<ReplayStep> steps;
        std::vector<Extension> extensions;
        std::vector<Word> words;
        std::vector<Counter> counters;     ///< of each other worker, for this one to read
        std::vector<std::uint64_t> ticks;  ///< of each step, in the replay that measures
    };
    /// Needs no memory: it may be for want of that that a task failed.
    struct Failed {
        std::string_view task;
        int target = -1;
        std::exception_ptr cause;
    };

    std::vector<RecordedTask> tasks;
    std::vector<double> weights;  ///< of each task, in ticks
    std::vector<Worker> workers;
    std::size_t crossings = 0;
    std::atomic<bool> abandoned{false};  ///< not all workers were to be had: who waits for another goes home
    std::uint64_t number = 0;            ///< of the replay under way, from 1
    bool measured = false;
    bool measuring = false;                        ///< the tasks are being timed
    std::atomic<bool> failing{false};              ///< a task of this replay has failed
    std::vector<std::atomic<std::uint64_t>> lost;  ///< for each task: the replay in which it failed or did not run
    std::mutex mutex;
    Failed first_failed;
    std::size_t failed = 0;

    // ---- who runs what ----
    //
    // What a way of dealing out is worth depends on how blocks lie in memory and on what the processors fetch ahead,
    // which no sum over the tasks tells. So each is tried, in two replays, and the fastest is kept.

    /// Strips of memory for each worker, who runs what writes there; 0: each task goes where it would end first.
    static constexpr std::array<std::uint32_t, 3> ways{0, 4, 16};
    static constexpr std::uint32_t replays_of_a_way = 2;  ///< the first brings the blocks where they will be
    static constexpr std::uint32_t trials = ways.size() * replays_of_a_way;
    static constexpr std::uint32_t replays_until_settled = 1 + trials;  ///< from the next one on all are laid out alike
    std::uint32_t trial = 0;                                            ///< which replay of these comes next
    std::array<double, ways.size()> fastest = [] {                      ///< ticks of a replay
        std::array<double, ways.size()> none;
        none.fill(std::numeric_limits<double>::infinity());
        return none;
    }();

    /// Before a replay: lays out what it tries, or what has won.
    void prepare(std::size_t workers_now);
    /// Behind one without a failure: it took so many ticks.
    void took(double ticks) noexcept;
    /// `strips`: one of ways.
    void lay_out(std::size_t workers_now, std::uint32_t strips);
    /// For each task the worker in whose strips the largest block lies that it writes; nobody, where it writes none.
    std::vector<std::uint32_t> owners(std::uint32_t worker_count, std::uint32_t strips) const;
    /// What a position is called in this replay. No list is longer than all tasks are, so this grows from replay to
    /// replay, and comes to an end only after 2^64 tasks.
    std::uint64_t word_of(std::uint32_t position) const noexcept { return number * (tasks.size() + 1) + position; }
    bool comes_after_lost(std::uint32_t task) const noexcept;
};

}  // namespace penstock
