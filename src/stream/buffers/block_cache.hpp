// Memory of blocks that have gone, kept for those that come, of this run or a later one.
//
// What goes back to malloc at the end of a run soon goes back to the kernel, and the next run pays for each page again
// when it first touches it: longer than copying the page takes, twice over (`./bench matrix-add`, `streamed` beside
// `streamed in a row`). So the program keeps the values of some blocks, the newest, up to a bound in bytes; what has
// waited longest goes back to malloc first.
//
// give() and take() wait for nobody: a caller that finds the lock taken uses malloc. So a forked child whose parent's
// other threads held it goes on without.
//
// Happens-before. give() and take() of a block hold the lock, so what its last user did with it comes before what the
// next one does.
#pragma once

#include <array>
#include <cstddef>

#include "machine/spin_lock.hpp"

namespace penstock::streaming {

/// Any thread.
class BlockCache {
  public:
    static constexpr std::size_t alignment = 128;
    static constexpr std::size_t least_bytes = 4 * 1024;        ///< malloc itself keeps shorter ones
    static constexpr std::size_t most_bytes = 8 * 1024 * 1024;  ///< of one block
    static constexpr std::size_t most_kept = 32 * 1024 * 1024;  ///< of all together
    static constexpr std::size_t most_blocks = 256;
    /// The address sanitizer must see each block end, or it would not find who uses it later.
#if defined(__SANITIZE_ADDRESS__)
    static constexpr bool keeps = false;
#elif defined(__has_feature)
    static constexpr bool keeps = !__has_feature(address_sanitizer);
#else
    static constexpr bool keeps = true;
#endif

    /// Never destroyed: buffers may end after everything else.
    static BlockCache& of_program() noexcept;

    /// Values not initialised, of at least so many bytes; `bytes` becomes how many. Null for none. Throws
    /// std::bad_alloc.
    std::byte* take(std::size_t& bytes);
    /// `bytes`: what take() made of them.
    void give(std::byte* values, std::size_t bytes) noexcept;
    /// Gives everything back to malloc.
    void clear() noexcept;
    std::size_t kept() noexcept;

  private:
    struct Kept {
        std::byte* values;
        std::size_t bytes;
    };
    Kept remove(std::size_t at) noexcept;

    SpinLock lock_;
    std::size_t count_ = 0;
    std::size_t kept_ = 0;                    ///< bytes
    std::array<Kept, most_blocks> blocks_{};  ///< the oldest first
};

}  // namespace penstock::streaming
