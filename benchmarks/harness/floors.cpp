#include "harness/floors.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "harness/partner.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace bench {
namespace {

// Two owners never share 128 bytes: processors fetch lines in pairs.
struct alignas(128) Line {
    std::atomic<std::uint64_t> sequence{0};
};
static_assert(sizeof(Line) == 128);

struct alignas(64) Slot {
    std::atomic<std::uint64_t> sequence{0};
    std::uint64_t payload[7];
};
static_assert(sizeof(Slot) == 64);

constexpr std::size_t ring_slots = 64;
constexpr std::uint64_t slots_a_credit = 16;

/// What a side does between two looks at a line that has not changed.
enum class Polling {
    bare,    ///< looks again at once
    paused,  ///< lets the processor rest for a moment: on some the line comes sooner so
    alone,   ///< on one processor for both sides, where spinning would wait for the end of a time slice
};

template <Polling polling>
void pause() {
    if constexpr (polling == Polling::paused) penstock::relax();
    if constexpr (polling == Polling::alone) std::this_thread::yield();
}

/// Calls `body` with the way of polling as a constant.
template <class Body>
void with(Polling polling, Body&& body) {
    switch (polling) {
        case Polling::bare:
            return body.template operator()<Polling::bare>();
        case Polling::paused:
            return body.template operator()<Polling::paused>();
        case Polling::alone:
            return body.template operator()<Polling::alone>();
    }
}

}  // namespace

struct Floors::Memory {
    Memory(int first, int second)
        : here(first),
          ways(first == second ? std::vector{Polling::alone} : std::vector{Polling::bare, Polling::paused}),
          partner(second) {}

    template <std::size_t lines_used>
    double exchange(Polling polling, int operations);
    double stream(Polling polling, int operations);
    double look();
    /// What the processors can do: the lower of the two ways of polling, half of the operations each.
    template <class Batch>
    double best(int operations, Batch&& batch) {
        double least = std::numeric_limits<double>::max();
        for (const Polling way : ways) least = std::min(least, batch(way, operations / static_cast<int>(ways.size())));
        return least;
    }

    std::array<Line, 2> lines;                        // each written by both sides in turn
    alignas(128) std::array<Slot, ring_slots> slots;  // written by the initiator alone
    Line consumed;                                    // written by the partner alone
    alignas(128) std::uint64_t exchanged = 0;         // the rest belongs to the initiator; the partner takes copies
    std::uint64_t produced = 0;
    int here;
    std::vector<Polling> ways;
    Partner partner;
};

namespace {

using Lines = std::array<Line, 2>;
using Slots = std::array<Slot, ring_slots>;

// How many lines are used is a constant: a division would stand between the arrival of a line and its answer.
template <std::size_t used, Polling polling>
void ask(Lines& lines, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
        Line& line = lines[i % used];
        line.sequence.store(2 * i + 1, std::memory_order_release);
        while (line.sequence.load(std::memory_order_acquire) != 2 * i + 2) pause<polling>();
    }
}

template <std::size_t used, Polling polling>
void answer(Lines& lines, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
        Line& line = lines[i % used];
        while (line.sequence.load(std::memory_order_acquire) != 2 * i + 1) pause<polling>();
        line.sequence.store(2 * i + 2, std::memory_order_release);
    }
}

template <Polling polling>
void produce(Slots& slots, const Line& consumed, std::uint64_t first, std::uint64_t last) {
    std::uint64_t credit = consumed.sequence.load(std::memory_order_acquire);
    for (std::uint64_t i = first; i < last; ++i) {
        while (i - credit >= ring_slots) {
            credit = consumed.sequence.load(std::memory_order_acquire);
            if (i - credit >= ring_slots) pause<polling>();
        }
        Slot& slot = slots[i % ring_slots];
        for (std::uint64_t& word : slot.payload) word = i;
        slot.sequence.store(i + 1, std::memory_order_release);
    }
}

template <Polling polling>
void consume(const Slots& slots, Line& consumed, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
        const Slot& slot = slots[i % ring_slots];
        while (slot.sequence.load(std::memory_order_acquire) != i + 1) pause<polling>();
        if ((i + 1) % slots_a_credit == 0 || i + 1 == last) consumed.sequence.store(i + 1, std::memory_order_release);
    }
}

}  // namespace

template <std::size_t used>
double Floors::Memory::exchange(Polling polling, int operations) {
    const Pinned pinned{here};
    const std::uint64_t first = exchanged, timed = first + static_cast<std::uint64_t>(operations / 4);
    exchanged = timed + static_cast<std::uint64_t>(operations);
    double time = 0;
    with(polling, [&]<Polling way>() {
        partner.start([this, first, last = exchanged] { answer<used, way>(lines, first, last); });
        ask<used, way>(lines, first, timed);
        const auto start = Clock::now();
        ask<used, way>(lines, timed, exchanged);
        time = nanoseconds_since(start);
    });
    partner.join();
    return time / operations;
}

double Floors::Memory::look() {
    constexpr int parts = 10, exchanges = 25;
    const Pinned pinned{here};
    const std::uint64_t first = exchanged;
    exchanged += parts * exchanges;
    double least = std::numeric_limits<double>::max();
    with(ways.front(), [&]<Polling way>() {
        partner.start([this, first, last = exchanged] { answer<1, way>(lines, first, last); });
        // The least of several: somebody else's thread may still be going to sleep.
        for (std::uint64_t part = first; part < exchanged; part += exchanges) {
            const auto start = Clock::now();
            ask<1, way>(lines, part, part + exchanges);
            least = std::min(least, nanoseconds_since(start) / exchanges);
        }
    });
    partner.join();
    return least;
}

double Floors::Memory::stream(Polling polling, int operations) {
    const Pinned pinned{here};
    const std::uint64_t first = produced, timed = first + static_cast<std::uint64_t>(operations / 4);
    produced = timed + static_cast<std::uint64_t>(operations);
    double time = 0;
    with(polling, [&]<Polling way>() {
        partner.start([this, first, last = produced] { consume<way>(slots, consumed, first, last); });
        produce<way>(slots, consumed, first, timed);
        const auto start = Clock::now();
        produce<way>(slots, consumed, timed, produced);
        while (consumed.sequence.load(std::memory_order_acquire) != produced) pause<way>();
        time = nanoseconds_since(start);
    });
    partner.join();
    return time / operations;
}

Floors::Floors(int here, int there) : memory_(std::make_unique<Memory>(here, there)) {}
Floors::~Floors() = default;

Contestant Floors::one_line(int operations) {
    return {"F1", [m = memory_.get(), operations] {
                return m->best(operations, [m](Polling way, int n) { return m->exchange<1>(way, n); });
            }};
}

Contestant Floors::two_lines(int operations) {
    return {"F2", [m = memory_.get(), operations] {
                return m->best(operations, [m](Polling way, int n) { return m->exchange<2>(way, n); });
            }};
}

Contestant Floors::ring(int operations) {
    return {"ring", [m = memory_.get(), operations] {
                return m->best(operations, [m](Polling way, int n) { return m->stream(way, n); });
            }};
}

double Floors::look() { return memory_->look(); }

static std::unique_ptr<Floors> made_nearest() {
    const auto& processors = allowed_processors();
    return std::make_unique<Floors>(processors.front(), processors[processors.size() > 1 ? 1 : 0]);
}

double passing_look() { return made_nearest()->look(); }

Floors& nearest_floors() {
    // A forked rank has the memory but not the partner.
    static std::unique_ptr<Floors> floors;
    static pid_t process = 0;
    if (process != getpid()) {
        static_cast<void>(floors.release());
        floors = made_nearest();
        process = getpid();
    }
    return *floors;
}

Contestant memcpy_floor(std::size_t bytes) {
    // Half a page apart: some processors copy very slowly between addresses that are equal modulo a page.
    auto memory = std::make_shared<std::vector<char>>(2 * bytes + 8192, 1);
    return {"memcpy", [memory, bytes] {
                char* const from = memory->data() + (-reinterpret_cast<std::uintptr_t>(memory->data()) & 4095);
                char* const to = from + (bytes + 4095) / 4096 * 4096 + 2048;
                const std::size_t copies = std::max<std::size_t>(1, (std::size_t{4} << 20) / bytes);
                auto copy = [&](std::size_t count) {
                    for (std::size_t i = 0; i < count; ++i) {
                        std::memcpy(i % 2 == 0 ? to : from, i % 2 == 0 ? from : to, bytes);
                        std::atomic_signal_fence(std::memory_order_seq_cst);
                    }
                };
                copy(copies / 4 + 1);
                const auto start = Clock::now();
                copy(copies);
                return nanoseconds_since(start) / (static_cast<double>(copies * bytes) / 1024);
            }};
}

}  // namespace bench
