// task layer, internal: what one target tells another without asking what becomes of it: one line, no handle, no scope,
// no completion that anybody waits for. The streams' mail between targets travels so (`./bench hop`: a task instead
// cost a microsecond there and back, most of it scopes and completions).
//
// A posting travels in a channel of its own for each pair of targets (channel.hpp, completion through the line: the
// sender looks at it only when so many are under way as the channel has room for).
#pragma once

#include <array>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/detail/machine/waiter.hpp"

namespace penstock {

class Core;
class Machine;

/// Runs as if it were a task of the receiving target: it may issue calls. Must not throw.
struct Posting {
    /// `target`: the receiver; `last`: nothing else of this sender waits behind it
    void (*run)(void* first, void* second, int target, bool last) noexcept = nullptr;
    void* first = nullptr;
    void* second = nullptr;  ///< two lines of it are fetched before it is run
};

/// The channel of one pair, owned by the sender.
class PostingLane {
  public:
    explicit PostingLane(Doorbell& receiver) noexcept : receiver_(receiver) {}

    /// False when it is full. For the sending target's thread.
    bool post(const Posting& posting) noexcept {
        auto* const record = producer_.reserve();
        if (record == nullptr) return false;
        record->payload = posting;
        producer_.publish();
        wake_at(receiver_);
        return true;
    }
    ChannelParts<Posting> parts() noexcept { return {slots_.data(), &credits_, &bell_, capacity, Initiation::push}; }

  private:
    static constexpr std::uint32_t capacity = 64;

    std::array<Record<Posting>, capacity> slots_{};
    Credits<> credits_{};
    Issued<> bell_{};
    Producer<Posting> producer_{parts(), capacity, Completion::line};
    Doorbell& receiver_;
};

/// A machine's way to post. Made once by whoever posts much.
class Poster {
  public:
    explicit Poster(Machine& machine) noexcept;
    /// Posts from target `from`, whose thread calls, to target `to`. False when that cannot be now: the caller issues a
    /// task instead, which may arrive sooner than what was posted before.
    bool post(int from, int to, const Posting& posting) noexcept;

  private:
    Core& core_;
};

}  // namespace penstock
