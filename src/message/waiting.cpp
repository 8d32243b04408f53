// How a rank waits for its messages, and what ends a wait that nothing else would.
#include "message/engine.hpp"

namespace penstock::message {
namespace {

std::exception_ptr nobody_else() {
    return std::make_exception_ptr(WouldDeadlock(
        "this rank waits for a message of its own that it has not sent, so it would wait for ever; send it first"));
}

}  // namespace

bool Engine::await(std::uint32_t index, std::chrono::nanoseconds limit) {
    Operation& operation = operations_[index];
    const bool forever = limit == std::chrono::nanoseconds::max();
    std::uint32_t looks = 0;
    const auto poll = [&] {
        if (operation.state == Operation::State::done) return true;
        if (awaits_one_lane(operation)) progress_of(operation.peer);
        else progress();
        if (operation.state == Operation::State::done) return true;
        if (++looks > 64) judge(index, forever);
        if (looks > 64 && forever && operation.state != Operation::State::done)
            if (const auto who = standstill_.look(moved_); !who.empty())
                give_up(index, std::make_exception_ptr(WouldDeadlock(who)));
        return operation.state == Operation::State::done;
    };
    // It is judged here, not by the rank, whether the wait is hopeless: messages that lie ready are received first.
    const Standstill::Waiting waiting(standstill_, operation.peer, !operation.receives);
    return me_.wait_for(poll, Awaited::rank(me_.index()), limit);
}

Status Engine::collect_when_done(std::uint32_t index) {
    try {
        await(index);
    } catch (...) {  // the caller's memory is gone in a moment
        abandon(index);
        throw;
    }
    return collect(index);
}

std::exception_ptr Engine::lost(int rank) {
    if (!me_.gone(rank)) return std::make_exception_ptr(MessengerClosed(rank));
    try {
        me_.throw_lost(rank);
    } catch (...) {
        return std::current_exception();
    }
}

/// Ends an operation that nobody will ever complete.
void Engine::judge(std::uint32_t index, bool forever) {
    Operation& operation = operations_[index];
    const int rank = operation.peer;
    if (forever && (rank == me_.index() || me_.size() == 1)) return fail(index, nobody_else());
    if (rank == any_source) return judge_any(index);
    if (rank == me_.index() || !over(rank)) return;
    progress();  // what the peer did before it went is seen now
    if (operation.state == Operation::State::taking) return spoil(rank, lost(rank));
    if (operation.state != Operation::State::done) fail(index, lost(rank));
}

/// A receive from anybody ends once for each peer that failed, and when nobody is left.
void Engine::judge_any(std::uint32_t index) {
    Operation& operation = operations_[index];
    int failed = -1;  // a peer whose failure nobody was told of
    int last = -1;    // somebody who is gone in any way
    bool hope = false;
    for (int rank = 0; rank < me_.size(); ++rank) {
        const Peer& peer = this->peer(rank);
        if (rank == me_.index()) continue;
        if (!peer.spoilt && !over(rank)) {
            hope = true;
        } else {
            last = rank;
            if (!peer.mourned && (peer.spoilt || me_.dead(rank))) failed = rank;
        }
    }
    if (hope && failed < 0) return;
    progress();  // what they did before they went is seen now
    if (operation.state != Operation::State::posted) return;
    const int rank = failed >= 0 ? failed : last;
    peer(rank).mourned = true;
    fail(index, peer(rank).spoilt ? peer(rank).spoilt : lost(rank));
}

void Engine::finish_all(std::optional<int> peer) {
    std::exception_ptr first;
    for (std::uint32_t index = 0; index < operations_.size(); ++index) {
        const Operation& operation = operations_[index];
        if (operation.state == Operation::State::free || (peer && operation.peer != *peer)) continue;
        await(index);
        try {
            collect(index);
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

Status Engine::probe(int from) {
    if (from != any_source) check(from);
    std::optional<Status> found;
    std::exception_ptr error;
    std::uint32_t looks = 0;
    const auto poll = [&] {
        progress();
        if ((found = unclaimed(from))) return true;
        if (++looks <= 64) return false;
        if (const auto who = standstill_.look(moved_); !who.empty()) {
            error = std::make_exception_ptr(WouldDeadlock(who));
            return true;
        }
        int last = -1;
        for (int rank = 0; rank < me_.size(); ++rank) {
            if (from != any_source && rank != from) continue;
            if (rank == me_.index()) {
                if (from == rank || me_.size() == 1) error = nobody_else();
                if (error) return true;
                continue;
            }
            if (peer(rank).spoilt && from == rank) error = peer(rank).spoilt;
            if (error) return true;
            if (!over(rank)) return false;
            last = rank;
        }
        if (last < 0) return false;
        progress();
        if (!(found = unclaimed(from))) error = lost(last);
        return true;
    };
    {
        const Standstill::Waiting waiting(standstill_, from, false);
        static_cast<void>(me_.wait_for(poll, Awaited::rank(me_.index()), std::chrono::nanoseconds::max()));
    }
    if (error) std::rethrow_exception(error);
    return *found;
}

}  // namespace penstock::message
