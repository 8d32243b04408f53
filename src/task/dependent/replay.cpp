// One worker's part of a recording.
#include "task/dependent/replay.hpp"

#include <mutex>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "task/calls/running.hpp"

namespace penstock {

[[gnu::always_inline]] inline void Runner::run_step(Replay& replay, const ReplayStep& step,
                                                    Extension& extension) noexcept {
    // Relaxed: who waited for a task of another worker has acquired what that one stored before it signalled.
    if (replay.failing.load(std::memory_order_relaxed) && replay.comes_after_lost(step.task)) [[unlikely]] {
        replay.lost[step.task].store(replay.number, std::memory_order_relaxed);
        return;
    }
    const Entry& entry = entry_of(step.payload.entry);
    try {
        entry.run({const_cast<std::byte*>(step.payload.line), extension.bytes, false}, store_);
    } catch (...) {
        counters_.failed.add();
        replay.lost[step.task].store(replay.number, std::memory_order_relaxed);
        replay.failing.store(true, std::memory_order_relaxed);
        const std::lock_guard lock(replay.mutex);
        if (replay.failed++ == 0) replay.first_failed = {entry.name, target_, std::current_exception()};
    }
    self_.leave_scope();
}

void Runner::replay(Replay& replay, std::uint32_t worker) noexcept {
    Replay::Worker& mine = replay.workers[worker];
    const Inside inside(*this);
    for (std::size_t i = 0; i < mine.steps.size(); ++i) {
        const ReplayStep& step = mine.steps[i];
        const Replay::Word* word = mine.words.data() + step.begin;
        for (std::uint32_t w = 0; w < step.waits; ++w, ++word) [[unlikely]] {
            const auto& reached = mine.counters[word->worker].reached;
            const auto wanted = replay.word_of(word->position);
            for (std::uint32_t looks = 1; reached.load(std::memory_order_acquire) < wanted; ++looks) {
                relax();
                if (looks % 1024 != 0) continue;
                if (replay.abandoned.load(std::memory_order_relaxed)) return;
                waiting::yield();  // the other worker may have no processor now
            }
        }
        const auto begin = replay.measuring ? Clock::ticks() : 0;
        run_step(replay, step, mine.extensions[i]);
        if (replay.measuring) [[unlikely]]
            mine.ticks[i] = Clock::ticks() - begin;
        for (std::uint32_t s = 0; s < step.signals; ++s, ++word) [[unlikely]]
            replay.workers[word->worker].counters[worker].reached.store(replay.word_of(step.position),
                                                                        std::memory_order_release);
    }
}

}  // namespace penstock
