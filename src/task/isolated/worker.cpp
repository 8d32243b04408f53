// A worker process: takes a seat and runs what comes there, as a thread target does (target.cpp), until the machine
// stops or a task ends the process.
#include <cxxabi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

#include "machine/said_by.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/chain_image.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/local_store.hpp"
#include "penstock/topology.hpp"
#include "process/children.hpp"
#include "task/calls/target.hpp"
#include "task/isolated/keeper.hpp"
#include "task/isolated/worker_board.hpp"

namespace penstock::isolated {
namespace {

/// The exit codes of a worker whose machine has gone or makes no sense. Nobody asks for them.
constexpr int nobody_there = 125;

void write_text(std::string_view text, char* at, std::size_t room) noexcept { at[text.copy(at, room - 1)] = '\0'; }

void write_exception(Report& report) noexcept {
    const auto say = [&](std::string_view type, std::string_view text) {
        write_text(type, report.type.data(), report.type.size());
        write_text(text, report.text.data(), report.text.size());
    };
    const auto* const type = abi::__cxa_current_exception_type();
    int status = 0;
    char* const name = type == nullptr ? nullptr : abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    const std::string_view type_name = name != nullptr ? name : type != nullptr ? type->name() : "unknown";
    try {
        throw;
    } catch (const chain::StepFailed& step) {  // which step it was stands in the note
        try {
            std::rethrow_exception(step.cause);
        } catch (...) {
            write_exception(report);
        }
    } catch (const std::exception& error) {
        say(type_name, said_by(error));
    } catch (...) {
        say(type_name, "not a std::exception");
    }
    std::free(name);
}

class Worker {
  public:
    Worker(int socket, Board& board, std::uint32_t seat)
        : socket_(socket), board_(board), index_(seat), seat_(board.seat[seat]), store_(board.local_store),
          waiter_(board.wait_policy, seat_.bell) {
        store_.set_worker(seat);
        store_.count_in(seat_.counters);
        heard_ = answered_ = seat_.question.load(std::memory_order_relaxed);
        store_.set_process(seat_.running.step, board.workers.fetch_add(1, std::memory_order_relaxed) + 1);
    }

    [[noreturn]] void live() noexcept {
        finish_claim();  // what the seat's last worker had claimed and did not come to
        int lane_rounds = 0;
        for (std::uint32_t misses = 0;;) {
            look_for_rings();
            if (lane_rounds == Target::lane_rounds_in_a_row) {
                lane_rounds = 0;
                claim();
            }
            const bool from_lane = serve_lanes();
            if (from_lane || claim()) {
                lane_rounds = from_lane ? lane_rounds + 1 : 0;
                misses = 0;
                continue;
            }
            if (++misses < Target::looks_before_idle) continue;
            misses = 0;
            if (board_.stopping.load(std::memory_order_acquire) != 0) leave(0);
            if (answer()) continue;
            idle();
        }
    }

  private:
    /// The program asks, because tasks wait and none ends. Everything is looked at once more between the question and
    /// the answer.
    bool answer() noexcept {
        const auto question = seat_.question.load(std::memory_order_acquire);
        if (question == answered_) return false;
        if (std::exchange(heard_, question) != question) return true;
        answered_ = question;
        tell(Report::nothing_to_do);
        return true;
    }

    void idle() noexcept {
        auto& counters = seat_.counters;
        const auto parks = waiter_.parks();
        counters.idle_periods.add();
        counters.idle_ticks.begin(Clock::ticks());
        waiter_.wait([this] { return something_waits(); }, {"tasks", 0});
        counters.parks.add(waiter_.parks() - parks);
        counters.idle_ticks.end(Clock::ticks());
    }

    struct Lane {
        SharedRing* ring;
        Consumer<TaskPayload> consumer;
    };

    /// Those of one initiator, which its bell tells from others.
    struct Deques {
        const Doorbell* owner_bell;
        std::vector<SharedRing*> rings;
    };

    [[noreturn]] static void leave(int code) noexcept {
        std::cout.flush();
        std::fflush(nullptr);
        _exit(code);
    }

    // ---- where tasks come from ----

    void look_for_rings() noexcept {
        const auto count = board_.ring_count.load(std::memory_order_acquire);
        for (; rings_ < count; ++rings_) {
            SharedRing& ring = *board_.rings[rings_];
            if (ring.only_target >= 0 && ring.only_target != static_cast<int>(index_)) continue;
            if (ring.lane) lanes_.push_back({&ring, resume(ring)});
            else deques_of(ring.owner_bell).rings.push_back(&ring);
        }
    }

    /// The words of a lane say what has been completed, so that is where its next consumer begins.
    static Consumer<TaskPayload> resume(SharedRing& ring) noexcept {
        auto completed = ring.credits.completed.load(std::memory_order_acquire);
        for (std::uint32_t slot = 0; slot < ring.capacity; ++slot)
            completed = std::max(completed, ring.slots[slot].done.load(std::memory_order_acquire));
        const ChannelParts<TaskPayload> parts{ring.slots, &ring.credits, &ring.bell, ring.capacity, ring.initiation};
        if (completed == 0) return Consumer<TaskPayload>(parts);
        const auto slot_of = [&](std::uint64_t number) -> std::optional<std::uint32_t> {
            for (std::uint32_t slot = 0; slot < ring.capacity; ++slot)
                if (ring.slots[slot].sequence.load(std::memory_order_acquire) >> 1 == number) return slot;
            return std::nullopt;
        };
        // The record before the next is overwritten by the next at the earliest.
        for (int tries = 0; tries < 1000; ++tries)
            for (const auto number : {completed + 1, completed})
                if (const auto slot = slot_of(number)) return Consumer<TaskPayload>(parts, completed + 1, *slot);
        leave(nobody_there);
    }

    bool serve_lanes() noexcept {
        bool served = false;
        for (auto& [ring, consumer] : lanes_) {
            for (int turn = 0; turn < Target::lane_share; ++turn) {
                TaskRecord* const record = consumer.front();
                if (record == nullptr) break;
                run(*ring, *record, ring->extensions[consumer.position()], consumer.next(),
                    [&] { consumer.complete(); });
                served = true;
            }
        }
        return served;
    }

    /// One initiator after the other, and the deques of each in their order.
    bool claim() noexcept {
        const bool in_turn = ++claims_ % 16 == 0;  // as in Target::claim_from_any
        for (std::size_t looked = 0; looked < deques_.size(); ++looked) {
            next_initiator_ = next_initiator_ + 1 >= deques_.size() ? 0 : next_initiator_ + 1;
            if (claim_from(deques_[next_initiator_], in_turn)) return true;
        }
        return false;
    }

    bool claim_from(const Deques& deques, bool in_turn) noexcept {
        if (in_turn) {
            // What is for this target alone, in its order; next time the rest, beginning at another part.
            ++next_part_;
            const bool named = next_part_ % 2 == 0;
            const auto parts = deques.rings.size();
            for (std::size_t looked = 0; looked < parts; ++looked) {
                SharedRing& ring = *deques.rings[named ? looked : (next_part_ / 2 + looked) % parts];
                if ((ring.only_target >= 0) == named && claim_from(ring, deques)) return true;
            }
        }
        return std::any_of(deques.rings.begin(), deques.rings.end(),
                           [&](SharedRing* ring) { return claim_from(*ring, deques); });
    }

    bool claim_from(SharedRing& ring, const Deques& deques) noexcept {
        const auto appended = [&ring](std::uint64_t number) {
            return ring.record(number).sequence.load(std::memory_order_acquire) >> 1 == number;
        };
        // What an initiator sent to this target alone keeps its order: first what is in its lane. The lane is looked at
        // behind the deque, so that it shows all that was issued before.
        if (ring.only_target >= 0 &&
            (!appended(ring.claims.head.load(std::memory_order_relaxed) + 1) || in_lane_of(deques.owner_bell)))
            return false;
        const auto share = ring.only_target >= 0 ? 1 : board_.seats + 1;
        if (!claim_with_journal(ring.claims, seat_.claim, index_ + 1, ring.index, Target::most_claimed, share,
                                appended))
            return false;
        seat_.counters.pulled.add(seat_.claim.end.load(std::memory_order_relaxed) -
                                  seat_.claim.first.load(std::memory_order_relaxed));
        finish_claim();
        return true;
    }

    Deques& deques_of(const Doorbell* owner_bell) {
        for (auto& deques : deques_)
            if (deques.owner_bell == owner_bell) return deques;
        deques_.push_back({owner_bell, {}});
        return deques_.back();
    }

    bool in_lane_of(const Doorbell* owner_bell) noexcept {
        return std::any_of(lanes_.begin(), lanes_.end(), [&](Lane& lane) {
            return lane.ring->owner_bell == owner_bell && lane.consumer.front() != nullptr;
        });
    }

    void finish_claim() noexcept {
        if (seat_.claim.state.load(std::memory_order_acquire) != ClaimNote<>::owned) return;
        SharedRing& ring = *board_.rings[seat_.claim.ring.load(std::memory_order_relaxed)];
        const auto end = seat_.claim.end.load(std::memory_order_relaxed);
        for (auto number = seat_.claim.first.load(std::memory_order_relaxed); number < end; ++number) {
            TaskRecord& record = ring.record(number);
            // Somebody has written over the claim: not one old task after the other.
            if (record.sequence.load(std::memory_order_acquire) >> 1 != number) leave(nobody_there);
            run(ring, record, ring.extensions[&record - ring.slots], number,
                [&] { ring.done_of(number).store(number, std::memory_order_release); });
        }
        seat_.claim.state.store(ClaimNote<>::none, std::memory_order_release);
    }

    bool something_waits() noexcept {
        if (board_.stopping.load(std::memory_order_acquire) != 0) return true;
        if (seat_.question.load(std::memory_order_acquire) != answered_) return true;
        if (board_.ring_count.load(std::memory_order_acquire) != rings_) return true;
        for (auto& lane : lanes_)
            if (lane.consumer.front() != nullptr) return true;
        for (const auto& deques : deques_)
            for (SharedRing* const ring : deques.rings) {
                const auto next = ring->claims.head.load(std::memory_order_relaxed) + 1;
                if (ring->record(next).sequence.load(std::memory_order_acquire) >> 1 == next) return true;
            }
        return false;
    }

    // ---- one task ----

    /// The note stands from before the task begins until it is complete and counted, so that whoever buries this
    /// process knows whether it was in a task, and counts what it did not come to count.
    template <class Complete>
    void run(SharedRing& ring, TaskRecord& record, Extension& extension, std::uint64_t number,
             Complete&& complete) noexcept {
        auto& note = seat_.running;
        const auto ordinal = seat_.counters.tasks.value() + 1;
        note.ring.store(ring.index, std::memory_order_relaxed);
        note.number.store(number, std::memory_order_relaxed);
        note.ordinal.store(ordinal, std::memory_order_relaxed);
        note.flags.store(record.payload.flags, std::memory_order_relaxed);
        note.on.store(1, std::memory_order_release);
        const bool asks = ring.cancels.load(std::memory_order_relaxed) != 0;
        if (!asks || ask(Report::may_start) == Answer::go_on) [[likely]] {
            const bool timed = board_.all_timed || record.payload.flags >> limit_shift != 0;
            if (timed) [[unlikely]]
                note.timed.store(2 * ordinal, std::memory_order_release);
            const std::uint64_t begin = --until_sample_ == 0 ? Clock::ticks() : 0;
            try {
                entry_of(record.payload.entry).run({record.payload.line, extension.bytes, false}, store_);
                if (timed) [[unlikely]]
                    came_in_time(2 * ordinal);
            } catch (...) {
                if (timed) came_in_time(2 * ordinal);
                write_exception(seat_.report);
                seat_.counters.failed.add();
                ask(Report::failed);
                note.step.store(0, std::memory_order_relaxed);
            }
            if (begin != 0) [[unlikely]]
                end_sample(begin);
        }
        complete();
        seat_.counters.tasks.add_release();
        note.on.store(0, std::memory_order_release);
        penstock::wake_at(*ring.owner_bell);
    }

    /// The task has returned. Where the supervisor has decided to end this process for it, nothing else may begin here.
    [[gnu::noinline, gnu::cold]] void came_in_time(std::uint64_t mark) noexcept {
        if (seat_.running.timed.compare_exchange_strong(mark, 0, std::memory_order_acq_rel)) return;
        process::await_kill();
    }

    [[gnu::noinline, gnu::cold]] void end_sample(std::uint64_t begin) noexcept {
        seat_.counters.sampled_tasks.add();
        seat_.counters.sampled_compute_ticks.add(Clock::ticks() - begin);
        until_sample_ = trace::tasks_a_sample;
    }

    /// Tells the program about the task that is running and waits for its answer.
    [[gnu::noinline, gnu::cold]] Answer ask(Report::Kind kind) noexcept {
        Answer answer{};
        tell(kind);
        if (hear(socket_, answer) != sizeof answer) leave(nobody_there);
        return answer;
    }

    void tell(Report::Kind kind) noexcept {
        if (!isolated::tell(socket_, static_cast<std::uint32_t>(kind))) leave(nobody_there);
    }

    int socket_;
    Board& board_;
    std::uint32_t index_;
    TargetSeat& seat_;
    std::uint32_t heard_ = 0, answered_ = 0;  ///< questions
    std::uint32_t rings_ = 0;
    std::uint32_t until_sample_ = 1;
    std::vector<Lane> lanes_;
    std::vector<Deques> deques_;
    std::size_t next_initiator_ = 0;  ///< where the last claim was looked for
    std::size_t next_part_ = 0;       ///< of a deque
    std::uint32_t claims_ = 0;
    LocalStore store_;
    Waiter waiter_;
};

void limit_memory(std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    // What is private and may be written counts (RLIMIT_DATA), so not the heaps. What the process has by now is not the
    // task's.
    unsigned long pages = 0;
    if (FILE* const sizes = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(sizes, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
        std::fclose(sizes);
    }
    const auto limit = bytes + pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const rlimit both{limit, limit};
    static_cast<void>(setrlimit(RLIMIT_DATA, &both));
}

}  // namespace

void work(int socket, Board& board) noexcept {
    try {
        waiting::accept_barriers();
        std::uint32_t seat = 0;
        if (hear(socket, seat) != sizeof seat || seat >= board.seats) _exit(nobody_there);
        const auto processor = board.seat[seat].processor;
        if (processor < 0 || !pin_this_thread(processor)) unpin_this_thread();
        name_this_thread("penstock/" + std::to_string(seat));
        waiting::be_always_brief();
        auto* const worker = new Worker(socket, board, seat);
        limit_memory(board.memory_limit);
        worker->live();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock: a worker cannot begin: %s\n", said_by(error));
        _exit(nobody_there);
    }
}

}  // namespace penstock::isolated
