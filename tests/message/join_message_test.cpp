// Messages between members of a team that nobody forked.
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "penstock/join.hpp"
#include "tests/message/support.hpp"
#include "tests/store/join_support.hpp"

namespace {

using namespace message_tests;

constexpr std::array<std::size_t, 5> sizes{1, 32, 3'000, 100'000, 1'000'000};

void exchange(Rank me) {
    for (const auto protocol : {Protocol::automatic, Protocol::pull, Protocol::push}) {
        Messenger post(me, {.protocol = protocol, .name = "protocol " + std::to_string(static_cast<int>(protocol))});
        const int other = 1 - me.index();
        for (const auto size : sizes) {
            std::vector<std::uint8_t> into(size);
            Request request = post.irecv(other, into);
            send_pattern(post, other, size, size + static_cast<std::size_t>(me.index()));
            post.wait(request);
            require(is_pattern(into, size + static_cast<std::size_t>(other)), "what was sent arrives");
        }
    }
}

TEST(JoinMessage, members_that_came_by_themselves_exchange_messages_of_all_sizes) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = store_tests::a_team_name();
    std::vector<store_tests::Program> members;
    for (int i = 0; i < 2; ++i) members.emplace_back([&] { penstock::join(name, {}, exchange); });
    penstock::TeamHost host(name, 2);
    host.wait();
    for (auto& member : members) EXPECT_EQ(member.code(), 0);
}

TEST(JoinMessage, a_receive_from_a_member_that_was_killed_is_refused) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = store_tests::a_team_name();
    store_tests::Blackboard<std::atomic<int>> ready;
    store_tests::Program victim([&] {
        penstock::join(name, {.rank = 1}, [&](Rank me) {
            Messenger post(me);
            post.send(0, 5);
            *ready = 1;
            for (;;) pause();
        });
    });
    penstock::TeamHost host(name, 2);
    penstock::join(name, {.rank = 0}, [&](Rank me) {
        Messenger post(me);
        while (*ready == 0) std::this_thread::yield();
        victim.kill();
        int value = 0;
        post.recv(1, value);
        EXPECT_EQ(value, 5) << "what it had sent comes first";
        EXPECT_THROW(post.recv(1, value), penstock::RankDied);
    });
    EXPECT_THROW(host.wait(), penstock::RankDied);
}

}  // namespace
