// A process that can be told from a later one with the same number.
#pragma once

#include <cstdint>

namespace penstock {

struct ProcessIdentity {
    std::int32_t pid = 0;
    std::uint64_t start_time = 0;  ///< in clock ticks since boot; 0 where /proc does not tell

    static ProcessIdentity of_this_process();

    /// False once it is gone, also while its parent has not yet collected it.
    bool alive() const;

    bool operator==(const ProcessIdentity&) const = default;
};

}  // namespace penstock
