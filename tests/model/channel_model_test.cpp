// The shipped Producer and Consumer under every schedule and every read that the memory model allows.
#include <gtest/gtest.h>

#include "model.hpp"
#include "penstock/detail/channel/channel.hpp"

namespace {

using model::Search;
using penstock::Completion;
using penstock::Initiation;

/// What the producer does: for each letter one record; 'w' waits until everything is complete after it, 's' streams on.
template <std::size_t Size>
struct Script {
    char steps[Size];
    constexpr Script(const char (&from)[Size]) { std::copy_n(from, Size, steps); }
    static constexpr std::size_t records = Size - 1;
};

struct Payload {
    model::Plain<int> argument;  ///< written by the producer, read by the consumer
    model::Plain<int> result;    ///< written by the consumer, read by the producer after completion
};

template <Script script, std::uint32_t capacity, Completion completion, Initiation initiation,
          class Weakening = model::AsShipped>
struct ChannelModel : rl::test_suite<ChannelModel<script, capacity, completion, initiation, Weakening>, 2> {
    using Policy = model::Atomics<Weakening>;
    using Record = penstock::Record<Payload, Policy>;
    using Producer = penstock::Producer<Payload, Policy>;

    Record slots[capacity];
    penstock::Credits<Policy> credits;
    penstock::Issued<Policy> bell;

    penstock::ChannelParts<Payload, Policy> parts() { return {slots, &credits, &bell, capacity, initiation}; }

    void thread(unsigned index) {
        if (index == 0) produce();
        else consume();
    }

    void produce() {
        Producer producer(parts(), capacity, completion);
        int number = 0;
        for (const char* step = script.steps; *step; ++step) {
            Record* record = producer.reserve();
            for (; !record; record = producer.reserve()) model::idle();
            record->payload.argument.write(++number);
            const auto ticket = producer.publish();
            model::require(ticket.number == static_cast<std::uint64_t>(number), "records are numbered in order");
            model::require(producer.outstanding() <= capacity, "no more is outstanding than there are slots");
            if (*step != 'w') continue;
            while (!producer.complete(ticket)) model::idle();
            model::require(record->payload.result.read() == -number, "a completion publishes what the consumer wrote");
        }
        while (!producer.drained()) model::idle();
    }

    void consume() {
        penstock::Consumer<Payload, Policy> consumer(parts());
        for (int number = 1; number <= static_cast<int>(script.records); ++number) {
            Record* record = consumer.front();
            for (; !record; record = consumer.front()) model::idle();
            model::require(record->payload.argument.read() == number, "records arrive in order, each once, none torn");
            if (const Record* behind = consumer.behind())
                model::require(behind->payload.argument.read() == number + 1, "the record behind is the next one");
            record->payload.result.write(-number);
            consumer.complete();
        }
        model::require(consumer.front() == nullptr, "nothing arrives that was not sent");
    }
};

/// A third thread learns by the shared words alone that a record has completed, while the channel goes on.
template <Script script, std::uint32_t capacity, Completion completion, class Weakening = model::AsShipped>
struct HandleModel : rl::test_suite<HandleModel<script, capacity, completion, Weakening>, 3> {
    using Policy = model::Atomics<Weakening>;
    using Record = penstock::Record<Payload, Policy>;
    using Producer = penstock::Producer<Payload, Policy>;
    static constexpr int records = static_cast<int>(script.records);

    Record slots[capacity];
    penstock::Credits<Policy> credits;
    penstock::Ticket ticket;                                        ///< of the first record
    model::Atomic<std::uint32_t, model::AsShipped> handed_over{0};  ///< how the test passes `ticket` on
    model::Plain<int> output;                                       ///< what the first task writes

    penstock::ChannelParts<Payload, Policy> parts() { return {slots, &credits, nullptr, capacity, Initiation::push}; }

    void thread(unsigned index) {
        if (index == 0) {
            Producer producer(parts(), capacity, completion);
            for (int number = 1; number <= records; ++number) {
                Record* record = producer.reserve();
                for (; !record; record = producer.reserve()) model::idle();
                record->payload.argument.write(number);
                const auto issued = producer.publish();
                if (number > 1) continue;
                ticket = issued;
                handed_over.store(1, std::memory_order_release);
            }
        } else if (index == 1) {
            penstock::Consumer<Payload, Policy> consumer(parts());
            for (int number = 1; number <= records; ++number) {
                Record* record = consumer.front();
                for (; !record; record = consumer.front()) model::idle();
                if (record->payload.argument.read() == 1) output.write(42);
                consumer.complete();
            }
        } else {
            while (handed_over.load(std::memory_order_acquire) == 0) model::idle();
            while (!Producer::completed(slots, &credits, ticket)) model::idle();
            model::require(output.read() == 42, "a handle that says complete shows what the task wrote");
        }
    }
};

using enum Completion;
using enum Initiation;

/// `brief` in every execution with two forced switches, `full` in many drawn ones.
template <Script brief, Script full, std::uint32_t capacity, Completion completion, Initiation initiation>
void expect_channel_holds() {
    model::expect_holds<ChannelModel<brief, capacity, completion, initiation>>(Search::few_switches, 2);
    model::expect_holds<ChannelModel<full, capacity, completion, initiation>>(Search::random_schedules, 30'000);
}

// Every way a record travels and completes, lone and streamed, several times round a ring of two.
TEST(ChannelModel, automatic_completion_of_pushed_records) {
    expect_channel_holds<"wsss", "wsswsssw", 2, automatic, push>();
}
TEST(ChannelModel, automatic_completion_of_pulled_records) {
    expect_channel_holds<"wsss", "wsswsssw", 2, automatic, pull>();
}
TEST(ChannelModel, completion_of_pushed_records_in_the_slot) {
    expect_channel_holds<"wsss", "wsswsssw", 2, slot, push>();
}
TEST(ChannelModel, completion_of_pulled_records_in_the_slot) {
    expect_channel_holds<"wsss", "wsswsssw", 2, slot, pull>();
}
TEST(ChannelModel, completion_of_pushed_records_in_the_line) {
    expect_channel_holds<"wsss", "wsswsssw", 2, line, push>();
}
TEST(ChannelModel, completion_of_pulled_records_in_the_line) {
    expect_channel_holds<"wss", "wsswsssw", 2, line, pull>();
}
TEST(ChannelModel, a_stream_without_a_pause) { expect_channel_holds<"ssss", "ssssssss", 2, automatic, push>(); }
TEST(ChannelModel, lone_calls_only) { expect_channel_holds<"www", "wwwwww", 2, automatic, push>(); }
TEST(ChannelModel, a_ring_of_one_slot) { expect_channel_holds<"wss", "wssswsss", 1, automatic, push>(); }
TEST(ChannelModel, a_ring_of_four_slots) { expect_channel_holds<"wsss", "wsssssswssssw", 4, automatic, push>(); }
TEST(ChannelModel, a_ring_of_four_pulled_slots) { expect_channel_holds<"sss", "sswsssssswsss", 4, slot, pull>(); }

TEST(ChannelModel, a_handle_tells_a_third_thread_of_a_completion_in_a_slot) {
    model::expect_holds<HandleModel<"ssss", 2, automatic>>(Search::few_switches, 2);
    model::expect_holds<HandleModel<"ssss", 2, automatic>>(Search::random_schedules, 50'000);
    model::expect_holds<HandleModel<"ssss", 2, slot>>(Search::random_schedules, 50'000);
}
TEST(ChannelModel, a_handle_tells_a_third_thread_of_a_completion_in_the_line) {
    model::expect_holds<HandleModel<"ssss", 2, line>>(Search::few_switches, 2);
    model::expect_holds<HandleModel<"ssss", 2, line>>(Search::random_schedules, 50'000);
}

// Each order is needed: with it relaxed, the search finds the harm.
template <Script script, Completion completion, model::Name function>
using Weakened = ChannelModel<script, 2, completion, push, model::Relaxing<function>>;

TEST(ChannelModel, publishing_without_release_is_found) {
    model::expect_finds<Weakened<"sss", automatic, "::publish(">>(rl::test_result_data_race);
}
TEST(ChannelModel, looking_for_a_record_without_acquire_is_found) {
    model::expect_finds<Weakened<"sss", automatic, "::valid(">>(rl::test_result_data_race);
}
TEST(ChannelModel, looking_behind_without_acquire_is_found) {
    // With two slots nothing is behind: the third record waits for the second.
    model::expect_finds<ChannelModel<"sss", 4, automatic, push, model::Relaxing<"::behind(">>>(
        rl::test_result_data_race);
}
TEST(ChannelModel, completing_in_the_slot_without_release_is_found) {
    model::expect_finds<Weakened<"ww", slot, "::complete(">>(rl::test_result_data_race);
}
TEST(ChannelModel, completing_in_the_line_without_release_is_found) {
    model::expect_finds<Weakened<"ww", line, "::complete(">>(rl::test_result_data_race);
}
TEST(ChannelModel, seeing_a_completion_in_the_slot_without_acquire_is_found) {
    model::expect_finds<Weakened<"ww", slot, "::completed(">>(rl::test_result_data_race);
}
TEST(ChannelModel, seeing_a_completion_in_the_line_without_acquire_is_found) {
    model::expect_finds<Weakened<"ww", line, "::completed(">>(rl::test_result_data_race);
}
TEST(ChannelModel, looking_for_credit_in_slots_without_acquire_is_found) {
    model::expect_finds<Weakened<"ssss", slot, "::refresh(">>(rl::test_result_data_race);
}
TEST(ChannelModel, looking_for_credit_in_the_line_without_acquire_is_found) {
    model::expect_finds<Weakened<"ssss", line, "::refresh(">>(rl::test_result_data_race);
}
TEST(ChannelModel, a_handle_without_acquire_is_found) {
    model::expect_finds<HandleModel<"ss", 2, line, model::Relaxing<"::completed(">>>(rl::test_result_data_race);
}

}  // namespace
