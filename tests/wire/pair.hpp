// Two endpoints in one process, and what they tell.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "wire/endpoint.hpp"

namespace penstock::wire {

using namespace std::chrono_literals;

/// Waits until it is so; false after ten seconds.
inline bool comes_true(const std::function<bool()>& so, std::chrono::milliseconds within = 10s) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (!so()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// Keeps the payloads of all frames that arrive.
struct Collected : Events {
    std::byte* room(Wire&, const FrameHead& head) override {
        if (head.payload_bytes > 16 << 20) throw std::bad_alloc();
        return new std::byte[head.payload_bytes];
    }
    void arrived(Wire& wire, const FrameHead& head, std::byte* payload) override {
        const std::unique_ptr<std::byte[]> owned(payload);
        if (take) take(wire, head);
        const std::lock_guard guard(lock);
        frames.push_back({head, {payload, payload + head.payload_bytes}});
    }
    bool quick(const FrameHead& head) const noexcept override { return is_quick && is_quick(head); }
    void abandoned(Wire&, const FrameHead&, std::byte* payload) noexcept override { delete[] payload; }
    void changed(Wire& wire) noexcept override { last_state = wire.state(); }

    std::size_t count() {
        const std::lock_guard guard(lock);
        return frames.size();
    }
    struct Frame {
        FrameHead head;
        std::vector<std::byte> payload;
    };
    std::function<void(Wire&, const FrameHead&)> take{};
    std::function<bool(const FrameHead&)> is_quick{};
    std::mutex lock;
    std::vector<Frame> frames;
    std::atomic<Wire::State> last_state{Wire::State::waits};
};

/// How the two of a pair are joined.
struct Way {
    const char* name;
    const char* at;
    bool encrypted;
};
inline void PrintTo(const Way& way, std::ostream* to) { *to << way.name; }

struct Pair {
    explicit Pair(const Way& way, std::chrono::milliseconds longest = 5s)
        : secret(Secret::random()), encrypted(way.encrypted), patience(longest),
          one({.secret = secret, .run = 7, .site = 0, .encrypted = way.encrypted, .patience = patience}, at_one),
          other({.secret = secret,
                 .run = 7,
                 .site = 1,
                 .generation = 1,
                 .encrypted = way.encrypted,
                 .patience = patience},
                at_other) {
        auto place = Address::of_text(way.at);
        if (place.local) place.host += std::to_string(getpid()) + "." + std::to_string(++made);
        address = one.listen(place);
        one.begin();
        other.begin();
        from_one = one.expect(1, 1);
        from_other = other.dial(0, 1, address);
    }

    static inline int made = 0;
    Secret secret;
    bool encrypted;
    std::chrono::milliseconds patience;
    Collected at_one, at_other;
    Endpoint one, other;
    Address address;
    std::shared_ptr<Wire> from_one, from_other;
};

struct Payload {
    std::uint64_t number = 0;
};

inline FrameHead numbered(std::uint64_t n) { return FrameHead::of(number(FrameKind::first_of_users), Payload{n}); }
inline std::vector<std::byte> bytes_for(std::uint64_t n) {
    std::vector<std::byte> bytes((n * 7919) % 5 == 0 ? (n * 104'729) % 60'000 : n % 300);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(n + i);
    return bytes;
}

}  // namespace penstock::wire
