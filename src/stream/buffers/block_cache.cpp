#include "stream/buffers/block_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

namespace penstock::streaming {
namespace {

/// Four sizes between two powers of two, so that blocks of about the same length serve one another.
std::size_t rounded(std::size_t bytes) noexcept {
    const auto step = BlockCache::keeps && bytes >= BlockCache::least_bytes && bytes <= BlockCache::most_bytes
                          ? std::bit_floor(bytes) / 4
                          : BlockCache::alignment;
    return (bytes + step - 1) / step * step;
}

}  // namespace

BlockCache& BlockCache::of_program() noexcept {
    static constinit BlockCache cache;
    return cache;
}

std::byte* BlockCache::take(std::size_t& bytes) {
    const auto size = rounded(bytes);
    if (size < bytes) throw std::bad_alloc();
    bytes = size;
    if (size == 0) return nullptr;
    if (keeps && size >= least_bytes && size <= most_bytes) {
        const std::unique_lock lock(lock_, std::try_to_lock);
        for (std::size_t at = lock.owns_lock() ? count_ : 0; at-- != 0;)
            if (blocks_[at].bytes == size) return remove(at).values;
    }
    auto* const values = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
    if (values == nullptr) throw std::bad_alloc();
    return values;
}

void BlockCache::give(std::byte* values, std::size_t bytes) noexcept {
    if (!keeps || bytes < least_bytes || bytes > most_bytes) return std::free(values);
    for (;;) {
        std::byte* oldest;
        {
            const std::unique_lock lock(lock_, std::try_to_lock);
            if (!lock.owns_lock()) return std::free(values);
            if (count_ != most_blocks && kept_ + bytes <= most_kept) {
                blocks_[count_++] = {values, bytes};
                kept_ += bytes;
                return;
            }
            oldest = remove(0).values;
        }
        std::free(oldest);
    }
}

void BlockCache::clear() noexcept {
    for (;;) {
        std::byte* oldest;
        {
            const std::lock_guard lock(lock_);
            if (count_ == 0) return;
            oldest = remove(0).values;
        }
        std::free(oldest);
    }
}

std::size_t BlockCache::kept() noexcept {
    const std::lock_guard lock(lock_);
    return kept_;
}

BlockCache::Kept BlockCache::remove(std::size_t at) noexcept {
    const Kept removed = blocks_[at];
    std::copy(blocks_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
              blocks_.begin() + static_cast<std::ptrdiff_t>(count_), blocks_.begin() + static_cast<std::ptrdiff_t>(at));
    --count_;
    kept_ -= removed.bytes;
    return removed;
}

}  // namespace penstock::streaming
