#include "wire/wire.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock::wire {
namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;
// behind a payload that is longer no more than the next head is read, because the next is likely to be as long: what
// else came would be copied from the buffer
constexpr std::size_t long_payload = 8 * 1024;
constexpr std::size_t most_parts = 64;
// what one system call is given: another sender waits for its end
constexpr std::size_t most_at_once = std::size_t{1} << 20;
constexpr std::uint64_t many_frames_owed = 32, many_bytes_owed = std::uint64_t{1} << 20;

}  // namespace

Wire::~Wire() { let_go(out_, false); }

void Wire::let_go(std::deque<Outgoing>& frames, bool arrived) noexcept {
    for (const auto& frame : frames)
        if (frame.keeper != nullptr) frame.keeper->let_go(frame.what, arrived);
    frames.clear();
}

void Wire::put(const FrameHead& head, std::span<const std::byte> payload, Keeper* keeper, void* what) {
    add({.head = head, .payload = payload, .keeper = keeper, .what = what});
}

void Wire::put(const FrameHead& head, std::vector<std::byte> payload) {
    Outgoing frame{.head = head, .payload = {}, .own = std::move(payload)};
    frame.payload = frame.own;  // a vector's values stay where they are when it moves
    add(std::move(frame));
}

void Wire::add(Outgoing frame) {
    frame.head.payload_bytes = frame.payload.size();
    {
        const std::lock_guard guard(lock_);
        if (!over()) {
            frame.head.sequence = sent_.load(std::memory_order_relaxed) + 1;
            out_.push_back(std::move(frame));
            sent_.store(out_.back().head.sequence, std::memory_order_release);
            return;
        }
    }
    if (frame.keeper != nullptr) frame.keeper->let_go(frame.what, false);
}

bool Wire::over() const noexcept {
    const auto now = state();
    return now == State::lost || now == State::refused || now == State::closed;
}

std::size_t Wire::under_way() {
    const std::lock_guard guard(lock_);
    return out_.size();
}

void Wire::disown(const Keeper& keeper) {
    std::vector<std::pair<Keeper*, void*>> gone;
    {
        const std::lock_guard guard(lock_);
        for (auto& frame : out_) {
            if (frame.keeper != &keeper) continue;
            frame.own.assign(frame.payload.begin(), frame.payload.end());
            frame.payload = frame.own;
            gone.emplace_back(std::exchange(frame.keeper, nullptr), frame.what);
        }
    }
    for (const auto& [whose, what] : gone) whose->let_go(what, false);
}

void Wire::flush() noexcept {
    const std::lock_guard guard(lock_);
    write_all();
}

/// Under the lock.
void Wire::write_all() noexcept {
    if (carrier_ == nullptr || !carrier_->flush()) return;
    const auto received = received_.load(std::memory_order_acquire);
    for (;;) {
        std::array<iovec, most_parts> parts;
        std::size_t count = 0, bytes = 0;
        const auto add = [&](const void* at, std::size_t length, std::size_t& skip) {
            const auto left_out = std::min(skip, length);
            skip -= left_out;
            if (left_out == length) return;
            parts[count++] = {const_cast<std::byte*>(static_cast<const std::byte*>(at)) + left_out, length - left_out};
            bytes += length - left_out;
        };
        const bool within_frame = written_ != 0;
        std::size_t skip = sign_written_;
        if (sign_of_life_ && !within_frame) {
            if (sign_written_ == 0)
                sign_ = FrameHead{.kind = number(FrameKind::acknowledgement), .acknowledged = received};
            add(&sign_, sizeof sign_, skip);
        }
        skip = written_;
        for (auto i = unsent_; i < out_.size() && count + 2 <= parts.size() && bytes < most_at_once; ++i) {
            auto& frame = out_[i];
            if (i != unsent_ || !within_frame) frame.head.acknowledged = received;
            add(&frame.head, sizeof frame.head, skip);
            if (!frame.payload.empty()) add(frame.payload.data(), frame.payload.size(), skip);
        }
        if (count == 0) return;
        const auto written = carrier_->write({parts.data(), count});
        if (written < 0) return;  // the thread that reads sees what is the matter, or that there is room again
        spoken.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
        told_.store(received, std::memory_order_relaxed);
        bytes_sent_.fetch_add(static_cast<std::uint64_t>(written), std::memory_order_relaxed);
        auto left = static_cast<std::size_t>(written);
        if (sign_of_life_ && !within_frame) {
            const auto of_sign = std::min(left, sizeof sign_ - sign_written_);
            sign_written_ += of_sign;
            left -= of_sign;
            if (sign_written_ == sizeof sign_) sign_written_ = 0, sign_of_life_ = false;
        }
        while (left != 0) {
            const auto& frame = out_[unsent_];
            const auto step = std::min(left, sizeof frame.head + frame.payload.size() - written_);
            written_ += step;
            left -= step;
            if (written_ == sizeof frame.head + frame.payload.size()) ++unsent_, written_ = 0;
        }
        if (static_cast<std::size_t>(written) < bytes) return;  // it takes no more now
    }
}

void Wire::acknowledge() {
    const std::lock_guard guard(lock_);
    sign_of_life_ = true;
    bytes_owed_ = 0;
    write_all();
}

bool Wire::owes_much() const noexcept {
    return received_.load(std::memory_order_relaxed) - told_.load(std::memory_order_relaxed) >= many_frames_owed ||
           bytes_owed_ >= many_bytes_owed;
}

// ---- whoever has the endpoint's turn ----

void Wire::join(std::unique_ptr<Carrier> carrier, std::uint64_t peer_received) {
    take_acknowledgement(peer_received);
    heard = std::chrono::steady_clock::now();
    spoken.store(heard, std::memory_order_relaxed);
    buffer_.resize(buffer_bytes);
    filled_ = 0;
    in_payload_ = false;
    const std::lock_guard guard(lock_);
    carrier_ = std::move(carrier);
    reading_ = carrier_.get();
    descriptor_ = carrier_->descriptor();
    unsent_ = written_ = sign_written_ = 0;
    sign_of_life_ = false;
    joined_times_.fetch_add(1, std::memory_order_relaxed);
    state_.store(State::joined, std::memory_order_release);
    write_all();
}

void Wire::part(Events& events, State state) {
    if (in_payload_) events.abandoned(*this, head_, payload_);
    in_payload_ = false;
    std::deque<Outgoing> gone;
    {
        const std::lock_guard guard(lock_);
        if (state_.load(std::memory_order_relaxed) == State::joined) broken_since = std::chrono::steady_clock::now();
        carrier_ = nullptr;
        reading_ = nullptr;
        descriptor_ = -1;
        state_.store(state, std::memory_order_release);
        if (state != State::broken) gone = std::exchange(out_, {}), unsent_ = 0;
    }
    let_go(gone, false);
}

void Wire::take_acknowledgement(std::uint64_t last) {
    std::deque<Outgoing> gone;
    {
        const std::lock_guard guard(lock_);
        while (!out_.empty() && out_.front().head.sequence <= last) {
            gone.push_back(std::move(out_.front()));
            out_.pop_front();
            if (unsent_ != 0) --unsent_;
        }
    }
    let_go(gone, true);
}

bool Wire::read(Events& events, std::size_t most, bool& more, bool& nonsense, bool quick) {
    std::size_t all = 0;
    more = nonsense = stopped_ = false;
    for (;;) {
        // What is in the buffer first.
        std::size_t at = 0;
        while (true) {
            if (in_payload_) {
                const auto bytes =
                    static_cast<std::size_t>(std::min<std::uint64_t>(filled_ - at, head_.payload_bytes - arrived_));
                if (bytes != 0) std::memcpy(payload_ + arrived_, buffer_.data() + at, bytes);
                arrived_ += bytes;
                at += bytes;
                if (arrived_ < head_.payload_bytes) break;
                stopped_ = quick && !events.quick(head_);  // the thread began it
                if (stopped_) break;
                if (!finish_frame(events)) return nonsense = true, false;
            }
            if (filled_ - at < sizeof(FrameHead)) break;
            std::memcpy(static_cast<void*>(&head_), buffer_.data() + at, sizeof head_);
            stopped_ = quick && head_.sequence != 0 && !events.quick(head_);
            if (stopped_) break;
            at += sizeof head_;
            if (!take_frame(events, head_)) return nonsense = true, false;
        }
        if (at != 0 && at != filled_) std::memmove(buffer_.data(), buffer_.data() + at, filled_ - at);
        filled_ -= at;
        if (stopped_ || all >= most) return more = true;
        std::array<iovec, 2> parts;
        std::size_t count = 0;
        std::size_t direct = 0;
        if (in_payload_) {
            direct = head_.payload_bytes - arrived_;
            parts[count++] = {payload_ + arrived_, direct};
        }
        const auto room = head_.payload_bytes > long_payload ? sizeof(FrameHead) : buffer_.size();
        parts[count++] = {buffer_.data() + filled_, room - filled_};
        const auto got = reading_->read({parts.data(), count});
        if (got == Carrier::later) return true;
        if (got < 0) return false;
        heard = std::chrono::steady_clock::now();
        all += static_cast<std::size_t>(got);
        bytes_owed_ += static_cast<std::uint64_t>(got);
        bytes_received_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
        const auto into_payload = std::min(direct, static_cast<std::size_t>(got));
        arrived_ += into_payload;
        filled_ += static_cast<std::size_t>(got) - into_payload;
    }
}

bool Wire::take_frame(Events& events, const FrameHead& head) {
    if (!head.possible() || head.acknowledged > sent()) return false;
    take_acknowledgement(head.acknowledged);
    if (head.sequence == 0) return head.kind == number(FrameKind::acknowledgement) && head.payload_bytes == 0;
    if (head.kind < number(FrameKind::first_of_users) || head.sequence != received() + 1) return false;
    try {
        payload_ = head.payload_bytes == 0 ? nullptr : events.room(*this, head);
    } catch (...) {
        return false;
    }
    arrived_ = 0;
    in_payload_ = true;
    return true;
}

bool Wire::finish_frame(Events& events) {
    in_payload_ = false;
    received_.store(head_.sequence, std::memory_order_release);
    try {
        events.arrived(*this, head_, payload_);
    } catch (...) {
        return false;
    }
    return true;
}

}  // namespace penstock::wire
