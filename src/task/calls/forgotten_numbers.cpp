#include "penstock/detail/task/forgotten_numbers.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint64_t low_bits = 0x5555'5555'5555'5555;  // the lower bit of each pair

/// In the lower bit of its pair: is this number untold?
std::uint64_t untold_in(std::uint64_t bits) noexcept { return bits & ~(bits >> 1) & low_bits; }

int shift_of(std::uint64_t number) noexcept { return static_cast<int>(number % 32) * 2; }

}  // namespace

/// Where this key stands, or would.
std::size_t ForgottenNumbers::place_of(std::uint64_t key) const noexcept {
    const auto found =
        std::partition_point(blocks_.begin(), blocks_.end(), [key](const Block& block) { return block.key < key; });
    return static_cast<std::size_t>(found - blocks_.begin());
}

void ForgottenNumbers::note(std::uint64_t number, How how) noexcept {
    newest_ = std::max(newest_, number);
    if (Span& span = span_of(How::untold); span.count == 1 && span.first == number) span = {};
    const auto key = number / block_size;
    auto place = place_of(key);
    if (place == blocks_.size() || blocks_[place].key != key) {
        if (blocks_.size() == blocks_.capacity()) {
            if (!make_room()) return note_in_span(number, how);
            place = place_of(key);
        }
        blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(place), {key, 0});
    }
    auto& bits = blocks_[place].bits;
    const auto shift = shift_of(number);
    if ((untold_in(bits) >> shift & 1) != 0) --untold_;
    if (how == How::untold) ++untold_;
    bits = (bits & ~(std::uint64_t{3} << shift)) | std::uint64_t{static_cast<std::uint8_t>(how)} << shift;
}

ForgottenNumbers::Found ForgottenNumbers::look(std::uint64_t number) const noexcept {
    if (number > newest_) return {};
    if (const auto place = place_of(number / block_size);
        place != blocks_.size() && blocks_[place].key == number / block_size) {
        const auto how = static_cast<How>(blocks_[place].bits >> shift_of(number) & 3);
        if (how != How::none) return {how, true};
    }
    for (const How how : {How::untold, How::told, How::cancelled})
        if (const Span& span = span_of(how); number >= span.first && number <= span.last)
            return {how, span.first == span.last};
    return {};
}

std::size_t ForgottenNumbers::take(std::uint64_t after, std::uint64_t until) noexcept {
    if (untold() == 0 || after >= until) return 0;
    std::size_t taken = 0;
    if (Span& span = span_of(How::untold); span.count != 0 && span.first > after && span.last <= until)
        taken += std::exchange(span, {}).count;
    newest_ = 0;
    for (const Span& span : spans_) newest_ = std::max(newest_, span.last);
    for (Block& block : blocks_) {
        if (block.bits == 0) continue;
        const auto first = block.key * block_size, last = first + block_size - 1;
        if (first <= until && last > after) {
            const auto from = after < first ? first : after + 1, to = std::min(until, last);
            const auto range = ~std::uint64_t{0} << shift_of(from) & ~std::uint64_t{0} >> (62 - shift_of(to));
            const auto gone = untold_in(block.bits) & range;
            taken += static_cast<std::size_t>(std::popcount(gone));
            untold_ -= static_cast<std::size_t>(std::popcount(gone));
            block.bits &= ~gone;
        }
        if (block.bits != 0)
            newest_ = std::max(newest_, first + static_cast<std::uint64_t>(63 - std::countl_zero(block.bits)) / 2);
    }
    return taken;
}

/// Leaves out blocks that have become empty; where that is not enough, asks for room for as many again, or gives the
/// older half to the spans when there are as many as there may be. False without memory.
bool ForgottenNumbers::make_room() noexcept {
    std::erase_if(blocks_, [](const Block& block) { return block.bits == 0; });
    if (2 * blocks_.size() < blocks_.capacity()) return true;
    if (blocks_.size() >= most_blocks) {
        const auto middle = blocks_.begin() + most_blocks / 2;
        std::for_each(blocks_.begin(), middle, [this](const Block& block) { move_to_spans(block); });
        blocks_.erase(blocks_.begin(), middle);
        return true;
    }
    try {
        blocks_.reserve(std::clamp(2 * blocks_.size(), least_blocks, most_blocks));
    } catch (const std::bad_alloc&) {  // what was left out is room
    }
    return blocks_.size() < blocks_.capacity();
}

void ForgottenNumbers::move_to_spans(const Block& block) noexcept {
    for (std::uint64_t i = 0; i < block_size; ++i) {
        const auto how = static_cast<How>(block.bits >> shift_of(i) & 3);
        if (how == How::untold) --untold_;
        if (how != How::none) note_in_span(block.key * block_size + i, how);
    }
}

void ForgottenNumbers::note_in_span(std::uint64_t number, How how) noexcept {
    Span& span = span_of(how);
    span.first = std::min(span.first, number);
    span.last = std::max(span.last, number);
    ++span.count;
}

}  // namespace penstock
