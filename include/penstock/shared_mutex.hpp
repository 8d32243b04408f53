// store layer: a lock for many readers or one writer, in which a reader touches only its own memory.
//
// Each rank has two words at home: `reading`, which it sets while it reads, and `writer`, which a writer sets at every rank
// before it writes. A writer, after it has won the mutex of the writers, sets `writer` everywhere and waits for those that
// read; each of them answers into the writer's own memory when it stops, so that the writer too spins at home.
//
// Happens-before. Reader: reading.store(1), writer.load(). Writer: writer.store(ticket), reading.load(). All four are
// sequentially consistent, so at least one of the two sees the other: either the reader steps back, or the writer waits for its
// answer. Section of a reader -> reading.store(0) -> reading.load() by the writer, or -> answer.store(release) ->
// answer.load(acquire). Section of a writer -> writer.store(0) -> writer.load() by readers; to the next writer through the
// mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/mutex.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// A reader-writer lock of all ranks of a team. Made by all of them together, under one name; used by one thread of each rank;
/// `std::shared_lock` and `std::unique_lock` take it. A read costs two stores at home; a write visits every rank. A writer
/// goes before readers that come later; readers may starve while writers follow one another without a pause.
///
/// A rank that dies while it reads harms nobody, for it has changed nothing. When one dies while it writes, or waits to write,
/// the lock is broken as a Mutex is: writers get RankDied, and readers where they would have to wait for the dead one.
class SharedMutex {
  public:
    /// Throws as Rank::exchange. `name` has at most 55 bytes.
    SharedMutex(Rank me, std::string_view name);
    SharedMutex(const SharedMutex&) = delete;
    SharedMutex& operator=(const SharedMutex&) = delete;

    /// To read. Throws RankDied, RankLeft; UsageError when this rank reads or writes already.
    void lock_shared();
    void unlock_shared();
    /// To write. Throws the same.
    void lock();
    void unlock();

  private:
    struct alignas(128) Word {
        std::atomic<std::uint64_t> value{0};
    };
    /// Each rank's part, homed there.
    struct Part {
        Word reading;                    ///< own rank: 1 while it reads or tries to
        Word writer;                     ///< the writer: its ticket (episode x 256 + rank), or 0
        Word answers[team::most_ranks];  ///< while this rank writes: reader r's answer, the ticket that it made way for
    };
    enum class Held { nothing, reading, writing };

    Part& own() const noexcept { return *parts_[static_cast<std::size_t>(me_.index())]; }
    void make_way();
    void await_reader(int rank, std::uint64_t ticket);
    void refuse_unless(Held expected, const char* action) const;

    Rank me_;
    Mutex writers_;
    std::vector<RankMemory> memory_;
    std::vector<Part*> parts_;
    std::uint64_t episode_ = 0;
    Held held_ = Held::nothing;
};

}  // namespace penstock
