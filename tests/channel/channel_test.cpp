// The channel between two real threads: what model checking promises for a few records holds for many.
#include "penstock/detail/channel/channel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using penstock::Completion;
using penstock::Initiation;

struct Payload {
    std::uint64_t argument = 0;
    std::uint64_t check = 0;
    std::uint64_t result = 0;
};
std::uint64_t scramble(std::uint64_t number) { return number * 0x9e3779b97f4a7c15 ^ number >> 7; }

using Record = penstock::Record<Payload>;
using Producer = penstock::Producer<Payload>;
using Consumer = penstock::Consumer<Payload>;

static_assert(sizeof(Record) == 64 && alignof(Record) == 64, "a record is one line");
static_assert(sizeof(penstock::Credits<>) == 128, "what another owner writes stands on lines of its own");

/// The shared parts in memory of this process.
struct Memory {
    explicit Memory(std::uint32_t capacity, Initiation initiation = Initiation::push)
        : slots(std::make_unique<Record[]>(capacity)), parts{slots.get(), &credits, &bell, capacity, initiation} {}
    std::unique_ptr<Record[]> slots;
    penstock::Credits<> credits;
    penstock::Issued<> bell;
    penstock::ChannelParts<Payload> parts;
};

Record* reserve_waiting(Producer& producer) {
    for (;;) {
        if (auto* record = producer.reserve()) return record;
        std::this_thread::yield();
    }
}

/// Takes `records` records, checks each, writes its result, completes it; yields at random.
void consume_all(Consumer consumer, std::uint64_t records, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::uint64_t number = 1; number <= records; ++number) {
        Record* record = consumer.front();
        for (; !record; record = consumer.front()) std::this_thread::yield();
        ASSERT_EQ(record->payload.argument, number) << "lost, repeated or out of order";
        ASSERT_EQ(record->payload.check, scramble(number)) << "torn";
        if (const auto* behind = consumer.behind()) {
            ASSERT_EQ(behind->payload.argument, number + 1);
        }
        record->payload.result = scramble(number) + 1;
        if (random() % 64 == 0) std::this_thread::yield();
        consumer.complete();
    }
    EXPECT_EQ(consumer.front(), nullptr);
}

class ChannelTest : public testing::TestWithParam<std::tuple<std::uint32_t, Initiation, Completion>> {};

TEST_P(ChannelTest, records_arrive_whole_in_order_each_once_alone_and_in_streams) {
    const auto [capacity, initiation, completion] = GetParam();
    constexpr std::uint64_t records = 20'000;
    Memory memory(capacity, initiation);
    std::thread consumer([&] { consume_all(Consumer(memory.parts), records, 1); });

    Producer producer(memory.parts, capacity, completion);
    std::mt19937_64 random(capacity);
    std::uint64_t stream = 0;  // records left in the stream under way
    for (std::uint64_t number = 1; number <= records; ++number) {
        Record* record = reserve_waiting(producer);
        record->payload = {number, scramble(number), 0};
        const auto ticket = producer.publish();
        ASSERT_EQ(ticket.number, number);
        ASSERT_LE(producer.outstanding(), capacity);
        if (stream != 0) {
            --stream;
        } else {  // a lone call: its result is there once it is complete
            while (!producer.complete(ticket)) std::this_thread::yield();
            ASSERT_EQ(record->payload.result, scramble(number) + 1);
            stream = random() % (3 * capacity);
        }
    }
    while (!producer.drained()) std::this_thread::yield();
    EXPECT_TRUE(producer.known_empty());
    consumer.join();
}

INSTANTIATE_TEST_SUITE_P(AllWays, ChannelTest,
                         testing::Combine(testing::Values(1u, 2u, 4u, 64u, 1024u),
                                          testing::Values(Initiation::push, Initiation::pull),
                                          testing::Values(Completion::automatic, Completion::slot, Completion::line)));

TEST(ChannelTest, a_full_channel_refuses_until_a_record_completes) {
    for (auto completion : {Completion::automatic, Completion::slot, Completion::line}) {
        Memory memory(4);
        Producer producer(memory.parts, 4, completion);
        Consumer consumer(memory.parts);
        for (int i = 0; i < 4; ++i) {
            ASSERT_NE(producer.reserve(), nullptr);
            producer.publish();
        }
        EXPECT_EQ(producer.reserve(), nullptr);
        ASSERT_NE(consumer.front(), nullptr);
        EXPECT_EQ(producer.reserve(), nullptr) << "taken is not yet completed";
        consumer.complete();
        ASSERT_NE(consumer.front(), nullptr);
        consumer.complete();
        EXPECT_NE(producer.reserve(), nullptr);
    }
}

TEST(ChannelTest, the_depth_bounds_what_is_outstanding_below_the_capacity) {
    Memory memory(8);
    Producer producer(memory.parts, 3, Completion::line);
    for (int i = 0; i < 3; ++i) {
        ASSERT_NE(producer.reserve(), nullptr);
        producer.publish();
    }
    EXPECT_EQ(producer.reserve(), nullptr);
    EXPECT_EQ(producer.outstanding(), 3u);
}

TEST(ChannelTest, lone_calls_use_one_slot_again_and_again) {
    Memory memory(8);
    Producer producer(memory.parts, 8, Completion::automatic);
    Consumer consumer(memory.parts);
    for (int i = 0; i < 5; ++i) {
        producer.reserve();
        const auto ticket = producer.publish();
        EXPECT_EQ(ticket.slot, 0u);
        EXPECT_TRUE(ticket.in_slot);
        EXPECT_FALSE(producer.complete(ticket));
        ASSERT_NE(consumer.front(), nullptr);
        consumer.complete();
        EXPECT_TRUE(producer.complete(ticket));
    }
}

TEST(ChannelTest, a_ticket_stays_complete_after_its_slot_was_used_again) {
    for (auto completion : {Completion::automatic, Completion::slot, Completion::line}) {
        Memory memory(2);
        Producer producer(memory.parts, 2, completion);
        Consumer consumer(memory.parts);
        std::vector<penstock::Ticket> tickets;
        for (int i = 0; i < 9; ++i) {
            while (!producer.reserve()) {
                ASSERT_NE(consumer.front(), nullptr);
                consumer.complete();
            }
            tickets.push_back(producer.publish());
            EXPECT_FALSE(Producer::completed(memory.slots.get(), &memory.credits, tickets.back()));
        }
        while (consumer.front()) consumer.complete();
        for (const auto& ticket : tickets)
            EXPECT_TRUE(Producer::completed(memory.slots.get(), &memory.credits, ticket));
        EXPECT_TRUE(producer.drained());
    }
}

TEST(ChannelTest, a_third_thread_sees_completions_by_the_shared_words_alone) {
    constexpr std::uint64_t records = 5'000;
    Memory memory(8);
    std::vector<penstock::Ticket> tickets(records);
    std::atomic<std::uint64_t> issued{0};
    std::thread consumer([&] { consume_all(Consumer(memory.parts), records, 2); });
    std::thread watcher([&] {
        for (std::uint64_t next = 0; next < records; ++next) {
            while (issued.load(std::memory_order_acquire) <= next) std::this_thread::yield();
            while (!Producer::completed(memory.slots.get(), &memory.credits, tickets[next])) std::this_thread::yield();
        }
    });
    Producer producer(memory.parts, 8, Completion::automatic);
    for (std::uint64_t number = 1; number <= records; ++number) {
        reserve_waiting(producer)->payload = {number, scramble(number), 0};
        tickets[number - 1] = producer.publish();
        issued.store(number, std::memory_order_release);
    }
    consumer.join();
    watcher.join();
}

}  // namespace
