// store layer: the gate through which one rank goes to read what a writer may want to change.
//
// Three words, homed at the reader: `reading`, which it sets while it is in; `writer`, which a writer sets before it
// writes; and `wish`, by which a reader that found the gate closed asks to be let in by the writer that opens it. So no
// reader waits for more than the write under way and the next one, however many writers stand in line.
//
// Happens-before. Reader: reading.store(1), writer.load(). Writer: writer.store(ticket), wish.load(), reading.load().
// All are sequentially consistent, so at least one of the two sees the other: either the reader steps back, or the
// writer waits for its answer, which the reader gives after reading.store(0) when it finds a ticket. A reader that was
// let in (wish: granted) sets `reading` before it clears `wish`, and the writer looks at them in the other order, so it
// cannot miss it. It wishes only after it has stepped back, so that it never answers a writer behind whose back it
// comes in. Section of a writer -> wish.compare_exchange(granted) or writer.store(0) -> the reader's load. ReaderGate
// is a template over the atomic type: tests/model checks this code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

template <class Policy = StandardAtomics>
class ReaderGate {
  public:
    // ---- the reader, at its own gate ----

    /// Goes in. `wait(poll)` returns when poll() is true; `answer(ticket)` tells the writer of this ticket that the
    /// gate is clear.
    template <class Wait, class Answer>
    void enter(Wait&& wait, Answer&& answer) {
        for (;;) {
            reading_.store(1, std::memory_order_seq_cst);
            if (writer_.load(std::memory_order_seq_cst) == 0) return;
            leave(answer);
            wish_.store(wanted, std::memory_order_seq_cst);
            try {
                wait([this] {
                    return wish_.load(std::memory_order_seq_cst) == granted ||
                           writer_.load(std::memory_order_seq_cst) == 0;
                });
            } catch (...) {
                // a writer may count on it
                if (wish_.exchange(none, std::memory_order_seq_cst) == granted) leave(answer);
                throw;
            }
            std::uint32_t expected = wanted;
            if (wish_.compare_exchange_strong(expected, none, std::memory_order_seq_cst, std::memory_order_seq_cst))
                continue;
            reading_.store(1, std::memory_order_seq_cst);
            wish_.store(none, std::memory_order_seq_cst);
            return;
        }
    }

    template <class Answer>
    void leave(Answer&& answer) {
        reading_.store(0, std::memory_order_seq_cst);
        if (const auto ticket = writer(); ticket != 0) answer(ticket);
    }

    // ---- a writer, at everybody's ----

    /// From now on nobody goes in by itself.
    void close(std::uint64_t ticket) { writer_.store(ticket, std::memory_order_seq_cst); }
    /// Is somebody in, or about to be? Then an answer to the ticket will come.
    bool occupied() const {
        return wish_.load(std::memory_order_seq_cst) == granted || reading_.load(std::memory_order_seq_cst) != 0;
    }
    /// Lets in whoever waits.
    void open() {
        std::uint32_t expected = wanted;
        wish_.compare_exchange_strong(expected, granted, std::memory_order_seq_cst, std::memory_order_seq_cst);
        writer_.store(0, std::memory_order_seq_cst);
    }

    /// The ticket of the writer that has closed it; 0: it is open.
    std::uint64_t writer() const { return writer_.load(std::memory_order_seq_cst); }

  private:
    static constexpr std::uint32_t none = 0;
    static constexpr std::uint32_t wanted = 1;
    static constexpr std::uint32_t granted = 2;

    alignas(128) typename Policy::template Atomic<std::uint32_t> reading_{0};  ///< the reader
    alignas(128) typename Policy::template Atomic<std::uint32_t> wish_{0};     ///< the reader; granted by a writer
    alignas(128) typename Policy::template Atomic<std::uint64_t> writer_{0};   ///< writers
};

}  // namespace penstock
