// task layer: lines of memory that this thread's next task will touch, asked for all at once before the current task,
// or part by part between the parts of its body (penstock/fetch_ahead.hpp).
//
// A processor has only so many lines on the way. What is asked for beyond that stands still until one has come, and
// the task that runs stands with it. In parts the lines come while the body calculates: of tiles of 16 KiB in one piece
// `./bench prefetch` shows what that gains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "penstock/detail/task/entry.hpp"

namespace penstock {

/// How near the lines are brought.
enum class Nearness : std::uint8_t {
    first_cache,   ///< and for writing, where the task will write
    second_cache,  ///< which has room for a whole task's and takes more requests at once
};

/// Of one thread.
class LinesAhead {
  public:
    static LinesAhead& here() noexcept;

    /// Forgets what has not been asked for. Returns how many parts were asked for since the last time.
    std::uint32_t restart() noexcept {
        count_ = 0;
        lines_ = 0;
        const auto parts = parts_;
        parts_ = 0;
        return parts;
    }
    /// Where describe() puts the blocks: Entry::max_blocks of them.
    ArgumentBlock* blocks() noexcept { return blocks_.data(); }
    /// The first `count` of blocks() are to come. Returns their bytes, most_bytes and a little more at most.
    std::size_t set(std::size_t count, Nearness nearness, std::size_t most_bytes, std::size_t most_staged) noexcept;
    /// Asks for everything now.
    void fetch_all() noexcept;
    /// Shares it out: each of so many parts asks for as many lines as the others.
    void share_out(std::uint32_t parts) noexcept;
    /// Lines that the parts have not asked for yet.
    std::size_t left() const noexcept { return lines_; }
    /// The next part.
    void fetch_part() noexcept;

  private:
    void ask(const ArgumentBlock& block, const std::byte* at, const std::byte* end) const noexcept;

    std::uint32_t parts_ = 0;  ///< asked for since restart()
    std::size_t lines_ = 0;    ///< to be asked for
    std::size_t lines_of_part_ = 0;
    Nearness nearness_ = Nearness::first_cache;
    std::size_t count_ = 0;  ///< blocks
    std::size_t block_ = 0;  ///< the next line: its block, row, and place in the row
    std::size_t row_ = 0;
    std::size_t column_ = 0;
    std::array<ArgumentBlock, Entry::max_blocks> blocks_{};
};

}  // namespace penstock
