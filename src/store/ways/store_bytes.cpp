#include <algorithm>
#include <cstring>

#include "store/ways/ways.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

#if defined(__x86_64__)
using ways::demote_line;
using ways::line;
using ways::to_line;

void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t head = std::min(bytes, to_line(to));
    std::memcpy(to, from, head);
    std::size_t done = head;
    for (; bytes - done >= line; done += line) {
        std::memcpy(to + done, from + done, line);
        demote_line(to + done);
    }
    std::memcpy(to + done, from + done, bytes - done);
}

void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    const std::size_t head = std::min(bytes, to_line(to));
    std::memcpy(to, from, head);
    std::size_t done = head;
    for (; bytes - done >= line; done += line)
        for (std::size_t part = 0; part < line; part += sizeof(__m128i))
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + done + part),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done + part)));
    std::memcpy(to + done, from + done, bytes - done);
}
#else
void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }
#endif

}  // namespace

void store_bytes_unordered(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept {
    switch (way) {
        case StoreWay::demote:
            return copy_demoting(to, from, bytes);
        case StoreWay::stream:
            return copy_streaming(to, from, bytes);
        default:
            std::memcpy(to, from, bytes);
    }
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
