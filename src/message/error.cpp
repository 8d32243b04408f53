#include <utility>

#include "penstock/message_error.hpp"

namespace penstock {

NoSuchRank::NoSuchRank(int rank, int size)
    : UsageError("there is no rank " + std::to_string(rank) + ": the team has " + std::to_string(size) +
                 ", numbered 0 to " + std::to_string(size - 1)),
      rank_(rank), size_(size) {}

Truncated::Truncated(int source, std::uint64_t sent, std::uint64_t room)
    : Error("rank " + std::to_string(source) + " sent a message of " + std::to_string(sent) +
            " bytes, but there was room for " + std::to_string(room) +
            "; give more memory, ask probe() for the size first, or use recv_vector()"),
      source_(source), sent_(sent), room_(room) {}

MessageTooLong::MessageTooLong(int source, std::uint64_t announced, std::uint64_t limit)
    : Error(
          "rank " + std::to_string(source) + " announces a message of " + std::to_string(announced) +
          " bytes, but recv_vector() may allot " + std::to_string(limit) +
          " at most; raise MessengerOptions::longest_vector, or take the beginning by recv() into memory of your own"),
      source_(source), announced_(announced), limit_(limit) {}

MessengerClosed::MessengerClosed(int rank)
    : RankLost(rank,
               "no message goes to rank " + std::to_string(rank) +
                   " or comes from it any more: it has destroyed its messenger, which is to be kept until the others "
                   "are done (a barrier at the end), or an error or interruption in the middle of a message ended the "
                   "exchange") {}

InvalidMessage::InvalidMessage(int rank, std::string field, std::uint64_t expected, std::uint64_t actual)
    : Error("what rank " + std::to_string(rank) + " wrote for a message cannot be: its " + field + " is " +
            std::to_string(actual) + " where " + std::to_string(expected) +
            " was expected; give all ranks the same options and the same program"),
      rank_(rank), field_(std::move(field)), expected_(expected), actual_(actual) {}

}  // namespace penstock
