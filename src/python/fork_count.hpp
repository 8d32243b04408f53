// Is this process still the one that made an object, or a child that fork() gave a copy to? Asked at each call, so without a system call.
#pragma once

#include <pthread.h>

namespace penstock::python {

namespace detail {
inline unsigned fork_count = 0;
inline const int fork_watched = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
}  // namespace detail

/// How many forks lie between the process that loaded this module and this one. Written only by a child's one thread.
inline unsigned forks() noexcept { return detail::fork_count; }

}  // namespace penstock::python
