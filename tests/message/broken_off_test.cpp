// Ranks that break off with one another in the middle: both are told, and memory is its user's again.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "penstock/message.hpp"
#include "tests/message/support.hpp"

namespace {

using namespace message_tests;
using penstock::MessengerClosed;

constexpr std::size_t long_message = 1'000'000;

class BrokenOffTest : public TeamTest {};
INSTANTIATE_TEST_SUITE_P(All, BrokenOffTest, substrates, name_of);

/// Ends a wait by an exception that is none of Penstock's.
struct EndsWaits final : penstock::team::Interruption {
    struct Ended {};
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    void look() override {
        if (std::chrono::steady_clock::now() - begin > 30ms) throw Ended();
    }
};

template <class Call>
void require_interrupted(Rank me, Call&& call) {
    EndsWaits ends;
    me.set_interruption(&ends);
    bool ended = false;
    try {
        call();
    } catch (const EndsWaits::Ended&) {
        ended = true;
    }
    me.set_interruption(nullptr);
    require(ended, "the wait was interrupted");
}

TEST_P(BrokenOffTest, an_interrupted_receive_takes_no_message) {
    run(2, [](Rank me) {
        Messenger post(me);
        int value = 0;
        if (me.index() == 1) {
            me.accept(0, "go");  // not by a message: the two would wait for one another
            post.send(0, 7);
            post.send(0, 8);
            return;
        }
        for (const int from : {1, any_source}) {
            require_interrupted(me, [&] {
                int gone = 0;
                post.recv(from, gone);
            });
        }
        auto go = me.make("go", 64);
        me.grant(go, 1);
        post.recv(1, value);
        require(value == 7, "it is there for the next one");
        post.recv(1, value);
        require(value == 8, "and so is the other");
    });
}

TEST_P(BrokenOffTest, an_interrupted_send_reads_its_memory_no_more_and_both_ranks_are_told) {
    for (const Protocol protocol : {Protocol::automatic, Protocol::push, Protocol::pull, Protocol::ring}) {
        run(2, [protocol](Rank me) {
            Messenger post(me, {.protocol = protocol}), other(me, {.name = "other"});
            int value = 0;
            if (me.index() == 0) {
                // The receiver's mailbox is there: a send that still waits for that has published nothing and closes
                // nothing.
                post.recv(1, value);
                auto data = std::make_unique<std::vector<std::uint8_t>>(pattern(long_message, 1));
                require_interrupted(me, [&] { post.send(1, *data); });
                std::fill(data->begin(), data->end(), std::uint8_t{0});
                data.reset();
                require_throws<MessengerClosed>([&] { post.send(1, 1); }, "its sender knows");
                other.send(1, 1);
                other.recv(1, value);
            } else {
                std::vector<std::uint8_t> into(long_message);
                post.send(0, 1);
                other.recv(0, value);
                require_throws<MessengerClosed>([&] { post.recv(0, into); }, "its receiver knows");
                require_throws<MessengerClosed>([&] { post.send(0, 1); }, "whatever it does");
                other.send(0, 1);
            }
        });
    }
}

TEST_P(BrokenOffTest, both_ranks_of_a_standstill_are_told_though_the_first_one_stays) {
    for (int i = 0; i < 8; ++i) {
        run(2, [](Rank me) {
            Messenger post(me), other(me, {.name = "other"});
            const auto data = pattern(long_message, 1);
            bool told = false;
            Request request = post.isend(1 - me.index(), data);
            try {
                post.wait(request);
            } catch (const penstock::WouldDeadlock&) {
                told = true;
            } catch (const MessengerClosed&) {
                told = true;
            }
            require(told, "this one was told");
            int value = 0;
            Request end = other.irecv(1 - me.index(), value);
            other.send(1 - me.index(), 1);
            require(other.wait_for(end, 10s).has_value(), "so was the other one");
        });
    }
}

// ---- processes ----

class BrokenOffByProcessesTest : public testing::Test {
  protected:
    void SetUp() override { SKIP_UNDER_THREAD_SANITIZER(); }
};

/// For as long as it lives, this process gets no further descriptor.
class NoDescriptors {
  public:
    NoDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const int next = dup(0);
        close(next);
        auto limit = before_;
        limit.rlim_cur = static_cast<rlim_t>(next);
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST_F(BrokenOffByProcessesTest, a_sender_is_told_when_its_receiver_has_no_descriptor_left_and_stays) {
    run(Substrate::processes, 2, [](Rank me) {
        Messenger post(me), other(me, {.name = "other"});
        int value = 0;
        for (Messenger* messenger : {&post, &other}) {  // each has the other's mailbox
            messenger->send(1 - me.index(), 1);
            messenger->recv(1 - me.index(), value);
        }
        std::vector<std::uint8_t> into(long_message);
        if (me.index() == 0) {
            auto memory = post.allocate<std::uint8_t>(long_message);
            Request request = post.isend(1, memory.elements());
            require_throws<MessengerClosed>([&] { post.wait_for(request, 10s); }, "the sender is told");
            other.send(1, 1);
        } else {
            {
                const NoDescriptors none;
                require_throws<penstock::SystemError>([&] { post.recv(0, into); }, "it has no descriptor left");
            }
            other.recv(0, value);
        }
    });
}

TEST_F(BrokenOffByProcessesTest, a_send_that_ended_with_another_operation_of_its_lane_is_received_by_nobody) {
    run(Substrate::processes, 2, [](Rank me) {
        Messenger post(me), other(me, {.name = "other"});
        int value = 0;
        for (Messenger* messenger : {&post, &other}) {
            messenger->send(1 - me.index(), 1);
            messenger->recv(1 - me.index(), value);
        }
        auto memory = post.allocate<std::uint8_t>(long_message);
        std::vector<std::uint8_t> into(long_message);
        Request request = post.isend(1 - me.index(), memory.elements());
        if (me.index() == 0) {
            {
                const NoDescriptors none;
                require_throws<penstock::SystemError>([&] { post.recv(1, into); }, "it has no descriptor left");
            }
            require_throws<penstock::SystemError>([&] { post.wait(request); }, "its send ends too");
            std::fill(memory.elements().begin(), memory.elements().end(), std::uint8_t{66});
            other.send(1, 1);
            other.recv(1, value);
        } else {
            other.recv(0, value);
            require_throws<MessengerClosed>([&] { post.recv(0, into); }, "nothing is there to be received");
            other.send(0, 1);
        }
    });
}

}  // namespace
