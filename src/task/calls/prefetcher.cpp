#include "task/calls/prefetcher.hpp"

#include <bit>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/long_copy.hpp"

namespace penstock {
namespace {

constexpr std::size_t line = 64;  // a larger line only makes some of the requests redundant

std::size_t fetch(const ArgumentBlock& block, std::size_t budget) noexcept {
    // What is asked for at once stands still as soon as a processor has as many lines on the way as it can have. The
    // rest of what lies in one piece comes as fast when it is copied.
    if (block.staged && block.rows == 1) budget = std::min(budget, Prefetcher::most_staged);
    std::size_t bytes = 0;
    const std::byte* row = block.base;
    for (std::size_t r = 0; r < block.rows && bytes < budget; ++r, row += block.pitch) {
        const auto length = std::min(block.row_bytes, budget - bytes);
        const std::byte* const end = row + length;
        const auto skew = reinterpret_cast<std::uintptr_t>(row) % line;
        if (block.access == Access::in)
            for (const std::byte* at = row - skew; at < end; at += line) prefetch_read(at);
        else
            for (const std::byte* at = row - skew; at < end; at += line) prefetch_write(at);
        bytes += length;
    }
    return bytes;
}

/// Tasks of about the same shape share a decision: the powers of two of rows and bytes of the largest argument.
std::uint32_t shape_of(const ArgumentBlock* blocks, std::size_t count) noexcept {
    const auto smaller = [](const ArgumentBlock& a, const ArgumentBlock& b) { return a.bytes() < b.bytes(); };
    const auto* largest = std::max_element(blocks, blocks + count, smaller);
    if (largest == blocks + count) return 0;
    return static_cast<std::uint32_t>(std::bit_width(largest->rows) << 8 | std::bit_width(largest->row_bytes)) + 1;
}

/// Only rows apart from one another are fetched ahead, and the beginnings of blocks that will be copied, where these
/// are not so long that their beginnings make no difference.
bool worth_a_look(const ArgumentBlock* blocks, std::size_t count) noexcept {
    return std::any_of(blocks, blocks + count, [](const ArgumentBlock& block) {
        if (block.staged && block.rows == 1)
            return block.bytes() >= Prefetcher::least_bytes && block.bytes() < long_copy::least_bytes;
        return block.rows >= Prefetcher::least_rows && block.row_bytes <= Prefetcher::longest_row &&
               block.bytes() >= Prefetcher::least_bytes;
    });
}

}  // namespace

std::size_t Prefetcher::consider(const Entry& entry, const TaskPayload& payload, std::byte* extension) noexcept {
    const PackedArguments arguments{const_cast<std::byte*>(payload.line), extension,
                                    (payload.flags & TaskPayload::boxed) != 0};
    std::array<ArgumentBlock, Entry::max_blocks> blocks;
    if (mode_ == Prefetch::measured) {
        if (payload.entry != last_entry_) {
            last_entry_ = payload.entry;
            interrupted();
        }
        Trial& trial = trials_[payload.entry % trials_.size()];
        if (trial.entry != payload.entry) trial = Trial{.entry = payload.entry};
        if (++trial.count >= window) {
            const auto count = entry.describe(arguments, blocks.data());
            end_window(trial, worth_a_look(blocks.data(), count) ? shape_of(blocks.data(), count) : 0);
        }
        if (!trial.ways.on()) return 0;
    }
    const auto count = entry.describe(arguments, blocks.data());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count && bytes < most_bytes; ++i) bytes += fetch(blocks[i], most_bytes - bytes);
    return bytes;
}

void Prefetcher::end_window(Trial& trial, std::uint32_t shape) noexcept {
    trial.count = 0;
    if (shape == 0) {  // too small to be worth a look: off, and asked again after as long as a decision holds
        trial.ways.restart(false);
        trial.shape = 0;
        return;
    }
    const auto now = Clock::ticks();
    if (shape != trial.shape) {
        trial = Trial{.entry = trial.entry, .shape = shape, .begin = now, .breaks = breaks_};
        trial.ways.restart(true);
        return;
    }
    const bool whole = trial.breaks == breaks_;
    const auto time = now - trial.begin;
    trial.begin = now;
    trial.breaks = breaks_;
    if (trial.holding) {
        if (--trial.windows == 0) {
            trial.holding = false;
            trial.broken = 0;
            trial.ways.restart(true);
        }
        return;
    }
    if (!whole) {
        // Tasks that never run back to back are not waited for by anybody: leave them alone for a while.
        if (++trial.broken > 8 * TwoWays::samples) {
            trial.ways.restart(false);
            trial.holding = true;
            trial.windows = hold;
        }
        return;
    }
    if (!trial.ways.add(time)) return;
    trial.holding = true;
    trial.windows = hold;
}

}  // namespace penstock
