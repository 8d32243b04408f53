// The secret of a cluster: who has it may join.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace penstock::wire {

struct Secret {
    static constexpr std::size_t size = 32;
    std::array<std::byte, size> bytes{};

    /// Throws SystemError.
    static Secret random();
    /// 64 hexadecimal digits. Throws UsageError for others.
    static Secret of_text(const std::string& text);
    std::string text() const;
};

using Proof = std::array<std::byte, 32>;

/// HMAC-SHA-256 of the parts. Throws OpenSslMissing.
Proof proof_of(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts);
/// In a time that does not depend on where they differ.
bool same(const Proof& one, const Proof& other) noexcept;

void fill_randomly(std::span<std::byte> bytes);

}  // namespace penstock::wire
