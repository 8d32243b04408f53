// task layer: which tasks' arguments are worth fetching ahead, decided by measuring all ways on the tasks themselves.
//
// Whether a prefetch pays, and into which cache, depends on shape, size, where the data lie and what the task does with
// them; tables of shapes were tried on paper and always have a case in which they lose. So for each procedure and rough
// shape windows of tasks run without prefetch and with each kind of it in turn; medians are compared; the best way
// holds for a while, then the question is asked again, the more seldom the oftener the answer was the same. While the
// answer is no, tasks are not looked at but for one in some hundred. What it costs: two reads of the clock a window
// and the worse ways in a few windows. `./bench prefetch` shows gains and the worst case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/options.hpp"
#include "task/calls/best_way.hpp"

namespace penstock {

class Prefetcher {
  public:
    enum class Way : std::uint8_t { not_at_all, into_first_cache, into_second_cache };
    static constexpr std::size_t ways = 3;
    using Clock = std::uint64_t (*)();

    static constexpr std::uint32_t window = 16;         ///< tasks timed together
    static constexpr std::uint32_t short_window = 4;    ///< the same of long ones, whose times vary less
    static constexpr std::size_t long_bytes = 16'384;   ///< of a long one, in the argument that is largest
    static constexpr std::uint32_t least_held = 2560;   ///< tasks that a decision lasts
    static constexpr std::uint32_t most_held = 40'960;  ///< the same where it has been made again and again
    static constexpr std::uint32_t unseen = 256;        ///< tasks not looked at where nothing is fetched
    static constexpr std::size_t most_bytes =
        64 * 1024;                                    ///< fetched ahead for one task; longer pieces are not worth it
    static constexpr std::size_t most_staged = 1024;  ///< of a block in one piece that will be copied
    static constexpr std::size_t least_bytes = 512;   ///< smaller arguments are not worth a look
    static constexpr std::size_t least_rows = 4;      ///< nor are those in fewer pieces
    static constexpr std::size_t longest_row = 4096;  ///< nor are those in longer pieces

    /// `clock`: what windows are timed by.
    explicit Prefetcher(
        Prefetch mode, Clock clock = [] { return std::uint64_t{penstock::Clock::ticks()}; }) noexcept
        : mode_(mode), clock_(clock) {}

    /// Could tasks of this procedure have arguments that are worth a look?
    bool may_pay(const Entry& entry) const noexcept {
        return mode_ == Prefetch::measured ? entry.has_rows || entry.stages
                                           : mode_ == Prefetch::always && entry.has_blocks;
    }
    /// True where the next `tasks` of this procedure need not be shown to next(): nothing would be fetched.
    bool passes_over(std::uint32_t entry, std::uint32_t tasks) noexcept {
        Stretch& stretch = stretches_[entry % stretches_.size()];
        if (entry != last_entry_ || stretch.entry != entry || stretch.left <= tasks || stretch.timed ||
            stretch.way != Way::not_at_all || alike_ < least_alike)
            return false;
        stretch.left -= tasks;
        return true;
    }
    /// Called before the current task runs, with the task that will run next. Returns the bytes asked for.
    std::size_t next(const TaskPayload& payload, std::byte* extension) noexcept {
        const Entry& entry = entry_of(payload.entry);
        return may_pay(entry) ? consider(entry, payload, extension) : 0;
    }
    /// In which way the task of this procedure that next() saw last is fetched, while tasks are measured.
    Way way(std::uint32_t entry) const noexcept { return stretches_[entry % stretches_.size()].way; }
    /// Would the arguments of one more task of this procedure be asked for, as far as is known?
    bool fetches(const Entry& entry, std::uint32_t number) const noexcept {
        return may_pay(entry) && (mode_ == Prefetch::always || way(number) != Way::not_at_all);
    }
    /// The tasks that follow do not run back to back with those before: the window in progress says nothing.
    void interrupted() noexcept { ++breaks_; }

  private:
    static constexpr std::uint32_t least_alike = 4;  ///< tasks of one procedure in a row before any is passed over

    /// What one procedure and shape was found to do best.
    struct Trial {
        std::uint32_t entry = 0;
        std::uint32_t shape = 0;
        std::uint32_t held = 0;         ///< tasks for which the decision still holds; 0: it is being measured
        std::uint32_t length = 0;       ///< tasks for which it was to hold
        std::uint32_t broken = 0;       ///< windows in a row that said nothing
        Way decided = Way::not_at_all;  ///< the last time
        BestWay<ways> best{};
    };
    /// Some tasks of one procedure that run in one way.
    struct Stretch {
        std::uint32_t entry = 0;
        std::uint32_t shape = 0;
        std::uint32_t left = 0;  ///< tasks
        Way way = Way::not_at_all;
        bool timed = false;       ///< a window
        std::uint64_t begin = 0;  ///< of a window; 0 during the task before it
        std::uint64_t breaks = 0;
    };

    std::size_t consider(const Entry& entry, const TaskPayload& payload, std::byte* extension) noexcept;
    void begin_stretch(Stretch& stretch, std::uint32_t entry, std::uint32_t shape) noexcept;
    Trial& trial_of(std::uint32_t entry, std::uint32_t shape) noexcept;
    void end_window(const Stretch& stretch, std::uint64_t now) noexcept;
    static void decide(Trial& trial, Way way) noexcept;

    Prefetch mode_;
    Clock clock_;
    std::uint32_t last_entry_ = 0;
    std::uint32_t alike_ = 0;  ///< tasks of last_entry_ in a row
    std::uint64_t breaks_ = 0;
    std::array<Stretch, 32> stretches_{};
    std::array<Trial, 32> trials_{};
};

}  // namespace penstock
