// Memory of a run's parts, kept for those of the next.
//
// A run makes and frees the same parts as the one before. They are aligned to lines, and malloc takes 0.2 us for each
// such piece: it asks for more, cuts off what is too much, and joins all of it again at the end.
//
// Nobody waits: a caller that finds the lock taken uses malloc. So a forked child whose parent's other threads held it
// goes on without.
//
// Happens-before. Who frees a part and who takes its memory hold the lock, so what the last user did comes before what
// the next one does.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "machine/spin_lock.hpp"
#include "stream/buffers/block_cache.hpp"

namespace penstock::streaming {

/// The base of a type `Part` whose objects are to be kept so. Or not a base: who makes a `Part` may call these himself.
template <class Part>
class Recycled {
  public:
    /// The sanitizers must see each part end, or they would not find who uses it later.
#if defined(__SANITIZE_THREAD__)
    static constexpr bool keeps = false;
#else
    static constexpr bool keeps = BlockCache::keeps;
#endif

    static void* operator new(std::size_t bytes, std::align_val_t alignment) {
        if (keeps && bytes == sizeof(Part))
            if (const std::unique_lock lock(kept_.lock, std::try_to_lock); lock.owns_lock() && kept_.first != nullptr) {
                --kept_.count;
                return std::exchange(kept_.first, kept_.first->next);
            }
        return ::operator new(bytes, alignment);
    }
    static void operator delete(void* memory, std::size_t bytes, std::align_val_t alignment) noexcept {
        if (keeps && bytes == sizeof(Part))
            if (const std::unique_lock lock(kept_.lock, std::try_to_lock);
                lock.owns_lock() && kept_.count < most_kept) {
                ++kept_.count;
                kept_.first = new (memory) Free{kept_.first};
                return;
            }
        ::operator delete(memory, bytes, alignment);
    }
    /// Gives everything back to malloc.
    static void clear() noexcept {
        const std::lock_guard lock(kept_.lock);
        while (kept_.first != nullptr)
            ::operator delete(std::exchange(kept_.first, kept_.first->next), sizeof(Part),
                              std::align_val_t{alignof(Part)});
        kept_.count = 0;
    }

  private:
    static constexpr std::size_t most_kept = 256;
    struct Free {
        Free* next;
    };
    struct alignas(128) Kept {
        SpinLock lock;
        std::size_t count = 0;
        Free* first = nullptr;
    };
    static inline constinit Kept kept_;
};

}  // namespace penstock::streaming
