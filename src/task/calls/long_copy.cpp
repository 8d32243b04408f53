// A block that no cache holds is copied in eight parts at once, a line of each in turn. The processor follows several
// pages ahead of who reads or writes them, but of a copy from the first byte to the last only one, and waits anew at
// the beginning of the next. With narrower registers than these too few lines are in sight at once. `./bench jobs` has
// what it gains.
#include "penstock/detail/task/long_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace penstock::long_copy {

#if defined(__x86_64__)
namespace {

constexpr std::size_t parts = 8;
constexpr std::size_t line = 64;
/// Parts that begin about so many bytes apart hinder one another: a processor takes a load for one of what was just
/// stored when the last twelve bits of both addresses agree.
constexpr std::size_t page = 4096, near = 192;

[[gnu::target("avx512f")]] void copy_by_64(std::byte* to, const std::byte* from, std::size_t part) noexcept {
    for (std::size_t at = 0; at < part; at += line)
        for (std::size_t i = at; i < parts * part; i += part) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
}

[[gnu::target("avx2")]] void copy_by_32(std::byte* to, const std::byte* from, std::size_t part) noexcept {
    for (std::size_t at = 0; at < part; at += line)
        for (std::size_t begin = at; begin < parts * part; begin += part)
            for (std::size_t i = begin; i < begin + line; i += sizeof(__m256i))
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
}

using CopyParts = void (*)(std::byte* to, const std::byte* from, std::size_t part) noexcept;

/// The best that this processor can do; null: a plain copy.
CopyParts choose() noexcept {
    if (__builtin_cpu_supports("avx512f")) return copy_by_64;
    return __builtin_cpu_supports("avx2") ? copy_by_32 : nullptr;
}

}  // namespace

void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    static const CopyParts copy_parts = choose();
    if (copy_parts != nullptr) {
        // Of the caller's memory whole lines are taken in turn. Blocks of a local store begin at lines.
        const auto skew = [](const std::byte* address) { return -reinterpret_cast<std::uintptr_t>(address) % line; };
        const std::size_t head = skew(to) != 0 ? skew(to) : skew(from);
        std::size_t part = (bytes - head) / parts / line * line;
        if (const auto beyond = (part + near) % page; beyond < 2 * near) part -= beyond + line;
        std::memcpy(to, from, head);
        copy_parts(to + head, from + head, part);
        const std::size_t done = head + parts * part;
        std::memcpy(to + done, from + done, bytes - done);
        return;
    }
    std::memcpy(to, from, bytes);
}
#else
void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }
#endif

}  // namespace penstock::long_copy
