// A channel between two processes: what channel_test promises, and what happens when one of them is killed.
#include "penstock/shared_channel.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

namespace {

using namespace std::chrono_literals;
using penstock::Completion;
using penstock::Initiation;
using std::chrono::steady_clock;

/// Five words that must fit together: a record that is torn has a wrong last one.
struct Block {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 4> words{};
    std::uint64_t check = 0;

    static Block of(std::uint64_t number) {
        Block block{number, {}, number};
        for (auto& word : block.words) block.check ^= word = block.check * 0x9e3779b97f4a7c15 + 1;
        return block;
    }
    bool whole() const { return check == of(number).check && words == of(number).words; }
};

using Channel = penstock::SharedChannel<Block>;
using Sender = penstock::SharedProducer<Block>;
using Receiver = penstock::SharedConsumer<Block>;

/// Runs `body` in a child; its exit code is what `body` returns, or 99 for an exception.
pid_t in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    int code = 99;
    try {
        code = body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(code);
}

int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

/// Receives until the producer closes. Returns the number of records, or 0 when one was wrong.
std::uint64_t receive_all(Receiver& receiver) {
    std::uint64_t received = 0;
    while (auto block = receiver.receive()) {
        if (!block->whole() || block->number != ++received) return 0;
        receiver.complete();
    }
    return received;
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class SharedChannelTest : public testing::TestWithParam<std::tuple<std::uint32_t, Initiation, Completion>> {};

TEST_P(SharedChannelTest, records_reach_another_process_whole_in_order_each_once) {
    const auto [capacity, initiation, completion] = GetParam();
    constexpr std::uint64_t records = 5'000;
    auto channel = Channel::create(capacity, initiation);
    const int descriptor = channel.duplicate_descriptor();
    const pid_t child = in_child([&] {
        Receiver receiver(Channel::attach(descriptor));
        return receive_all(receiver) == records ? 0 : 1;
    });
    close(descriptor);
    {
        Sender sender(std::move(channel), completion);
        std::mt19937_64 random(capacity);
        for (std::uint64_t number = 1; number <= records; ++number) {
            const auto ticket = sender.send(Block::of(number));
            ASSERT_EQ(ticket.number, number);
            if (random() % 512 == 0) sender.drain();  // so that the next is a lone one
        }
        sender.drain();
    }
    EXPECT_EQ(status_of(child), 0);
}

INSTANTIATE_TEST_SUITE_P(AllWays, SharedChannelTest,
                         testing::Combine(testing::Values(1u, 2u, 64u, 1024u),
                                          testing::Values(Initiation::push, Initiation::pull),
                                          testing::Values(Completion::automatic, Completion::slot, Completion::line)));

TEST(SharedChannel, an_idle_receiver_sleeps_and_is_woken) {
    auto channel = Channel::create(4);
    const int descriptor = channel.duplicate_descriptor();
    Receiver receiver(std::move(channel));
    const pid_t child = in_child([&] {
        Sender sender(Channel::attach(descriptor));
        for (std::uint64_t number = 1; number <= 5; ++number) {
            usleep(100'000);
            sender.send(Block::of(number));
        }
        return 0;
    });
    close(descriptor);
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    EXPECT_EQ(receive_all(receiver), 5u);
    getrusage(RUSAGE_THREAD, &after);
    auto microseconds = [](timeval time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
    EXPECT_LT(microseconds(after.ru_utime) + microseconds(after.ru_stime) - microseconds(before.ru_utime) -
                  microseconds(before.ru_stime),
              200'000)
        << "of 500 ms idle";
    EXPECT_EQ(status_of(child), 0);
}

// ---- the death of the peer ----

TEST(SharedChannel, a_child_that_exits_without_closing_is_reported_with_its_exit_code) {
    auto channel = Channel::create(4);
    const int descriptor = channel.duplicate_descriptor();
    const pid_t child = in_child([&] {
        Sender sender(Channel::attach(descriptor));
        sender.send(Block::of(1));
        _exit(7);
        return 0;
    });
    close(descriptor);
    Receiver receiver(std::move(channel));
    const auto block = receiver.receive();
    ASSERT_TRUE(block && block->whole()) << "what was published before the death is delivered";
    receiver.complete();
    try {
        receiver.receive();
        FAIL() << "the death was missed";
    } catch (const penstock::PeerDied& died) {
        EXPECT_EQ(died.pid(), child);
        EXPECT_EQ(died.exit_code(), 7);
        EXPECT_FALSE(died.signal());
    }
    EXPECT_TRUE(WIFEXITED(status_of(child))) << "reaping is left to the parent";
}

/// Kills the peer at a moment drawn from `random`. True when all went as promised.
void kill_one(std::mt19937_64& random, bool kill_the_producer) {
    const auto capacity = 1u << random() % 7;
    const auto initiation = random() % 2 ? Initiation::push : Initiation::pull;
    auto channel = Channel::create(capacity, initiation);
    const int descriptor = channel.duplicate_descriptor();
    int started[2];
    ASSERT_EQ(pipe(started), 0);
    const pid_t child = in_child([&]() -> int {
        auto attached = Channel::attach(descriptor);
        auto tell = [&] {
            if (write(started[1], "x", 1) != 1) _exit(2);
        };
        if (kill_the_producer) {
            Sender sender(std::move(attached));
            tell();
            for (std::uint64_t number = 1;; ++number) sender.send(Block::of(number));
        }
        Receiver receiver(std::move(attached));
        for (tell();; receiver.complete())
            if (!receiver.receive()->whole()) _exit(1);
    });
    char byte = 0;
    EXPECT_EQ(read(started[0], &byte, 1), 1);
    for (int end : {descriptor, started[0], started[1]}) close(end);

    steady_clock::time_point killed;
    const auto after = std::chrono::microseconds{random() % 1'500};
    std::thread killer([&] {
        std::this_thread::sleep_for(after);
        killed = steady_clock::now();
        kill(child, SIGKILL);
    });
    std::uint64_t records = 0;
    std::uint64_t wrong = 0;
    steady_clock::time_point reported;
    try {
        if (kill_the_producer) {
            Receiver receiver(std::move(channel));
            for (;; receiver.complete()) {
                const auto block = receiver.receive();
                if (!block || !block->whole() || block->number != ++records) ++wrong;
            }
        } else {
            Sender sender(std::move(channel));
            for (;;) sender.send(Block::of(++records));
        }
    } catch (const penstock::PeerDied& died) {
        reported = steady_clock::now();
        EXPECT_EQ(died.pid(), child);
        EXPECT_EQ(died.signal(), SIGKILL);
    }
    killer.join();
    EXPECT_EQ(wrong, 0u) << "torn, lost or repeated";
    EXPECT_LT(reported - killed, 2s);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

void kill_many(bool kill_the_producer) {
    const bool long_run = std::getenv("PENSTOCK_LONG") != nullptr;
    const auto before = open_descriptors();
    for (std::uint64_t seed = 1; seed <= (long_run ? 5'000u : 150u) && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        kill_one(random, kill_the_producer);
    }
    EXPECT_EQ(open_descriptors(), before) << "a descriptor was left behind";
}

TEST(SharedChannel, a_producer_killed_at_any_moment_leaves_whole_records_and_is_reported) { kill_many(true); }
TEST(SharedChannel, a_consumer_killed_at_any_moment_is_reported) { kill_many(false); }

// ---- what is refused ----

TEST(SharedChannel, a_peer_that_never_comes_is_reported) {
    Receiver receiver(Channel::create(4), 50ms);
    EXPECT_THROW(receiver.receive(), penstock::PeerMissing);
}

TEST(SharedChannel, a_closed_consumer_refuses_what_does_not_fit) {
    auto channel = Channel::create(2);
    Receiver receiver(Channel::attach(channel.duplicate_descriptor()));
    Sender sender(std::move(channel));
    receiver.close();
    sender.send(Block::of(1));
    sender.send(Block::of(2));
    EXPECT_THROW(sender.send(Block::of(3)), penstock::PeerClosed);
    EXPECT_THROW(sender.drain(), penstock::PeerClosed);
}

TEST(SharedChannel, an_end_is_taken_once) {
    auto channel = Channel::create(2);
    auto again = Channel::attach(channel.duplicate_descriptor());
    Sender sender(std::move(channel));
    EXPECT_THROW(Sender{std::move(again)}, penstock::UsageError);
}

TEST(SharedChannel, only_powers_of_two_are_capacities) {
    for (std::uint32_t capacity : {0u, 3u, 1u << 21}) EXPECT_THROW(Channel::create(capacity), penstock::UsageError);
}

TEST(SharedChannel, a_channel_of_another_payload_is_refused) {
    auto channel = Channel::create(2);
    EXPECT_THROW(penstock::SharedChannel<int>::attach(channel.duplicate_descriptor()), penstock::InvalidChannel);
}

/// The header of a channel, for spoiling.
penstock::shared_channel::Header& header_of(penstock::SharedMemory& memory) {
    return *reinterpret_cast<penstock::shared_channel::Header*>(memory.data());
}

TEST(SharedChannel, a_spoiled_layout_is_refused) {
    using Header = penstock::shared_channel::Header;
    const std::function<void(Header&)> spoilings[] = {
        [](Header& header) { header.magic ^= 1; },
        [](Header& header) { ++header.version; },
        [](Header& header) { header.capacity = 3; },
        [](Header& header) { header.capacity = 1u << 19; },  // more than the memory holds
        [](Header& header) { header.capacity = ~0u; },
        [](Header& header) { header.record_size = 0; },
        [](Header& header) { header.initiation = static_cast<Initiation>(9); },
    };
    for (const auto& spoil : spoilings) {
        auto channel = Channel::create(4);
        auto memory = penstock::SharedMemory::adopt(channel.duplicate_descriptor());
        spoil(header_of(memory));
        EXPECT_THROW(Channel::attach(channel.duplicate_descriptor()), penstock::InvalidChannel);
    }
}

TEST(SharedChannel, a_completion_of_what_was_never_sent_is_refused) {
    auto channel = Channel::create(2);
    auto memory = penstock::SharedMemory::adopt(channel.duplicate_descriptor());
    Sender sender(std::move(channel), Completion::line);
    sender.send(Block::of(1));
    sender.send(Block::of(2));
    header_of(memory).credits.completed.store(1'000'000);
    EXPECT_THROW(sender.send(Block::of(3)), penstock::InvalidChannel);
}

}  // namespace
