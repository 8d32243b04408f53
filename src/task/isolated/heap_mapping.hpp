// task layer: a shared heap among a process's addresses.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace penstock {

/// Maps a heap in the place that it has in every process. False, with errno set, when that fails.
///
/// It is left out of core dumps: to write one, the kernel looks at each page and so gives memory to all that have none,
/// which may be more than there is.
inline bool map_heap(std::byte* base, std::size_t bytes, int descriptor) noexcept {
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor, 0) == MAP_FAILED)
        return false;
    static_cast<void>(madvise(base, bytes, MADV_DONTDUMP));
    return true;
}

}  // namespace penstock
