#include "penstock/region.hpp"

#include <cerrno>
#include <limits>

#include "penstock/flag.hpp"
#include "penstock/remote.hpp"

namespace penstock {
namespace {

std::string number(std::size_t value) { return std::to_string(value); }

}  // namespace

OutOfBounds::OutOfBounds(std::string region, std::size_t index, std::size_t count, std::size_t size)
    : UsageError("storing " + number(count) + (count == 1 ? " element" : " elements") + " at index " + number(index) +
                 " of region '" + region + "' goes beyond its " + number(size) + " elements"),
      region_(std::move(region)), index_(index), count_(count), size_(size) {}

namespace region {

std::size_t bytes_of(std::string_view name, std::size_t count, std::size_t element_size) {
    if (count == 0)
        throw UsageError("region '" + std::string(name) +
                         "' of 0 elements has nothing to store to; ask for at least 1");
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, element_size, &bytes))
        throw SystemError("region '" + std::string(name) + "' of " + number(count) + " elements of " +
                              number(element_size) + " bytes is larger than any memory; ask for less",
                          ENOMEM);
    return bytes;
}

void throw_out_of_bounds(const std::string& region, std::size_t index, std::size_t count, std::size_t size) {
    throw OutOfBounds(region, index, count, size);
}

namespace {

/// Elements from the first to behind the last of a rectangle; the largest number there is when it cannot be counted.
std::size_t extent(std::size_t rows, std::size_t columns, std::size_t pitch) {
    if (rows == 0 || columns == 0) return 0;
    std::size_t extent = 0;
    if (__builtin_mul_overflow(rows - 1, pitch, &extent) || __builtin_add_overflow(extent, columns, &extent))
        return std::numeric_limits<std::size_t>::max();
    return extent;
}

void check_pitch(std::size_t rows, std::size_t columns, std::size_t pitch) {
    if (rows > 1 && pitch < columns)
        throw UsageError("rows of " + number(columns) + " elements at a pitch of " + number(pitch) +
                         " overlap; the pitch must be at least as long as a row");
}

}  // namespace

void check(const std::string& region, const Block& block, std::size_t size) {
    check_pitch(block.rows, block.columns, block.pitch);
    check(region, block.offset, extent(block.rows, block.columns, block.pitch), size);
}

void check_source(std::size_t rows, std::size_t columns, std::size_t pitch, std::size_t size) {
    check_pitch(rows, columns, pitch);
    if (const auto needed = extent(rows, columns, pitch); needed > size)
        throw UsageError("a source of " + number(rows) + " x " + number(columns) + " elements at a pitch of " +
                         number(pitch) + " has " + number(needed) + " elements, but " + number(size) + " were given");
}

}  // namespace region

namespace team {

RankMemory SharedWord::accepted(Rank me, int owner, std::string_view name, std::uint64_t kind,
                                std::chrono::nanoseconds within) {
    auto memory = me.accept_anywhere(owner, name, kind, within);
    if (memory.size() != sizeof(FlagWord<>)) throw InvalidGrant(owner, std::string(name), "it is not one word");
    return memory;
}

bool SharedWord::published_over_nodes(std::uint64_t value) {
    if (auto* const far = memory_.far()) {
        far->publish(0, value);
        return true;
    }
    me_.far()->release(Far::everybody);
    return false;
}

Changed SharedWord::change_over_nodes(WordChange what, std::uint64_t value, std::uint64_t expected) const {
    if (auto* const far = memory_.far()) return far->change(what, value, expected);
    me_.far()->release(Far::everybody);
    Changed changed{.before = expected, .written = true};
    switch (what) {
        case WordChange::exchange:
            changed.before = word_->value.exchange(value, std::memory_order_acq_rel);
            break;
        case WordChange::add:
            changed.before = word_->fetch_add(value);
            break;
        case WordChange::compare_exchange:
            changed.written = word_->compare_exchange(changed.before, value);
            break;
        default:
            changed.before = word_->seen();
            return changed;
    }
    if (changed.written) tell();
    return changed;
}

}  // namespace team
}  // namespace penstock
