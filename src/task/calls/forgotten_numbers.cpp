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

/// Where this key stands, or the free slot where it would. There is always a free one.
std::size_t ForgottenNumbers::slot_of(std::uint64_t key) const noexcept {
    const auto mask = slots_.size() - 1;
    auto slot = static_cast<std::size_t>(key * 0x9E37'79B9'7F4A'7C15 >> 32) & mask;
    while (slots_[slot].key != 0 && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
}

void ForgottenNumbers::note(std::uint64_t number, How how) noexcept {
    newest_ = std::max(newest_, number);
    if (Span& span = span_of(How::untold); span.count == 1 && span.first == number) span = {};
    const auto key = number / block_size + 1;
    auto slot = slots_.empty() ? 0 : slot_of(key);
    if (slots_.empty() || slots_[slot].key == 0) {
        if ((used_ + 1) * 4 > slots_.size() * 3) {
            if (!make_room()) return note_in_span(number, how);
            slot = slot_of(key);
        }
        slots_[slot].key = key;
        ++used_;
    }
    auto& bits = slots_[slot].bits;
    const auto shift = shift_of(number);
    if ((untold_in(bits) >> shift & 1) != 0) --untold_;
    if (how == How::untold) ++untold_;
    bits = (bits & ~(std::uint64_t{3} << shift)) | std::uint64_t{static_cast<std::uint8_t>(how)} << shift;
}

ForgottenNumbers::Found ForgottenNumbers::look(std::uint64_t number) const noexcept {
    if (number > newest_) return {};
    if (!slots_.empty()) {
        const auto how = static_cast<How>(slots_[slot_of(number / block_size + 1)].bits >> shift_of(number) & 3);
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
    for (Block& block : slots_) {
        if (block.bits == 0) continue;
        const auto first = (block.key - 1) * block_size, last = first + block_size - 1;
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

/// Leaves out blocks that have become empty, doubles the table where that is not enough, and gives its older half to
/// the spans where it is as large as it may be. False without memory, and nothing has changed.
bool ForgottenNumbers::make_room() noexcept {
    const auto live = static_cast<std::size_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Block& block) { return block.bits != 0; }));
    const auto wanted = std::max(least_slots, live * 2 < slots_.size() ? slots_.size() : slots_.size() * 2);
    std::vector<Block> old;
    try {
        old.resize(std::min(wanted, most_slots));
    } catch (const std::bad_alloc&) {
        return false;
    }
    old.swap(slots_);
    auto first = old.begin();
    const auto last = std::partition(old.begin(), old.end(), [](const Block& block) { return block.bits != 0; });
    if (wanted > most_slots) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, [](const Block& a, const Block& b) { return a.key < b.key; });
        while (first != middle) move_to_spans(*first++);
    }
    used_ = static_cast<std::size_t>(last - first);
    for (; first != last; ++first) slots_[slot_of(first->key)] = *first;
    return true;
}

void ForgottenNumbers::move_to_spans(const Block& block) noexcept {
    for (std::uint64_t i = 0; i < block_size; ++i) {
        const auto how = static_cast<How>(block.bits >> shift_of(i) & 3);
        if (how == How::untold) --untold_;
        if (how != How::none) note_in_span((block.key - 1) * block_size + i, how);
    }
}

void ForgottenNumbers::note_in_span(std::uint64_t number, How how) noexcept {
    Span& span = span_of(how);
    span.first = std::min(span.first, number);
    span.last = std::max(span.last, number);
    ++span.count;
}

}  // namespace penstock
