// How large the buffers are of a stream that can be cut anywhere (Output::units_a_buffer).
#pragma once

#include <cstddef>

namespace penstock {
class Machine;
}

namespace penstock::streaming {

/// What that depends on. The same for all filters of a run.
struct Cuts {
    std::size_t threads = 1;  ///< that may fire
    std::size_t most_bytes = 0;

    Cuts() = default;
    explicit Cuts(Machine& machine);
    /// Units a buffer, at least one.
    std::size_t units(std::size_t total, std::size_t unit_bytes) const noexcept;
};

}  // namespace penstock::streaming
