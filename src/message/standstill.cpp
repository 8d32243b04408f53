#include "message/standstill.hpp"

#include <algorithm>
#include <optional>

namespace penstock::message {
namespace {

// The word: what is waited for in the low bits, the number above them. 0: nothing.
constexpr std::uint64_t waiting = 1, sending = 2, anybody = 4;
constexpr int rank_shift = 3, number_shift = 16;
constexpr std::uint64_t rank_mask = 0x1fff;

struct Wait {
    bool sends;
    bool for_anybody;
    int peer;
};

std::optional<Wait> wait_in(std::uint64_t word) {
    if ((word & waiting) == 0) return std::nullopt;
    return Wait{(word & sending) != 0, (word & anybody) != 0, static_cast<int>((word >> rank_shift) & rank_mask)};
}

}  // namespace

void Standstill::begin(int peer, bool sends) noexcept {
    peer_ = peer;
    sends_ = sends;
    looks_ = 0;
}

void Standstill::end() noexcept {
    if (!written_) return;
    mine_->waits.store(0, std::memory_order_release);
    written_ = false;
    asked_.clear();
}

void Standstill::write_down() noexcept {
    const auto subject = peer_ == any_source ? anybody : static_cast<std::uint64_t>(peer_) << rank_shift;
    mine_->waits.store(++number_ << number_shift | subject | (sends_ ? sending : 0) | waiting,
                       std::memory_order_release);
    written_ = true;
    asked_.clear();
    question_ = mine_->asked.load(std::memory_order_acquire);
}

std::string Standstill::look(std::uint64_t moved) {
    if (written_) {
        if (moved != moved_) {
            write_down();
        } else {
            // The question was there before the look that is over now.
            mine_->answered.store(question_, std::memory_order_release);
            question_ = mine_->asked.load(std::memory_order_acquire);
        }
        moved_ = moved;
    }
    if (looks_++ % 64 != 0) return "";
    const auto now = Clock::now();
    if (looks_ == 1 || moved != moved_) since_ = now;
    moved_ = moved;
    if (now - since_ < long_wait) return "";
    since_ = now;
    if (!written_) {
        write_down();
        return "";
    }
    return check();
}

/// Those that wait for one another, as far as can be seen now; empty when this rank is not among them.
std::vector<Standstill::Seen> Standstill::standing_still() const {
    const auto size = static_cast<unsigned>(me_.size());
    std::vector<std::optional<Wait>> wait(size);
    std::vector<std::uint64_t> words(size);
    std::vector<bool> seen(size);
    std::vector<int> ahead{me_.index()};  // only who could end this rank's wait, directly or through others
    const auto add = [&](int rank) {
        if (rank >= 0 && rank < me_.size() && !seen[rank]) ahead.push_back(rank);
    };
    while (!ahead.empty()) {
        const int rank = ahead.back();
        ahead.pop_back();
        if (seen[rank]) continue;
        seen[rank] = true;
        const auto* of = words_of(rank);
        if (!of || me_.gone(rank)) continue;
        words[rank] = of->waits.load(std::memory_order_acquire);
        wait[rank] = wait_in(words[rank]);
        if (!wait[rank]) continue;
        if (!wait[rank]->for_anybody) add(wait[rank]->peer);
        for (int other = 0; wait[rank]->for_anybody && other < me_.size(); ++other) add(other);
    }
    const auto still = [&](int rank) { return rank >= 0 && rank < me_.size() && wait[rank]; };
    for (bool changed = true; changed;) {
        changed = false;
        for (int rank = 0; rank < me_.size(); ++rank) {
            if (!still(rank)) continue;
            const Wait& its = *wait[rank];
            bool hope = !its.for_anybody && !still(its.peer);
            for (int other = 0; its.for_anybody && other < me_.size(); ++other)
                hope = hope || (other != rank && !still(other) && !me_.gone(other));
            if (!hope) continue;
            wait[rank].reset();
            changed = true;
        }
    }
    std::vector<Seen> found;
    if (!still(me_.index())) return found;
    for (int rank = 0; rank < me_.size(); ++rank)
        if (still(rank)) found.push_back({rank, words[rank], 0});
    return found;
}

std::string Standstill::check() {
    const auto still = standing_still();
    const bool same = still.size() == asked_.size() &&
                      std::equal(still.begin(), still.end(), asked_.begin(), [](const Seen& now, const Seen& then) {
                          return now.rank == then.rank && now.word == then.word;
                      });
    if (!same) {
        asked_ = still;
        for (Seen& seen : asked_) {
            auto* of = words_of(seen.rank);
            seen.question = of->asked.fetch_add(1, std::memory_order_acq_rel) + 1;
            if (seen.rank != me_.index()) me_.wake(seen.rank);
        }
        return "";
    }
    if (asked_.empty()) return "";
    for (const Seen& seen : asked_) {
        const auto* of = words_of(seen.rank);
        if (of->answered.load(std::memory_order_acquire) < seen.question) return "";
    }
    // None has moved since it was asked?
    for (const Seen& seen : asked_) {
        const auto* of = words_of(seen.rank);
        if (of->waits.load(std::memory_order_acquire) != seen.word) return "";
    }
    return report(asked_);
}

std::string Standstill::report(const std::vector<Seen>& still) const {
    std::string text = "these ranks wait for one another and none will go on: ";
    for (const Seen& seen : still) {
        const Wait wait = *wait_in(seen.word);
        if (&seen != &still.front()) text += ", ";
        text += "rank " + std::to_string(seen.rank);
        if (wait.for_anybody) text += " for a message of anybody";
        else if (wait.sends) text += " until rank " + std::to_string(wait.peer) + " takes its message";
        else text += " for a message of rank " + std::to_string(wait.peer);
    }
    return text + "; let one of them send first, or post irecv() before sending";
}

}  // namespace penstock::message
