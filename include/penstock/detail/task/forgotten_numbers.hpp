// task layer: which tasks of one ring failed or were cancelled, after their exceptions are gone: two bits for each
// task.
//
// A sorted list of blocks of 32 numbers, 16 bytes each, that grows to 1 MiB: room for 65,536 tasks that lie far apart,
// and for 2 million side by side. Numbers come nearly in order, so that most go to its end. What does not fit there,
// the smallest numbers first, lies in a span, and so does what there was no memory for. A span may hold tasks that did
// not fail: it is asked last, and errs on the side of failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

class ForgottenNumbers {
  public:
    enum class How : std::uint8_t {
        none,
        untold,  ///< it failed, and nobody was told
        told,    ///< it failed
        cancelled,
    };
    struct Found {
        How how = How::none;
        bool sure = true;  ///< false: it is one of these, or lies between them
    };

    /// Also changes how a task that is known already ended.
    void note(std::uint64_t number, How how) noexcept;
    Found look(std::uint64_t number) const noexcept;
    /// Forgets those that nobody was told, of tasks above `after` and up to `until`, and returns how many there were. A
    /// span goes when all of it lies there.
    std::size_t take(std::uint64_t after, std::uint64_t until) noexcept;
    /// How many nobody was told.
    std::size_t untold() const noexcept { return untold_ + span_of(How::untold).count; }
    /// None has a higher number.
    std::uint64_t newest() const noexcept { return newest_; }

  private:
    static constexpr std::uint64_t block_size = 32;
    static constexpr std::size_t least_blocks = 64, most_blocks = std::size_t{1} << 16;
    struct Block {
        std::uint64_t key = 0;   ///< number / block_size
        std::uint64_t bits = 0;  ///< a How for each number
    };
    struct Span {
        std::uint64_t first = ~std::uint64_t{0};
        std::uint64_t last = 0;
        std::size_t count = 0;
    };
    const Span& span_of(How how) const noexcept { return spans_[static_cast<std::size_t>(how) - 1]; }
    Span& span_of(How how) noexcept { return spans_[static_cast<std::size_t>(how) - 1]; }
    std::size_t place_of(std::uint64_t key) const noexcept;
    bool make_room() noexcept;
    void move_to_spans(const Block& block) noexcept;
    void note_in_span(std::uint64_t number, How how) noexcept;

    std::vector<Block> blocks_;  ///< by their keys
    std::size_t untold_ = 0;     ///< in the blocks
    std::uint64_t newest_ = 0;
    std::array<Span, 3> spans_;
};

}  // namespace penstock
