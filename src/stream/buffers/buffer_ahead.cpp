#include "stream/buffers/buffer_ahead.hpp"

#include <algorithm>
#include <utility>

#include "penstock/detail/machine/clock.hpp"

namespace penstock::streaming {
namespace {

constexpr std::size_t line_bytes = 64;  // a larger line only makes some of the requests redundant

void fetch(const Block& block) noexcept {
    prefetch_read(&block.tags);
    prefetch_read(&block.own);
    const auto bytes = std::min(block.bytes, BufferAhead::most_bytes);
    for (std::size_t at = 0; at < bytes; at += line_bytes) prefetch_read(block.data + at);
}

}  // namespace

void BufferAhead::took_long(const Block& next) noexcept {
    if (mode_ == Prefetch::measured) {
        if (held_ != 0) --held_;
        else counts_ = timing_ = true;
    }
    if (ways_.on()) fetch(next);
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
    if (!ways_.add(std::exchange(ticks_, 0))) return;
    held_ = hold;
    timing_ = false;
}

}  // namespace penstock::streaming
