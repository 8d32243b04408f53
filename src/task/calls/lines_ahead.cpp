#include "task/calls/lines_ahead.hpp"

#include <algorithm>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/fetch_ahead.hpp"

namespace penstock {
namespace {

constexpr std::size_t line = 64;  // a larger line only makes some of the requests redundant

std::size_t skew_of(const std::byte* at) noexcept { return reinterpret_cast<std::uintptr_t>(at) % line; }

std::size_t lines_of(const std::byte* row, std::size_t bytes) noexcept {
    return (skew_of(row) + bytes + line - 1) / line;
}

/// As prefetch_read does, but not into the first cache.
void prefetch_into_second_cache(const void* address) noexcept {
    __builtin_prefetch(address, 0, 2);
    asm volatile("" : : "r"(address));  // else g++ 12 drops the calls
}

thread_local constinit LinesAhead of_this_thread;

}  // namespace

LinesAhead& LinesAhead::here() noexcept { return of_this_thread; }

std::size_t LinesAhead::set(std::size_t count, Nearness nearness, std::size_t most_bytes,
                            std::size_t most_staged) noexcept {
    nearness_ = nearness;
    std::size_t bytes = 0;
    count_ = 0;
    for (std::size_t i = 0; i < count && bytes < most_bytes; ++i) {
        // A store waits for nothing, but its line, asked for ahead, keeps others from being on the way: tiles of 4 KiB
        // with a result of a word each were slower by a twentieth (`./bench prefetch`).
        if (blocks_[i].access == Access::out && blocks_[i].bytes() <= line) continue;
        auto& block = blocks_[count_++];
        if (i + 1 != count_) block = blocks_[i];
        const auto room = most_bytes - bytes;
        // The rest of what is copied from one piece comes as fast then.
        if (block.rows == 1)
            block.row_bytes = std::min(block.row_bytes, block.staged ? std::min(most_staged, room) : room);
        else if (block.bytes() > room) {
            block.row_bytes = std::min(block.row_bytes, room);
            block.rows = room / block.row_bytes;
        }
        bytes += block.bytes();
    }
    return bytes;
}

void LinesAhead::fetch_all() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        const ArgumentBlock& block = blocks_[i];
        const std::byte* row = block.base;
        for (auto rows = block.rows; rows != 0; --rows, row += block.pitch)
            ask(block, row - skew_of(row), row + block.row_bytes);
    }
    lines_ = 0;
}

void LinesAhead::share_out(std::uint32_t parts) noexcept {
    lines_ = 0;
    for (std::size_t i = 0; i < count_; ++i)
        lines_ += blocks_[i].rows * lines_of(blocks_[i].base, blocks_[i].row_bytes);
    lines_of_part_ = (lines_ + parts - 1) / parts;
    block_ = row_ = column_ = 0;
}

void LinesAhead::fetch_part() noexcept {
    ++parts_;
    for (auto left = std::min(lines_of_part_, lines_); left != 0;) {
        if (block_ == count_) {  // where rows do not begin alike in their lines, they were counted about right
            lines_ = 0;
            return;
        }
        const ArgumentBlock& block = blocks_[block_];
        const std::byte* const row = block.base + static_cast<std::ptrdiff_t>(row_) * block.pitch;
        const auto in_row = lines_of(row, block.row_bytes);
        const auto end = std::min(in_row, column_ + left);
        const std::byte* const begin = row - skew_of(row);
        ask(block, begin + column_ * line, begin + end * line);
        left -= end - column_;
        lines_ -= end - column_;
        column_ = end;
        if (end != in_row) return;
        column_ = 0;
        if (++row_ == block.rows) row_ = 0, ++block_;
    }
}

/// The lines from `at`, where one begins, to before `end`.
inline void LinesAhead::ask(const ArgumentBlock& block, const std::byte* at, const std::byte* end) const noexcept {
    const bool writes = block.access != Access::in && nearness_ == Nearness::first_cache;
    if (writes)
        for (; at < end; at += line) prefetch_write(at);
    else if (nearness_ == Nearness::first_cache)
        for (; at < end; at += line) prefetch_read(at);
    else
        for (; at < end; at += line) prefetch_into_second_cache(at);
}

void fetch_ahead() noexcept { of_this_thread.fetch_part(); }

}  // namespace penstock
