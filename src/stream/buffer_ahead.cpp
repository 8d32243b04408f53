#include "stream/buffer_ahead.hpp"

#include <algorithm>
#include <utility>

#include "penstock/clock.hpp"

namespace penstock::streaming {
namespace {

constexpr std::size_t line = 64;  // a larger line only makes some of the requests redundant

void fetch(const Block& block) noexcept {
    prefetch_read(&block.tags);
    prefetch_read(&block.own);
    const auto bytes = std::min(block.bytes, BufferAhead::most_bytes);
    for (std::size_t at = 0; at < bytes; at += line) prefetch_read(block.data + at);
}

}  // namespace

void BufferAhead::took_long(const Block& next) noexcept {
    if (mode_ == Prefetch::measured) {
        if (held_ != 0) --held_;
        else counts_ = timing_ = true;
    }
    if (on_) fetch(next);
    else prefetch_read(&next);
}

void BufferAhead::begin() noexcept {
    counts_ = false;
    began_ = Clock::ticks();
}

void BufferAhead::end() noexcept {
    if (!counts_) return;
    ticks_ += Clock::ticks() - began_;
    if (++firings_ < window) return;
    firings_ = 0;
    const std::size_t way = on_ ? 1 : 0;
    times_[way][taken_[way]++] = std::exchange(ticks_, 0);
    if (taken_[0] == samples && taken_[1] == samples) decide();
    else on_ = taken_[1] <= taken_[0];
}

void BufferAhead::decide() noexcept {
    for (auto& times : times_) std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
    const auto without = times_[0][samples / 2];
    const auto with = times_[1][samples / 2];
    on_ = with < without - without / 20;
    held_ = hold;
    timing_ = false;
    taken_ = {};
}

}  // namespace penstock::streaming
