// The shipped answers in the record of what they answer, with the channels of both directions, in a model of the C++
// memory order.
#include "message/answer.hpp"
#include "model.hpp"
#include "penstock/detail/channel/channel.hpp"

namespace {

using model::Search;

/// What a rank does, a character a step.
template <std::size_t Size>
struct Script {
    char steps[Size];
    constexpr Script(const char (&from)[Size]) { std::copy_n(from, Size, steps); }
};

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

/// Two ranks with a channel in each direction, as the message layer has them. Each follows its script: 's' sends the
/// next number, in the header that waits for an answer if there is one, 'r' receives one, which must be the next.
template <Script first, Script second, class Weakening = model::AsShipped>
struct AnswerModel : rl::test_suite<AnswerModel<first, second, Weakening>, 2> {
    using Policy = model::Atomics<Weakening>;
    static constexpr std::uint32_t records = 2;

    struct Half {
        penstock::Record<Letter, Policy> slots[records];
        penstock::Credits<Policy> credits;
        penstock::AnswerSought<Letter, Policy> sought;  ///< used by the sender alone
        model::Plain<int> exchange;                     ///< the bytes of what asks, and of the answer
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
            if (*step == 's') send(index, producer, consumer, owed, sought, ++sent);
            else receive(index, producer, consumer, owed, sought, ++received);
        }
        owed.complete(consumer);
    }

    template <class Producer, class Consumer, class Owed, class Sought>
    void send(unsigned me, Producer& producer, Consumer& consumer, Owed& owed, Sought& sought, int number) {
        if (owed.holds()) {
            of[1 - me].exchange.write(number);
            owed.payload().write(number, false, true, producer.issued());
            owed.complete(consumer);
            return;
        }
        auto* record = producer.reserve();
        for (; !record; record = producer.reserve()) model::idle();
        const bool asks = sought.may_ask(*record, producer.known_empty());
        if (asks) of[me].exchange.write(number);
        record->payload.write(number, asks, false, 0);
        const auto ticket = producer.publish();
        if (asks) sought.asked(*record, ticket);
    }

    template <class Producer, class Consumer, class Owed, class Sought>
    void receive(unsigned me, Producer& producer, Consumer& consumer, Owed& owed, Sought& sought, int number) {
        owed.complete(consumer);
        for (;; model::idle()) {
            auto* record = consumer.front();
            if (const auto* answer = sought.look()) {
                const auto before = answer->before.read() - (consumer.next() - 1);
                model::require(before <= records, "an answer tells of messages that were sent");
                if (before == 0) {
                    model::require(answer->number.read() == number, "answers come in their turn");
                    model::require(of[me].exchange.read() == number, "the bytes of an answer are its own");
                    return sought.taken(producer);
                }
                if (!record) record = consumer.front();
                model::require(record != nullptr, "what was sent before an answer is there with it");
            }
            if (!record) continue;
            model::require(record->payload.number.read() == number, "messages come in their turn");
            if (!record->payload.asking.read()) return consumer.complete();
            model::require(of[1 - me].exchange.read() == number, "the bytes of what asks are its own");
            return owed.hold(*record);
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

}  // namespace
