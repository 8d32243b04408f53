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

#include "machine/spin_lock.hpp"
#include "stream/buffers/block_cache.hpp"

namespace penstock::streaming {

/// The base of a type `Part` whose objects are to be kept so.
template <class Part>
class Recycled {
  public:
    static void* operator new(std::size_t bytes, std::align_val_t alignment) {
        if (BlockCache::keeps && bytes == sizeof(Part)) {
            const std::unique_lock lock(lock_, std::try_to_lock);
            if (lock.owns_lock() && first_ != nullptr) {
                Free* const taken = first_;
                first_ = taken->next;
                --count_;
                taken->~Free();
                return taken;
            }
        }
        return ::operator new(bytes, alignment);
    }
    static void operator delete(void* memory, std::size_t bytes, std::align_val_t alignment) noexcept {
        if (BlockCache::keeps && bytes == sizeof(Part)) {
            const std::unique_lock lock(lock_, std::try_to_lock);
            if (lock.owns_lock() && count_ < most) {
                first_ = new (memory) Free{first_};
                ++count_;
                return;
            }
        }
        ::operator delete(memory, bytes, alignment);
    }

  private:
    static constexpr std::size_t most = 256;
    struct Free {
        Free* next;
    };
    static inline constinit SpinLock lock_;
    static inline constinit Free* first_ = nullptr;
    static inline constinit std::size_t count_ = 0;
};

}  // namespace penstock::streaming
