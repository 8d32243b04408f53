#include "harness/floors.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/partner.hpp"

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

// On one processor for both sides spinning would wait for the end of a time slice.
inline void pause(bool alone) {
    if (alone) std::this_thread::yield();
}

}  // namespace

struct Floors::Memory {
    Memory(int first, int second) : here(first), alone(first == second), partner(second) {}

    double exchange(std::size_t lines_used, int operations);
    double stream(int operations);

    std::array<Line, 2> lines;                        // each written by both sides in turn
    alignas(128) std::array<Slot, ring_slots> slots;  // written by the initiator alone
    Line consumed;                                    // written by the partner alone
    alignas(128) std::uint64_t exchanged = 0;         // the rest belongs to the initiator; the partner takes copies
    std::uint64_t produced = 0;
    int here;
    bool alone;
    Partner partner;
};

namespace {

using Lines = std::array<Line, 2>;
using Slots = std::array<Slot, ring_slots>;

void ask(Lines& lines, std::size_t used, std::uint64_t first, std::uint64_t last, bool alone) {
    for (std::uint64_t i = first; i < last; ++i) {
        Line& line = lines[i % used];
        line.sequence.store(2 * i + 1, std::memory_order_release);
        while (line.sequence.load(std::memory_order_acquire) != 2 * i + 2) pause(alone);
    }
}

void answer(Lines& lines, std::size_t used, std::uint64_t first, std::uint64_t last, bool alone) {
    for (std::uint64_t i = first; i < last; ++i) {
        Line& line = lines[i % used];
        while (line.sequence.load(std::memory_order_acquire) != 2 * i + 1) pause(alone);
        line.sequence.store(2 * i + 2, std::memory_order_release);
    }
}

void produce(Slots& slots, const Line& consumed, std::uint64_t first, std::uint64_t last, bool alone) {
    std::uint64_t credit = consumed.sequence.load(std::memory_order_acquire);
    for (std::uint64_t i = first; i < last; ++i) {
        while (i - credit >= ring_slots) {
            credit = consumed.sequence.load(std::memory_order_acquire);
            if (i - credit >= ring_slots) pause(alone);
        }
        Slot& slot = slots[i % ring_slots];
        for (std::uint64_t& word : slot.payload) word = i;
        slot.sequence.store(i + 1, std::memory_order_release);
    }
}

void consume(const Slots& slots, Line& consumed, std::uint64_t first, std::uint64_t last, bool alone) {
    for (std::uint64_t i = first; i < last; ++i) {
        const Slot& slot = slots[i % ring_slots];
        while (slot.sequence.load(std::memory_order_acquire) != i + 1) pause(alone);
        if ((i + 1) % slots_a_credit == 0 || i + 1 == last) consumed.sequence.store(i + 1, std::memory_order_release);
    }
}

}  // namespace

double Floors::Memory::exchange(std::size_t used, int operations) {
    const Pinned pinned{here};
    const std::uint64_t first = exchanged, timed = first + static_cast<std::uint64_t>(operations / 4);
    exchanged = timed + static_cast<std::uint64_t>(operations);
    partner.start([&, first, last = exchanged, single = alone] { answer(lines, used, first, last, single); });
    ask(lines, used, first, timed, alone);
    const auto start = Clock::now();
    ask(lines, used, timed, exchanged, alone);
    const double time = nanoseconds_since(start);
    partner.join();
    return time / operations;
}

double Floors::Memory::stream(int operations) {
    const Pinned pinned{here};
    const std::uint64_t first = produced, timed = first + static_cast<std::uint64_t>(operations / 4);
    produced = timed + static_cast<std::uint64_t>(operations);
    partner.start([&, first, last = produced, single = alone] { consume(slots, consumed, first, last, single); });
    produce(slots, consumed, first, timed, alone);
    const auto start = Clock::now();
    produce(slots, consumed, timed, produced, alone);
    while (consumed.sequence.load(std::memory_order_acquire) != produced) pause(alone);
    const double time = nanoseconds_since(start);
    partner.join();
    return time / operations;
}

Floors::Floors(int here, int there) : memory_(std::make_unique<Memory>(here, there)) {}
Floors::~Floors() = default;

Contestant Floors::one_line(int operations) {
    return {"F1", [m = memory_.get(), operations] { return m->exchange(1, operations); }};
}

Contestant Floors::two_lines(int operations) {
    return {"F2", [m = memory_.get(), operations] { return m->exchange(2, operations); }};
}

Contestant Floors::ring(int operations) {
    return {"ring", [m = memory_.get(), operations] { return m->stream(operations); }};
}

Floors& nearest_floors() {
    const auto& processors = allowed_processors();
    static Floors floors{processors.front(), processors[processors.size() > 1 ? 1 : 0]};
    return floors;
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
