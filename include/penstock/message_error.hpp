// message layer: what can go wrong between two ranks, as types. A rank that died or left is RankDied or RankLeft
// (rank.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "penstock/error.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// A message was named to, or wanted from, a rank that the team does not have.
class NoSuchRank : public UsageError {
  public:
    NoSuchRank(int rank, int size);
    /// Which rank.
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }  ///< of the team: ranks are 0 to size() - 1

  private:
    int rank_, size_;
};

/// The message was longer than the memory that was given for it. Its beginning is there, the rest was dropped, and the
/// next receive gets the next message.
class Truncated : public Error {
  public:
    Truncated(int source, std::uint64_t sent, std::uint64_t room);
    /// Who sent it.
    int source() const noexcept { return source_; }
    std::uint64_t sent() const noexcept { return sent_; }  ///< bytes
    std::uint64_t room() const noexcept { return room_; }  ///< bytes

  private:
    int source_;
    std::uint64_t sent_, room_;
};

/// A message announces more bytes than recv_vector() may or can allot. It stays where it is: recv() takes what fits
/// into memory of the caller's.
class MessageTooLong : public Error {
  public:
    MessageTooLong(int source, std::uint64_t announced, std::uint64_t limit);
    /// Who sent it.
    int source() const noexcept { return source_; }
    std::uint64_t announced() const noexcept { return announced_; }  ///< bytes
    std::uint64_t limit() const noexcept { return limit_; }          ///< bytes

  private:
    int source_;
    std::uint64_t announced_, limit_;
};

/// Nothing more is exchanged with the other rank: it has destroyed its messenger, or one of the two has broken off with
/// the other because of an error, or an interruption in the middle of a message. All that it had sent before was
/// received.
struct MessengerClosed : RankLost {
    explicit MessengerClosed(int rank);
};

/// What another rank wrote into shared memory cannot be (contract 19): it was built from other sources, or something
/// overwrote it.
class InvalidMessage : public Error {
  public:
    InvalidMessage(int rank, std::string field, std::uint64_t expected, std::uint64_t actual);
    /// Which rank.
    int rank() const noexcept { return rank_; }
    /// What is wrong in it.
    const std::string& field() const noexcept { return field_; }
    /// What should stand there.
    std::uint64_t expected() const noexcept { return expected_; }
    /// What stands there.
    std::uint64_t actual() const noexcept { return actual_; }

  private:
    int rank_;
    std::string field_;
    std::uint64_t expected_, actual_;
};

}  // namespace penstock
