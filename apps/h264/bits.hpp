// Bits of a stream, most significant first, and the codes that H.264 writes them in (9.1).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace penstock::apps::h264 {

/// Appends bits to memory of its own, which it keeps when it is cleared.
class Bits {
  public:
    void clear() noexcept {
        size_ = 0;
        held_ = 0;
        count_ = 0;
    }
    /// `count` is 0 to 32; higher bits of the value are 0.
    void put(std::uint32_t value, int count) {
        held_ = held_ << count | value;
        count_ += count;
        if (count_ >= 32) flush_word();
    }
    /// ue(v)
    void put_unsigned(std::uint32_t value) {
        const int digits = std::bit_width(value + 1);
        put(0, digits - 1);
        put(value + 1, digits);
    }
    /// se(v)
    void put_signed(std::int32_t value) {
        put_unsigned(value > 0 ? 2 * static_cast<std::uint32_t>(value) - 1 : 2 * static_cast<std::uint32_t>(-value));
    }
    /// All bits of another one.
    void append(const Bits& other) {
        for (std::size_t i = 0; i < other.size_; i += 4) put(other.word(i), 32);
        const auto rest = other.count_;
        put(static_cast<std::uint32_t>(other.held_ & ((std::uint64_t{1} << rest) - 1)), rest);
    }
    /// The first `count` bits of these bytes.
    void append(std::span<const std::uint8_t> bytes, std::size_t count) {
        for (std::size_t i = 0; 8 * i < count; ++i) {
            const int bits = static_cast<int>(std::min<std::size_t>(8, count - 8 * i));
            put(static_cast<std::uint32_t>(bytes[i] >> (8 - bits)), bits);
        }
    }
    std::size_t count() const noexcept { return 8 * size_ + static_cast<std::size_t>(count_); }
    bool aligned() const noexcept { return count_ % 8 == 0; }
    /// A one and zeros up to the next byte.
    void put_trailing() {
        put(1, 1);
        align();
    }
    void align() { put(0, (8 - count_ % 8) % 8); }
    /// The bytes, the last one filled up with zeros.
    std::span<const std::uint8_t> bytes() {
        room();
        std::size_t end = size_;
        for (int left = count_; left > 0; left -= 8)
            bytes_[end++] = static_cast<std::uint8_t>(left >= 8 ? held_ >> (left - 8) : held_ << (8 - left));
        return {bytes_.data(), end};
    }

  private:
    void room() {
        if (size_ + 8 > bytes_.size()) bytes_.resize(2 * bytes_.size() + 64);
    }
    void flush_word() {
        room();
        count_ -= 32;
        auto word = static_cast<std::uint32_t>(held_ >> count_);
        if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
        std::memcpy(bytes_.data() + size_, &word, 4);
        size_ += 4;
    }
    std::uint32_t word(std::size_t at) const noexcept {
        std::uint32_t word;
        std::memcpy(&word, bytes_.data() + at, 4);
        if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
        return word;
    }

    std::vector<std::uint8_t> bytes_;
    std::size_t size_ = 0;    ///< bytes written, whole words
    std::uint64_t held_ = 0;  ///< the lowest count_ bits are not yet written
    int count_ = 0;           ///< below 32
};

}  // namespace penstock::apps::h264
