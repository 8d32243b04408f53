// While a filter fires, the buffer that waits behind the one that it reads is fetched into the cache: its header, and
// its first lines.
//
// The rule is that of the task layer (task/calls/prefetcher.hpp): windows of firings run with and without, medians are
// compared, the better way holds for a while, then the question is asked again. What lies further on in a buffer the
// processor's own prefetcher brings once the first lines have been read. `./bench matrix-add` prints what it gains.
#pragma once

#include "penstock/buffer.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/options.hpp"
#include "task/calls/best_way.hpp"

namespace penstock::streaming {

/// Of one copy of a filter; for whoever runs it.
class BufferAhead {
  public:
    static constexpr std::size_t least_bytes = 512;  ///< of shorter buffers only the header is fetched
    static constexpr std::size_t most_bytes = 1024;  ///< about as many lines as a processor fetches at once
    static constexpr std::uint32_t window = 16;      ///< firings timed together
    static constexpr std::uint32_t hold = 2560;      ///< firings that a decision lasts

    explicit BufferAhead(Prefetch mode) noexcept : mode_(mode) { ways_.restart(mode == Prefetch::never ? 0 : 1); }

    /// The firing has taken `taken`, and `next` waits behind it.
    void took(const Block& taken, const Block& next) noexcept {
        if (mode_ == Prefetch::never) return;
        if (taken.bytes < least_bytes) prefetch_read(&next);
        else took_long(next);
    }
    /// Its firings are timed now. Each begins with begin() and ends with end().
    bool timing() const noexcept { return timing_; }
    [[gnu::noinline]] void begin() noexcept {
        counts_ = false;
        began_ = Clock::ticks();
    }
    [[gnu::noinline]] void end() noexcept {
        if (!counts_) return;
        ticks_ += Clock::ticks() - began_;
        if (++firings_ < window) return;
        firings_ = 0;
        if (!ways_.add(std::exchange(ticks_, 0))) return;
        held_ = hold;
        timing_ = false;
    }

  private:
    [[gnu::noinline]] void took_long(const Block& next) noexcept {
        if (mode_ == Prefetch::measured) {
            if (held_ != 0) --held_;
            else counts_ = timing_ = true;
        }
        if (ways_.way() == 0) return prefetch_read(&next);
        prefetch_read(&next.tags);
        prefetch_read(&next.own);
        constexpr std::size_t line_bytes = 64;  // a larger line only makes some of the requests redundant
        const auto bytes = std::min(next.bytes, most_bytes);
        for (std::size_t at = 0; at < bytes; at += line_bytes) prefetch_read(next.data + at);
    }

    bool timing_ = false;
    Prefetch mode_;
    BestWay<2> ways_;            ///< without and with
    bool counts_ = false;        ///< the firing under way took a buffer behind which another waited
    std::uint32_t held_ = 0;     ///< firings for which the decision still holds
    std::uint32_t firings_ = 0;  ///< in this window
    std::uint64_t began_ = 0;    ///< tick
    std::uint64_t ticks_ = 0;    ///< of this window
};

}  // namespace penstock::streaming
