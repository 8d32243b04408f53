// What travels on a wire: frames, each a header of 128 bytes and a payload.
//
// Both ends have the same byte order and the same sizes; another machine's bytes are refused by the magic word. Every
// field of a header that comes in is checked before it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace penstock::wire {

/// Which process: 0 is the program that made the cluster, others are its agents.
using Site = std::uint32_t;

/// Kinds of the wire's own. What is sent by those above begins at `first_of_users`.
enum class FrameKind : std::uint16_t {
    acknowledgement = 1,  ///< carries nothing but `acknowledged`; a sign of life
    hello,                ///< greetings (greeting.hpp)
    challenge,
    proof,
    welcome,
    refusal,
    first_of_users = 16
};

struct FrameHead {
    static constexpr std::uint32_t right_magic = 0x31'4B'53'50;  // "PSK1"
    static constexpr std::size_t body_bytes = 96;
    static constexpr std::uint64_t most_payload = std::uint64_t{1} << 32;

    std::uint32_t magic = right_magic;
    std::uint16_t kind = 0;
    std::uint16_t nothing = 0;
    std::uint64_t payload_bytes = 0;
    std::uint64_t sequence = 0;      ///< from 1; 0: of no order, as greetings and acknowledgements
    std::uint64_t acknowledged = 0;  ///< the last frame of the other direction that has arrived
    std::array<std::byte, body_bytes> body{};

    bool possible() const noexcept { return magic == right_magic && nothing == 0 && payload_bytes <= most_payload; }

    template <class Body>
    static FrameHead of(std::uint16_t kind, const Body& body) noexcept {
        static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= body_bytes);
        FrameHead head;
        head.kind = kind;
        std::memcpy(head.body.data(), &body, sizeof body);
        return head;
    }
    template <class Body>
    Body as() const noexcept {
        static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= body_bytes);
        Body value;
        std::memcpy(static_cast<void*>(&value), body.data(), sizeof value);
        return value;
    }
};
static_assert(sizeof(FrameHead) == 128);

constexpr std::uint16_t number(FrameKind kind) noexcept { return static_cast<std::uint16_t>(kind); }

}  // namespace penstock::wire
