// machine layer, internal: system calls that signals interrupt.
#pragma once

#include <cerrno>

namespace penstock {

/// Makes a system call again for as long as a signal interrupts it. Returns what it returns; errno is the call's.
template <class Call>
auto uninterrupted(Call&& call) {
    for (;;)
        if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

}  // namespace penstock
