#include "task/calls/prefetcher.hpp"

#include <algorithm>
#include <bit>

#include "penstock/detail/task/long_copy.hpp"
#include "task/calls/lines_ahead.hpp"

namespace penstock {
namespace {

/// Are rows apart from one another, or a piece in which the processor's own prefetcher has hardly begun when it ends?
/// Of blocks that will be copied the beginnings are, where they are not so long that it makes no difference.
bool worth_a_look(const ArgumentBlock& block) noexcept {
    const auto bytes = block.bytes();
    if (bytes < Prefetcher::least_bytes) return false;
    if (block.rows == 1) return bytes <= Prefetcher::most_bytes && (!block.staged || bytes < long_copy::least_bytes);
    return block.rows >= Prefetcher::least_rows && block.row_bytes <= Prefetcher::longest_row;
}

constexpr std::uint32_t long_shape = 1 << 16;

/// Tasks of about the same shape share a decision: the powers of two of rows and bytes of the largest argument. 0:
/// nothing is worth a look.
std::uint32_t shape_of(const ArgumentBlock* blocks, std::size_t count) noexcept {
    if (!std::any_of(blocks, blocks + count, worth_a_look)) return 0;
    const auto smaller = [](const ArgumentBlock& a, const ArgumentBlock& b) { return a.bytes() < b.bytes(); };
    const auto* largest = std::max_element(blocks, blocks + count, smaller);
    const auto both =
        static_cast<std::uint32_t>(std::bit_width(largest->rows) << 8 | std::bit_width(largest->row_bytes));
    return largest->bytes() >= Prefetcher::long_bytes ? both | long_shape : both;
}

}  // namespace

std::size_t Prefetcher::consider(const Entry& entry, const TaskPayload& payload, std::byte* extension) noexcept {
    const PackedArguments arguments{const_cast<std::byte*>(payload.line), extension,
                                    (payload.flags & TaskPayload::boxed) != 0};
    LinesAhead& lines = LinesAhead::here();
    const auto parts = lines.restart();
    auto way = Way::into_first_cache;
    if (mode_ == Prefetch::measured) {
        if (payload.entry != last_entry_) {
            last_entry_ = payload.entry;
            alike_ = 0;
            interrupted();
        } else {
            ++alike_;
        }
        Stretch& stretch = stretches_[payload.entry % stretches_.size()];
        if (stretch.left == 0 || stretch.entry != payload.entry) [[unlikely]]
            begin_stretch(stretch, payload.entry, shape_of(lines.blocks(), entry.describe(arguments, lines.blocks())));
        --stretch.left;
        way = stretch.way;
        if (way == Way::not_at_all) return 0;
    }
    const auto bytes = lines.set(entry.describe(arguments, lines.blocks()),
                                 way == Way::into_first_cache ? Nearness::first_cache : Nearness::second_cache,
                                 most_bytes, most_staged);
    if (parts == 0) lines.fetch_all();
    else lines.share_out(parts);
    return bytes;
}

void Prefetcher::begin_stretch(Stretch& stretch, std::uint32_t entry, std::uint32_t shape) noexcept {
    const auto now = std::max(std::uint64_t{1}, clock_());
    const auto tasks = (shape & long_shape) != 0 ? short_window : window;
    // A window begins a task late: the arguments of its first one were fetched, or not, as in the window before.
    const bool settled = stretch.begin != 0;
    alike_ = 0;
    if (stretch.timed && stretch.left == 0 && stretch.entry == entry) {
        if (settled) {
            end_window(stretch, now);
        } else if (stretch.shape == shape) {
            stretch.left = tasks;
            stretch.begin = now;
            stretch.breaks = breaks_;
            return;
        }
    }
    // Two procedures that share a place and run in turn never come to the end of a window: nothing is fetched for them.
    const bool displaces = stretch.entry != 0 && stretch.entry != entry && (stretch.left != 0 || stretch.timed);
    stretch = {.entry = entry, .shape = shape, .left = displaces ? window : unseen};
    if (shape == 0 || displaces) return;
    Trial& trial = trial_of(entry, shape);
    if (trial.entry != entry || trial.shape != shape) {
        trial = Trial{.entry = entry, .shape = shape};
        trial.best.restart(1);
    }
    stretch.way = static_cast<Way>(trial.best.way());
    if (trial.held == 0) {
        stretch.left = 1;
        stretch.timed = true;
        return;
    }
    if (stretch.way != Way::not_at_all) stretch.left = window;  // it is looked at anyway; shapes may change
    stretch.left = std::min(stretch.left, trial.held);
    trial.held -= stretch.left;
    if (trial.held == 0) trial.best.restart(1);
}

Prefetcher::Trial& Prefetcher::trial_of(std::uint32_t entry, std::uint32_t shape) noexcept {
    return trials_[(entry * 31 + (shape >> 8) * 7 + shape) % trials_.size()];
}

void Prefetcher::end_window(const Stretch& stretch, std::uint64_t now) noexcept {
    Trial& trial = trial_of(stretch.entry, stretch.shape);
    if (trial.entry != stretch.entry || trial.shape != stretch.shape || trial.held != 0 ||
        trial.best.way() != static_cast<std::size_t>(stretch.way))
        return;
    if (stretch.breaks != breaks_) {
        // Tasks that never run back to back are not waited for by anybody: leave them alone for a while.
        if (++trial.broken > 8 * BestWay<ways>::samples) {
            trial.best.restart(0);
            decide(trial, Way::not_at_all);
        }
        return;
    }
    trial.broken = 0;
    if (trial.best.add(now - stretch.begin)) decide(trial, static_cast<Way>(trial.best.way()));
}

void Prefetcher::decide(Trial& trial, Way way) noexcept {
    const bool again = trial.length != 0 && trial.decided == way;
    trial.length = again ? std::min(2 * trial.length, most_held) : least_held;
    trial.held = trial.length;
    trial.decided = way;
    trial.broken = 0;
}

}  // namespace penstock
