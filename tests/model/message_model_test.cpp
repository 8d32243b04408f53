// The shipped ring of bytes, with the headers of its messages in the shipped channel, in a model of the C++ memory
// order.
#include "model.hpp"
#include "penstock/channel.hpp"
#include "penstock/message_answer.hpp"
#include "penstock/message_claim.hpp"
#include "penstock/message_ring.hpp"

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
    penstock::RingFilled<Policy> filled;
    penstock::RingFreed<Policy> freed;

    penstock::ChannelParts<Header, Channel> headers() {
        return {slots, &credits, nullptr, records, penstock::Initiation::push};
    }
    penstock::RingParts<Cell, Policy> ring() { return {cells, capacity, &filled, &freed}; }

    void thread(unsigned index) {
        if (index == 0)
            send();
        else
            receive();
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
            if (is_whole(*step))
                writer.write(count, put);
            else
                writer.publish_filled();
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

// ---- answers ----

/// A short message, or, written over one, the answer to it.
struct Letter {
    model::Plain<int> number;
    model::Plain<std::uint64_t> before;
    model::Plain<bool> asking;
    model::Plain<bool> answers;

    bool is_answer() const { return answers.read(); }
    void write(int value, bool asks, bool answer, std::uint64_t sent_before) {
        number.write(value);
        before.write(sent_before);
        asking.write(asks);
        answers.write(answer);
    }
    Letter& operator=(const Letter& other) {
        write(other.number.read(), other.asking.read(), other.answers.read(), other.before.read());
        return *this;
    }
};

/// Two ranks with a channel in each direction, as the message layer has them. Each follows its script: 's' sends the next
/// number, in the header that waits for an answer if there is one, 'r' receives one, which must be the next.
template <Script first, Script second, class Weakening = model::AsShipped>
struct AnswerModel : rl::test_suite<AnswerModel<first, second, Weakening>, 2> {
    using Policy = model::Atomics<Weakening>;
    static constexpr std::uint32_t records = 2;

    struct Half {
        penstock::Record<Letter, Policy> slots[records];
        penstock::Credits<Policy> credits;
        penstock::AnswerSought<Letter, Policy> sought;  ///< used by the sender alone
    };
    Half of[2];

    penstock::ChannelParts<Letter, Policy> parts(unsigned sender) {
        return {of[sender].slots, &of[sender].credits, nullptr, records, penstock::Initiation::push};
    }

    void thread(unsigned index) {
        penstock::Producer<Letter, Policy> producer(parts(index), records, penstock::Completion::automatic);
        penstock::Consumer<Letter, Policy> consumer(parts(1 - index));
        penstock::AnswerOwed<Letter, Policy> owed;
        auto& sought = of[index].sought;
        int sent = 0, received = 0;
        for (const char* step = index == 0 ? first.steps : second.steps; *step; ++step) {
            if (*step == 's')
                send(producer, consumer, owed, sought, ++sent);
            else
                receive(producer, consumer, owed, sought, ++received);
        }
        owed.complete(consumer);
    }

    template <class Producer, class Consumer, class Owed, class Sought>
    static void send(Producer& producer, Consumer& consumer, Owed& owed, Sought& sought, int number) {
        if (owed.holds()) {
            owed.payload().write(number, false, true, producer.issued());
            owed.complete(consumer);
            return;
        }
        auto* record = producer.reserve();
        for (; !record; record = producer.reserve()) model::idle();
        const bool asks = sought.may_ask(*record, producer.known_empty());
        record->payload.write(number, asks, false, 0);
        const auto ticket = producer.publish();
        if (asks) sought.asked(*record, ticket);
    }

    template <class Producer, class Consumer, class Owed, class Sought>
    static void receive(Producer& producer, Consumer& consumer, Owed& owed, Sought& sought, int number) {
        owed.complete(consumer);
        for (;; model::idle()) {
            auto* record = consumer.front();
            if (const auto* answer = sought.look()) {
                const auto before = answer->before.read() - (consumer.next() - 1);
                model::require(before <= records, "an answer tells of messages that were sent");
                if (before == 0) {
                    model::require(answer->number.read() == number, "answers come in their turn");
                    return sought.taken(producer);
                }
                if (!record) record = consumer.front();
                model::require(record != nullptr, "what was sent before an answer is there with it");
            }
            if (!record) continue;
            model::require(record->payload.number.read() == number, "messages come in their turn");
            if (record->payload.asking.read())
                owed.hold(*record);
            else
                consumer.complete();
            return;
        }
    }
};

template <Script first, Script second>
void expect_answers_hold() {
    model::expect_holds<AnswerModel<first, second>>(Search::few_switches, 2);
    model::expect_holds<AnswerModel<first, second>>(Search::random_schedules, 20'000);
}

TEST(AnswerModel, in_turn) { expect_answers_hold<"srsrsr", "rsrsrs">(); }
TEST(AnswerModel, both_begin) { expect_answers_hold<"srsrsr", "srsrsr">(); }
TEST(AnswerModel, more_than_one_answer) { expect_answers_hold<"srrsrr", "rssrss">(); }
TEST(AnswerModel, an_answer_that_lies_while_its_asker_goes_on) { expect_answers_hold<"ssssrrr", "rsrsrrs">(); }
TEST(AnswerModel, no_answer_at_all) { expect_answers_hold<"sssssr", "rrrrrs">(); }

template <model::Name function>
using WeakAnswer = AnswerModel<"srsrsr", "rsrsrs", model::Relaxing<function>>;

TEST(AnswerModel, looking_without_acquire_is_found) {
    model::expect_finds<WeakAnswer<"::look(">>(rl::test_result_data_race);
}
TEST(AnswerModel, answering_without_release_is_found) {
    model::expect_finds<WeakAnswer<"::complete(">>(rl::test_result_data_race);
}

// ---- claims ----

/// A sender offers a message and takes the offer back at any moment; its memory is its own again then.
template <class Weakening = model::AsShipped>
struct FetchModel : rl::test_suite<FetchModel<Weakening>, 2> {
    penstock::FetchClaim<model::Atomics<Weakening>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> offered{0}, completed{0};
    Cell memory;

    void thread(unsigned index) {
        if (index == 0) {
            memory.write(1);
            offered.store(1, std::memory_order_release);
            const auto begun = claim.take_back();
            while (completed.load(std::memory_order_acquire) < begun) model::idle();
            memory.write(2);
        } else {
            if (offered.load(std::memory_order_acquire) != 1 || !claim.begin(0, 1)) return;
            model::require(memory.read() == 1, "what is fetched is what was offered");
            completed.store(1, std::memory_order_release);
        }
    }
};

/// A receiver offers a place and takes it back at any moment; its memory is its own again then.
template <class Weakening = model::AsShipped>
struct PlaceModel : rl::test_suite<PlaceModel<Weakening>, 2> {
    penstock::PlaceClaim<model::Atomics<Weakening>, model::Plain<std::uint64_t>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> pushed{0};
    Cell memory;

    void thread(unsigned index) {
        if (index == 0) {
            memory.write(1);
            claim.address.write(7);
            claim.bytes.write(8);
            claim.offer(1);
            if (claim.take_back(1)) {
                while (pushed.load(std::memory_order_acquire) != 1) model::idle();
                model::require(memory.read() == 2, "a store that had begun is waited for");
            }
            memory.write(3);
        } else {
            if (!claim.offered(1)) return;
            model::require(claim.address.read() == 7 && claim.bytes.read() == 8, "the place is the one that was meant");
            if (!claim.begin(1)) return;
            memory.write(2);
            pushed.store(1, std::memory_order_release);
        }
    }
};

/// The other side's read-modify-write, as somebody might write it who thinks that a look is enough.
template <class Claim>
struct CarelessClaim : Claim {
    bool begin(std::uint64_t before, std::uint64_t number) {
        if (this->fetching.load(std::memory_order_acquire) != before) return false;
        this->fetching.store(number, std::memory_order_release);
        return true;
    }
};
struct CarelessFetch : rl::test_suite<CarelessFetch, 2> {
    CarelessClaim<penstock::FetchClaim<model::Atomics<>>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> offered{0};
    Cell memory;

    void thread(unsigned index) {
        if (index == 0) {
            memory.write(1);
            offered.store(1, std::memory_order_release);
            if (claim.take_back() == 0) memory.write(2);
        } else if (offered.load(std::memory_order_acquire) == 1 && claim.begin(0, 1)) {
            model::require(memory.read() == 1, "what is fetched is what was offered");
        }
    }
};

TEST(ClaimModel, memory_is_not_fetched_once_it_was_taken_back) { model::expect_holds<FetchModel<>>(Search::every_schedule); }
TEST(ClaimModel, a_place_is_not_stored_to_once_it_was_taken_back) {
    model::expect_holds<PlaceModel<>>(Search::every_schedule);
}
TEST(ClaimModel, a_claim_by_looking_and_storing_is_found) {
    model::expect_finds<CarelessFetch>(rl::test_result_data_race);
}
TEST(ClaimModel, offering_a_place_without_release_is_found) {
    model::expect_finds<PlaceModel<model::Relaxing<"::offer(">>>(rl::test_result_data_race);
}
TEST(ClaimModel, looking_for_a_place_without_acquire_is_found) {
    model::expect_finds<PlaceModel<model::Relaxing<"::offered(">>>(rl::test_result_data_race);
}

}  // namespace
