#include "penstock/shared_mutex.hpp"

#include "store/team/team.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t shared_mutex_kind = 0x4b434c52;  // "RLCK"

int rank_of(std::uint64_t ticket) { return static_cast<int>(ticket % team::most_ranks); }

}  // namespace

SharedMutex::SharedMutex(Rank me, std::string_view name)
    : me_(team::on_one_node(me, "a SharedMutex")), writers_(me, std::string(name) + ".writers"),
      parts_(me, name, shared_mutex_kind) {}

void SharedMutex::refuse_unless(Held expected, const char* action) const {
    if (held_ != expected) throw UsageError(std::string("this rank cannot ") + action);
}

// ---- readers ----

void SharedMutex::lock_shared() {
    refuse_unless(Held::nothing, "read: it reads or writes already, and waiting for itself would never end");
    auto& gate = own().gate;
    gate.enter(
        [&](auto&& poll) {
            std::uint64_t ticket = 0;
            me_.wait_unless(
                [&] {
                    ticket = gate.writer();
                    return poll();
                },
                [&] {
                    // Still this one's, once it is known to be gone: it may have opened the gate before it went.
                    const int writer = rank_of(ticket);
                    return ticket != 0 && me_.gone(writer) && gate.writer() == ticket ? writer : -1;
                });
        },
        [this](std::uint64_t ticket) { answer(ticket); });
    held_ = Held::reading;
}

void SharedMutex::unlock_shared() {
    refuse_unless(Held::reading, "stop reading: it does not read");
    held_ = Held::nothing;
    own().gate.leave([this](std::uint64_t ticket) { answer(ticket); });
}

/// Tells the writer of this ticket, who may wait for it, that this rank does not read.
void SharedMutex::answer(std::uint64_t ticket) const {
    const int writer = rank_of(ticket);
    if (writer >= me_.size()) return;  // the word was overwritten: nobody waits for this answer
    parts_[writer].answers[me_.index()].value.store(ticket, std::memory_order_release);
    me_.wake(writer);
}

// ---- writers ----

void SharedMutex::lock() {
    refuse_unless(Held::nothing, "write: it reads or writes already, and waiting for itself would never end");
    writers_.lock();
    const auto ticket = ++episode_ * team::most_ranks + static_cast<std::uint64_t>(me_.index());
    for (int rank = 0; rank < me_.size(); ++rank) parts_[rank].gate.close(ticket);
    for (int rank = 0; rank < me_.size(); ++rank)
        if (rank != me_.index()) await_reader(rank, ticket);
    held_ = Held::writing;
}

/// A reader that is gone has changed nothing, wherever it was.
void SharedMutex::await_reader(int rank, std::uint64_t ticket) {
    if (!parts_[rank].gate.occupied()) return;
    const auto& answer = own().answers[rank].value;
    bool gone = false;
    me_.wait_unless([&] { return gone || answer.load(std::memory_order_acquire) == ticket; },
                    [&] {
                        gone = me_.gone(rank);
                        return -1;
                    });
}

void SharedMutex::unlock() {
    refuse_unless(Held::writing, "stop writing: it does not write");
    held_ = Held::nothing;
    for (int rank = 0; rank < me_.size(); ++rank) {
        parts_[rank].gate.open();
        if (rank != me_.index()) me_.wake(rank);
    }
    writers_.unlock();
}

}  // namespace penstock
