// store layer: a lock for many readers or one writer, in which a reader touches only its own memory.
//
// Each rank has a gate at home (reader_gate.hpp), through which it goes to read. A writer, after it has won the mutex
// of the writers, closes all gates and waits for those that read; each of them answers into the writer's own memory
// when it stops, so that the writer too spins at home.
//
// Happens-before. Section of a reader -> its gate's reading.store(0) -> reading.load() by the writer, or ->
// answer.store(release) -> answer.load(acquire). Section of a writer to readers through their gates; to the next writer
// through the mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "penstock/detail/store/reader_gate.hpp"
#include "penstock/mutex.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// A reader-writer lock of all ranks of a team. Made by all of them together, under one name; used by one thread of
/// each rank; `std::shared_lock` and `std::unique_lock` take it. A read costs two stores at home; a write visits every
/// rank. A writer goes before readers that come later, and lets in those that wait when it has done, so a reader waits
/// for two writes at most.
///
/// A rank that dies while it reads harms nobody, for it has changed nothing. When one dies while it writes, or waits to
/// write, the lock is broken as a Mutex is: writers get RankDied, and readers where they would have to wait for the
/// dead one.
class SharedMutex {
  public:
    /// Throws as Rank::exchange. `name` has at most 55 bytes.
    SharedMutex(Rank me, std::string_view name);
    SharedMutex(const SharedMutex&) = delete;
    SharedMutex& operator=(const SharedMutex&) = delete;

    /// To read. Throws RankDied, RankLeft; UsageError when this rank reads or writes already.
    void lock_shared();
    /// Ends the reading.
    void unlock_shared();
    /// To write. Throws the same.
    void lock();
    /// Ends the writing.
    void unlock();

  private:
    struct alignas(128) Word {
        std::atomic<std::uint64_t> value{0};
    };
    /// Each rank's part, homed there.
    struct Part {
        ReaderGate<> gate;               ///< a writer's ticket is episode x 256 + rank
        Word answers[team::most_ranks];  ///< while this rank writes: reader r's answer, the ticket that it made way for
    };
    enum class Held { nothing, reading, writing };

    Part& own() const noexcept { return parts_[me_.index()]; }
    void answer(std::uint64_t ticket) const;
    void await_reader(int rank, std::uint64_t ticket);
    void refuse_unless(Held expected, const char* action) const;

    Rank me_;
    Mutex writers_;
    team::Parts<Part> parts_;
    std::uint64_t episode_ = 0;
    Held held_ = Held::nothing;
};

}  // namespace penstock
