// While a filter fires, the buffer that waits behind the one that it reads is fetched into the cache: its header, and
// its first lines.
//
// The rule is that of the task layer (task/calls/prefetcher.hpp): windows of firings run with and without, medians are
// compared, the better way holds for a while, then the question is asked again. What lies further on in a buffer the
// processor's own prefetcher brings once the first lines have been read. `./bench matrix-add` prints what it gains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/buffer.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/options.hpp"
#include "task/calls/two_ways.hpp"

namespace penstock::streaming {

/// Of one copy of a filter; for whoever runs it.
class BufferAhead {
  public:
    static constexpr std::size_t least_bytes = 512;  ///< of shorter buffers only the header is fetched
    static constexpr std::size_t most_bytes = 1024;  ///< about as many lines as a processor fetches at once
    static constexpr std::uint32_t window = 16;      ///< firings timed together
    static constexpr std::uint32_t hold = 2560;      ///< firings that a decision lasts

    explicit BufferAhead(Prefetch mode) noexcept : mode_(mode) { ways_.restart(mode != Prefetch::never); }

    /// The firing has taken `taken`, and `next` waits behind it.
    void took(const Block& taken, const Block& next) noexcept {
        if (mode_ == Prefetch::never) return;
        if (taken.bytes < least_bytes) prefetch_read(&next);
        else took_long(next);
    }
    /// Its firings are timed now. Each begins with begin() and ends with end().
    bool timing() const noexcept { return timing_; }
    void begin() noexcept;
    void end() noexcept;

  private:
    void took_long(const Block& next) noexcept;

    bool timing_ = false;
    Prefetch mode_;
    TwoWays ways_;
    bool counts_ = false;        ///< the firing under way took a buffer behind which another waited
    std::uint32_t held_ = 0;     ///< firings for which the decision still holds
    std::uint32_t firings_ = 0;  ///< in this window
    std::uint64_t began_ = 0;    ///< tick
    std::uint64_t ticks_ = 0;    ///< of this window
};

}  // namespace penstock::streaming
