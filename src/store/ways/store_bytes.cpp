#include <algorithm>
#include <cstring>

#include "store/ways/ways.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

#if defined(__x86_64__)
/// Plainly up to the first whole line and behind the last, and each whole line by `store_line(to, from)`.
template <class StoreLine>
void copy_by_lines(std::byte* to, const std::byte* from, std::size_t bytes, StoreLine&& store_line) noexcept {
    std::size_t done = std::min(bytes, ways::to_line(to));
    std::memcpy(to, from, done);
    for (; bytes - done >= ways::line; done += ways::line) store_line(to + done, from + done);
    std::memcpy(to + done, from + done, bytes - done);
}
#endif

}  // namespace

void store_bytes_unordered(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept {
#if defined(__x86_64__)
    if (way == StoreWay::demote)
        return copy_by_lines(to, from, bytes, [](std::byte* target, const std::byte* source) {
            std::memcpy(target, source, ways::line);
            ways::demote_line(target);
        });
    if (way == StoreWay::stream)
        return copy_by_lines(to, from, bytes, [](std::byte* target, const std::byte* source) {
            for (std::size_t part = 0; part < ways::line; part += sizeof(__m128i))
                _mm_stream_si128(reinterpret_cast<__m128i*>(target + part),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + part)));
        });
#else
    static_cast<void>(way);
#endif
    std::memcpy(to, from, bytes);
}

void order_stores(StoreWay way) noexcept {
#if defined(__x86_64__)
    if (way == StoreWay::stream) _mm_sfence();  // such stores are not ordered by a release store
#else
    static_cast<void>(way);
#endif
}

void store_bytes(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept {
    store_bytes_unordered(to, from, bytes, way);
    order_stores(way);
}

}  // namespace penstock
