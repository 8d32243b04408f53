// The shipped ring of bytes, with the headers of its messages in the shipped channel, in a model of the C++ memory
// order.
#include "message/ring.hpp"
#include "model.hpp"
#include "penstock/detail/channel/channel.hpp"

namespace {

using model::Search;

using Cell = model::Plain<int>;

struct Header {
    model::Plain<std::uint64_t> cells;
    model::Plain<std::uint64_t> position;
    model::Plain<bool> whole;
};

/// What the sender sends: a digit is a short message of that many cells, a letter from 'a' on a long one of 1, 2 ...
/// cells that goes in pieces.
template <std::size_t Size>
struct Script {
    char steps[Size];
    constexpr Script(const char (&from)[Size]) { std::copy_n(from, Size, steps); }
};

constexpr bool is_whole(char step) { return step < 'a'; }
constexpr std::uint64_t cells_of(char step) {
    return static_cast<std::uint64_t>(is_whole(step) ? step - '0' : step - 'a' + 1);
}

template <Script script, std::uint64_t capacity, std::uint64_t piece, class Weakening = model::AsShipped>
struct MessageRingModel : rl::test_suite<MessageRingModel<script, capacity, piece, Weakening>, 2> {
    using Policy = model::Atomics<Weakening>;
    using Channel =
        model::Atomics<model::AsShipped>;  ///< channel_model_test weakens it; here only the ring is weakened
    static constexpr std::uint32_t records = 2;

    penstock::Record<Header, Channel> slots[records];
    penstock::Credits<Channel> credits;
    Cell cells[capacity];
    penstock::RingCount<Policy> filled;
    penstock::RingCount<Policy> freed;

    penstock::ChannelParts<Header, Channel> headers() {
        return {slots, &credits, nullptr, records, penstock::Initiation::push};
    }
    penstock::RingParts<Cell, Policy> ring() { return {cells, capacity, &filled, &freed}; }

    void thread(unsigned index) {
        if (index == 0) send();
        else receive();
    }

    void send() {
        penstock::Producer<Header, Channel> producer(headers(), records, penstock::Completion::line);
        penstock::RingWriter<Cell, Policy> writer(ring());
        int next = 0;
        const auto put = [&](Cell* cell, std::uint64_t, std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) cell[i].write(++next);
        };
        for (const char* step = script.steps; *step; ++step) {
            const auto count = cells_of(*step);
            if (is_whole(*step))
                while (writer.room(count) < count) model::idle();
            auto* record = producer.reserve();
            for (; !record; record = producer.reserve()) model::idle();
            record->payload.cells.write(count);
            record->payload.position.write(writer.position());
            record->payload.whole.write(is_whole(*step));
            if (is_whole(*step)) writer.write(count, put);
            else writer.publish_filled();
            producer.publish();
            for (std::uint64_t moved = 0; !is_whole(*step) && moved < count;) {
                const auto room = std::min({piece, count - moved, writer.room(1)});
                if (room == 0) {
                    model::idle();
                    continue;
                }
                writer.write(room, put);
                writer.publish_filled();
                moved += room;
            }
            model::require(!writer.broken(), "what the receiver says it has freed can be");
        }
    }

    void receive() {
        penstock::Consumer<Header, Channel> consumer(headers());
        penstock::RingReader<Cell, Policy> reader(ring());
        int next = 0;
        const auto get = [&](Cell* cell, std::uint64_t, std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i)
                model::require(cell[i].read() == ++next, "cells come in order, each once, none torn");
        };
        for (const char* step = script.steps; *step; ++step) {
            auto* record = consumer.front();
            for (; !record; record = consumer.front()) model::idle();
            const auto count = record->payload.cells.read();
            model::require(count == cells_of(*step), "headers come in order");
            model::require(record->payload.position.read() == reader.position(), "a header knows where its message is");
            const bool whole = record->payload.whole.read();
            for (std::uint64_t moved = 0; moved < count;) {
                const auto there = whole ? count : std::min(count - moved, reader.available());
                model::require(!reader.broken(), "what the sender says it has filled can be");
                if (there == 0) {
                    model::idle();
                    continue;
                }
                reader.read(there, get);
                reader.publish_freed();
                moved += there;
            }
            consumer.complete();
        }
    }
};

template <Script brief, Script full, std::uint64_t capacity, std::uint64_t piece>
void expect_ring_holds() {
    model::expect_holds<MessageRingModel<brief, capacity, piece>>(Search::few_switches, 2);
    model::expect_holds<MessageRingModel<full, capacity, piece>>(Search::random_schedules, 30'000);
}

TEST(MessageRingModel, short_messages_round_the_ring) { expect_ring_holds<"121", "12212112", 4, 1>(); }
TEST(MessageRingModel, long_messages_in_pieces) { expect_ring_holds<"c", "eceae", 2, 1>(); }
TEST(MessageRingModel, pieces_that_wrap) { expect_ring_holds<"1d", "1g1f1", 4, 3>(); }
TEST(MessageRingModel, short_and_long_ones_by_turns) { expect_ring_holds<"1b1", "1e20c1d2", 4, 2>(); }

template <Script script, model::Name function>
using Weakened = MessageRingModel<script, 2, 1, model::Relaxing<function>>;

TEST(MessageRingModel, filling_without_release_is_found) {
    model::expect_finds<Weakened<"c", "::publish_filled(">>(rl::test_result_data_race);
}
TEST(MessageRingModel, reading_what_is_available_without_acquire_is_found) {
    model::expect_finds<Weakened<"c", "::available(">>(rl::test_result_data_race);
}
TEST(MessageRingModel, freeing_without_release_is_found) {
    model::expect_finds<Weakened<"e", "::publish_freed(">>(rl::test_result_data_race);
}
TEST(MessageRingModel, looking_for_room_without_acquire_is_found) {
    model::expect_finds<Weakened<"e", "::look_for_room(">>(rl::test_result_data_race);
}

}  // namespace
