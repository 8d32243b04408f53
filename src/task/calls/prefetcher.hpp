// task layer: which tasks' arguments are worth fetching ahead, decided by measuring both ways on the tasks themselves.
//
// Whether a prefetch pays depends on shape, size, where the data lie and what the task does with them; tables of shapes
// were tried on paper and always have a case in which they lose. So for each procedure (and rough shape) windows of
// tasks run with and without prefetch in turn; medians are compared; the better way holds for a while, then the
// question is asked again. What it costs: two reads of the clock a window and the worse way in a few windows of each
// hundred. `./bench paper prefetch` shows gains and the worst case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "penstock/detail/task/entry.hpp"
#include "penstock/options.hpp"
#include "task/calls/two_ways.hpp"

namespace penstock {

class Prefetcher {
  public:
    static constexpr std::uint32_t window = 16;           ///< tasks timed together
    static constexpr std::uint32_t hold = 160;            ///< windows that a decision lasts
    static constexpr std::size_t most_bytes = 64 * 1024;  ///< fetched ahead for one task
    static constexpr std::size_t most_staged = 1024;      ///< of a block in one piece that will be copied
    static constexpr std::size_t least_bytes = 512;       ///< smaller arguments are not worth a look
    static constexpr std::size_t least_rows = 4;          ///< nor are those in fewer pieces
    static constexpr std::size_t longest_row = 4096;      ///< nor are those in longer pieces

    explicit Prefetcher(Prefetch mode) noexcept : mode_(mode) {}

    /// Could tasks of this procedure have arguments that are worth a look?
    bool may_pay(const Entry& entry) const noexcept {
        // What lies in one piece the processor's own prefetcher brings as fast; asking for it again cost up to a fifth
        // (16 and 64 KiB in one piece, `./bench paper prefetch`).
        return mode_ == Prefetch::measured ? entry.has_rows || entry.stages
                                           : mode_ == Prefetch::always && entry.has_blocks;
    }
    /// Called before the current task runs, with the task that will run next. Returns the bytes asked for.
    std::size_t next(const TaskPayload& payload, std::byte* extension) noexcept {
        const Entry& entry = entry_of(payload.entry);
        return may_pay(entry) ? consider(entry, payload, extension) : 0;
    }
    /// The tasks that follow do not run back to back with those before: the window in progress says nothing.
    void interrupted() noexcept { ++breaks_; }

  private:
    struct Trial {
        std::uint32_t entry = 0;
        std::uint32_t shape = 0;
        std::uint32_t count = 0;    ///< tasks in this window
        std::uint32_t windows = 0;  ///< while measuring: windows so far; while holding: windows left
        std::uint32_t broken = 0;   ///< windows in a row that said nothing
        bool holding = false;
        std::uint64_t begin = 0;
        std::uint64_t breaks = 0;
        TwoWays ways{};
    };

    std::size_t consider(const Entry& entry, const TaskPayload& payload, std::byte* extension) noexcept;
    void end_window(Trial& trial, std::uint32_t shape) noexcept;

    Prefetch mode_;
    std::uint32_t last_entry_ = 0;
    std::uint64_t breaks_ = 0;
    std::array<Trial, 32> trials_{};
};

}  // namespace penstock
