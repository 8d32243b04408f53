#include "penstock/recording.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/pack.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/dependent/replay.hpp"

namespace penstock {
namespace {

/// What waiting for another worker is taken to cost when tasks are dealt out, in ticks: about two lines between two
/// cores.
constexpr double hand_over = 500;
/// What a task is taken to cost before it has been measured.
constexpr double unmeasured = 2000;

}  // namespace

// ---- who runs what ----

std::vector<std::uint32_t> Replay::owners(std::uint32_t worker_count, std::uint32_t strips) const {
    struct Block {
        std::size_t bytes = 0;
        std::uint32_t owner = 0;
    };
    std::map<const std::byte*, Block> written;
    std::vector<const std::byte*> largest(tasks.size());
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        std::array<ArgumentBlock, Entry::max_blocks> blocks;
        const PackedArguments arguments{const_cast<std::byte*>(tasks[t].payload.line),
                                        const_cast<std::byte*>(tasks[t].extension.bytes), false};
        const auto count = entry_of(tasks[t].payload.entry).describe(arguments, blocks.data());
        std::size_t most = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (blocks[i].access == Access::in || blocks[i].bytes() <= most) continue;
            most = blocks[i].bytes();
            largest[t] = blocks[i].base;
        }
        if (largest[t] == nullptr) continue;
        auto& bytes = written[largest[t]].bytes;
        bytes = std::max(bytes, most);
    }
    std::size_t all = 0, before = 0;
    for (const auto& [base, block] : written) all += block.bytes;
    for (auto& [base, block] : written) {
        block.owner = static_cast<std::uint32_t>(before * worker_count * strips / all % worker_count);
        before += block.bytes;
    }
    std::vector<std::uint32_t> owners(tasks.size(), worker_count);
    for (std::size_t t = 0; t < tasks.size(); ++t)
        if (largest[t] != nullptr) owners[t] = written[largest[t]].owner;
    return owners;
}

void Replay::prepare(std::size_t workers_now) {
    if (measuring) {
        for (auto& worker : workers)
            for (std::size_t i = 0; i < worker.steps.size(); ++i)
                weights[worker.steps[i].task] = static_cast<double>(worker.ticks[i]);
        measuring = false;
        measured = true;
        lay_out(workers_now, ways[0]);
    } else if (!measured) {
        measuring = workers_now > 1;  // one worker runs them all, in their order
    } else if (trial < trials && ++trial % replays_of_a_way == 0) {
        const auto best = static_cast<std::size_t>(std::ranges::min_element(fastest) - fastest.begin());
        lay_out(workers_now, trial == trials ? ways[best] : ways[trial / replays_of_a_way]);
    }
}

void Replay::took(double ticks) noexcept {
    if (!measured || trial == trials) return;
    auto& known = fastest[trial / replays_of_a_way];
    known = std::min(known, ticks);
}

/// Each task in turn goes to the worker on which it would end first: that is where its predecessors ran, unless too
/// much waits there. With strips it goes to their owner.
void Replay::lay_out(std::size_t workers_now, std::uint32_t strips) {
    const auto worker_count = static_cast<std::uint32_t>(workers_now);
    const auto owner =
        strips == 0 ? std::vector<std::uint32_t>(tasks.size(), worker_count) : owners(worker_count, strips);
    workers = std::vector<Worker>(worker_count);
    for (Worker& worker : workers) worker.counters = std::vector<Counter>(worker_count);
    std::vector<double> free_at(worker_count), end(tasks.size());
    std::vector<std::uint32_t> home(tasks.size()), position(tasks.size());
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
        double best = 0;
        std::uint32_t chosen = worker_count;
        for (std::uint32_t w = 0; w < worker_count; ++w) {
            const auto only = tasks[t].target >= 0 ? static_cast<std::uint32_t>(tasks[t].target) : owner[t];
            if (only != worker_count && only != w) continue;
            double start = free_at[w];
            for (const auto p : tasks[t].predecessors) start = std::max(start, end[p] + (home[p] == w ? 0 : hand_over));
            // Between equals the one that already holds what the task touches.
            const bool nearer = !tasks[t].predecessors.empty() && home[tasks[t].predecessors.back()] == w;
            if (chosen == worker_count || start < best || (start == best && nearer)) {
                best = start;
                chosen = w;
            }
        }
        home[t] = chosen;
        end[t] = free_at[chosen] = best + weights[t];
        position[t] = static_cast<std::uint32_t>(workers[chosen].steps.size()) + 1;
        workers[chosen].steps.push_back({tasks[t].payload, t, 0, 0, 0, position[t]});
        workers[chosen].extensions.push_back(tasks[t].extension);
    }
    // What each task waits for, without what its worker has waited for before.
    std::vector<std::vector<Word>> waits(tasks.size()), signals(tasks.size());
    std::vector<std::vector<std::uint32_t>> seen(worker_count, std::vector<std::uint32_t>(worker_count));
    crossings = 0;
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
        std::vector<std::uint32_t> last(worker_count, ~0u);  // the latest predecessor on each other worker
        for (const auto p : tasks[t].predecessors)
            if (home[p] != home[t] && (last[home[p]] == ~0u || position[p] > position[last[home[p]]]))
                last[home[p]] = p;
        for (std::uint32_t w = 0; w < worker_count; ++w) {
            if (last[w] == ~0u || position[last[w]] <= seen[home[t]][w]) continue;
            seen[home[t]][w] = position[last[w]];
            waits[t].push_back({w, position[last[w]]});
            signals[last[w]].push_back({home[t], 0});
        }
        crossings += waits[t].empty() ? 0 : 1;
    }
    for (Worker& worker : workers) {
        for (ReplayStep& step : worker.steps) {
            step.begin = static_cast<std::uint32_t>(worker.words.size());
            step.waits = static_cast<std::uint16_t>(waits[step.task].size());
            step.signals = static_cast<std::uint16_t>(signals[step.task].size());
            worker.words.insert(worker.words.end(), waits[step.task].begin(), waits[step.task].end());
            worker.words.insert(worker.words.end(), signals[step.task].begin(), signals[step.task].end());
        }
        worker.ticks.assign(worker.steps.size(), 0);
    }
}

bool Replay::comes_after_lost(std::uint32_t task) const noexcept {
    const auto& predecessors = tasks[task].predecessors;
    return std::any_of(predecessors.begin(), predecessors.end(),
                       [this](std::uint32_t p) { return lost[p].load(std::memory_order_relaxed) == number; });
}

// ---- the recording ----

Recording::Recording(Machine& machine, std::vector<RecordedTask> tasks)
    : machine_(&machine), replay_(std::make_unique<Replay>()) {
    replay_->lost = std::vector<std::atomic<std::uint64_t>>(tasks.size());
    replay_->weights.assign(tasks.size(), unmeasured);
    replay_->tasks = std::move(tasks);
    for (std::size_t t = 0; t < replay_->tasks.size(); ++t) {
        auto& predecessors = replay_->tasks[t].predecessors;
        std::sort(predecessors.begin(), predecessors.end());
        predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
    }
    replay_->lay_out(static_cast<std::size_t>(machine.targets()) + 1, 0);
}
Recording::~Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

std::size_t Recording::tasks() const noexcept { return replay_->tasks.size(); }
std::size_t Recording::crossings() const noexcept { return replay_->crossings; }

void Recording::replay() {
    Replay& all = *replay_;
    Machine& machine = *machine_;
    if (machine.in_task())
        throw UsageError(
            "a recording cannot be replayed inside a task: its targets may be waiting for this one; replay it outside");
    Initiator& self = machine.initiator();
    const auto alone = self.alone();
    const auto no_callbacks = self.no_callbacks();  // one that replays would wait for this replay
    const std::lock_guard one_at_a_time(self.core().replays());
    const auto targets = static_cast<std::uint32_t>(machine.targets());
    all.prepare(std::size_t{targets} + 1);
    ++all.number;
    all.failing.store(false, std::memory_order_relaxed);
    std::vector<Handle> handles;
    handles.reserve(targets);
    // A share in progress uses this recording: whatever happens, nobody leaves before all have ended.
    const auto wait_for_all = [&] {
        for (const Handle& handle : handles) {
            for (bool ended = false; !ended;) {
                try {
                    handle.wait();
                    ended = true;
                } catch (const Stalled&) {
                    // A share is one task, and may well take longer than the watchdog thinks.
                }
            }
        }
    };
    all.abandoned.store(false, std::memory_order_relaxed);
    const auto begin = Clock::ticks();
    try {
        for (std::uint32_t t = 0; t < targets; ++t) {
            if (all.workers[t].steps.empty()) continue;
            handles.push_back(machine.on(static_cast<int>(t))
                                  .call([](Replay* replay, std::uint32_t worker,
                                           Machine* where) { run_share(*replay, worker, *where); },
                                        &all, t, machine_));
        }
    } catch (...) {
        all.abandoned.store(true, std::memory_order_relaxed);
        wait_for_all();
        all.measuring = false;
        throw;
    }
    run_share(all, targets, machine);
    wait_for_all();
    if (all.failed == 0) return all.took(static_cast<double>(Clock::ticks() - begin));
    const auto first = std::exchange(all.first_failed, {});
    const auto others = std::exchange(all.failed, 0) - 1;
    throw TaskFailed(std::string(first.task), first.target, first.cause, others);
}

void Recording::run_share(Replay& replay, std::uint32_t worker, Machine& machine) {
    machine.initiator().runner().replay(replay, worker);
}

std::size_t Recording::rebind(std::byte* from, std::size_t from_bytes, std::byte* to, std::size_t to_bytes) {
    if (from_bytes != to_bytes)
        throw UsageError("rebind: the new memory has " + std::to_string(to_bytes) + " bytes and the old " +
                         std::to_string(from_bytes) + "; give two of one size");
    std::size_t moved = 0;
    for (RecordedTask& task : replay_->tasks) {
        for (const AddressPlace& place : task.addresses) {
            std::byte* const at = (place.in_line ? task.payload.line : task.extension.bytes) + place.offset;
            auto* const address = static_cast<std::byte*>(packing::load_address(at));
            if (address < from || address >= from + from_bytes) continue;
            packing::store_address(at, to + (address - from));
            ++moved;
        }
    }
    for (auto& worker : replay_->workers) {
        for (std::size_t i = 0; i < worker.steps.size(); ++i) {
            worker.steps[i].payload = replay_->tasks[worker.steps[i].task].payload;
            worker.extensions[i] = replay_->tasks[worker.steps[i].task].extension;
        }
    }
    return moved;
}

}  // namespace penstock
