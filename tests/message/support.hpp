// What the tests of messages share: teams of either substrate, promises that end a rank, bytes that tell where they
// belong.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/message.hpp"
#include "penstock/spmd.hpp"
#include "tests/teams.hpp"

namespace message_tests {

using namespace std::chrono_literals;
using penstock::any_source;
using penstock::Messenger;
using penstock::MessengerOptions;
using penstock::Protocol;
using penstock::Rank;
using penstock::Request;
using penstock::Status;
using penstock::Substrate;

/// Ends the rank, and so the test, unless `holds`. Works in processes, where the macros of the test library do not.
inline void require(bool holds, const std::string& promise) {
    if (!holds) throw std::logic_error("broken promise: " + promise);
}

template <class Expected>
void require_throws(const std::function<void()>& call, const std::string& promise) {
    try {
        call();
    } catch (const Expected&) {
        return;
    } catch (const std::exception& other) {
        throw std::logic_error("broken promise: " + promise + ": it threw instead: " + other.what());
    }
    throw std::logic_error("broken promise: " + promise + ": it threw nothing");
}

/// Bytes that are wrong when they come from another message or from another place of it.
inline std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::uint8_t> data(bytes);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (auto& byte : data) {
        state = state * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<std::uint8_t>(state >> 56);
    }
    return data;
}

inline bool is_pattern(const std::vector<std::uint8_t>& data, std::uint64_t seed) {
    return data == pattern(data.size(), seed);
}

/// Sends a pattern from memory that stays the sender's: a temporary would be handed over.
inline void send_pattern(Messenger& post, int to, std::size_t bytes, std::uint64_t seed, std::uint32_t tag = 0) {
    const auto data = pattern(bytes, seed);
    post.send(to, data, tag);
}

/// Runs a team and reports what ended one of its ranks.
inline void run(Substrate substrate, int size, const std::function<void(Rank)>& program) {
    try {
        penstock::spmd(size, program, {.substrate = substrate});
    } catch (const penstock::RankFailed& failed) {
        ADD_FAILURE() << failed.what();
    }
}

inline const auto substrates = testing::Values(Substrate::threads, Substrate::processes);

/// Every substrate.
class TeamTest : public penstock_tests::SubstrateTest {
  protected:
    void run(int size, const std::function<void(Rank)>& program) { message_tests::run(GetParam(), size, program); }
};

using penstock_tests::name_of;

}  // namespace message_tests
