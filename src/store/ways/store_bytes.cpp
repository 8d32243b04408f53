#include <algorithm>
#include <cstring>

#include "penstock/detail/machine/relax.hpp"
#include "store/ways/ways.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

/// Plainly up to the first whole line and behind the last, and each whole line by `store_line(to, from)`.
template <class StoreLine>
void copy_by_lines(std::byte* to, const std::byte* from, std::size_t bytes, StoreLine&& store_line) noexcept {
    std::size_t done = std::min(bytes, ways::to_line(to));
    std::memcpy(to, from, done);
    for (; bytes - done >= ways::line; done += ways::line) store_line(to + done, from + done);
    std::memcpy(to + done, from + done, bytes - done);
}

constexpr std::size_t ahead = ways::lines_ahead * ways::line;

/// The same, with the lines asked for ahead. The reader has had them last, so each store would wait for its line, and
/// stores are made one after the other: 64 B to another core took 0.8 to 0.9 of the time so, 1 KiB 0.75 to 0.8, 16 KiB
/// 0.9 (`./bench push`).
template <class StoreLine>
void copy_by_fetched_lines(std::byte* to, const std::byte* from, std::size_t bytes, StoreLine&& store_line) noexcept {
    const std::size_t first = std::min(bytes, ways::to_line(to) + ahead);
    for (std::size_t at = 0; at < first; at += ways::to_line(to + at + 1) + 1) prefetch_write(to + at);
    const std::byte* const end = to + bytes;
    copy_by_lines(to, from, bytes, [&](std::byte* target, const std::byte* source) {
        if (static_cast<std::size_t>(end - target) > ahead) prefetch_write(target + ahead);
        store_line(target, source);
    });
}

constexpr auto store_line_plainly = [](std::byte* to, const std::byte* from) { std::memcpy(to, from, ways::line); };

}  // namespace

void store_bytes_unordered(std::byte* to, const std::byte* from, std::size_t bytes, StoreWay way) noexcept {
#if defined(__x86_64__)
    if (way == StoreWay::demote)
        return copy_by_fetched_lines(to, from, bytes, [](std::byte* target, const std::byte* source) {
            store_line_plainly(target, source);
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
    if (bytes < ways::line) std::memcpy(to, from, bytes);
    else copy_by_fetched_lines(to, from, bytes, store_line_plainly);
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
