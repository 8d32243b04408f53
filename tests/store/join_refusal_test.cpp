// Who does not get into a team, and why; nothing hangs, nothing is left behind, and nobody holds up the others.
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penstock/barrier.hpp"
#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/join.hpp"
#include "penstock/remote.hpp"
#include "tests/store/join_support.hpp"

namespace {

using namespace store_tests;
using penstock::HostMissing;
using penstock::join;
using penstock::JoinRefused;
using penstock::Membership;
using penstock::MembersMissing;
using penstock::OwnedDescriptor;
using penstock::TeamHost;
using Reason = JoinRefused::Reason;

constexpr uid_t nobody = 65534;

void expect_refused(const std::string& name, const penstock::JoinOptions& options, Reason reason) {
    try {
        const Membership membership(name, options);
        ADD_FAILURE() << "it was admitted";
    } catch (const JoinRefused& refused) {
        EXPECT_EQ(refused.reason(), reason) << refused.what();
        EXPECT_EQ(refused.team(), name);
    }
}

/// The address of a team, as any program can make it.
sockaddr_un address_of(const std::string& name, uid_t owner, socklen_t& length) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto text = "penstock/" + std::to_string(owner) + "/" + name;
    std::memcpy(address.sun_path + 1, text.data(), text.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return address;
}

/// A connection of somebody who keeps to no rules.
OwnedDescriptor stranger_at(const std::string& name) {
    OwnedDescriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    socklen_t length = 0;
    const auto address = address_of(name, geteuid(), length);
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length), 0)
        << std::strerror(errno);
    return connection;
}

// ---- names and numbers ----

TEST(JoinRefusal, a_name_that_cannot_be_is_refused) {
    using namespace std::string_literals;
    for (const auto& name : {""s, std::string(64, 'x'), "two words"s, "line\n"s, "a\0b"s}) {
        EXPECT_THROW(TeamHost(name, 2), penstock::UsageError);
        EXPECT_THROW(Membership{name}, penstock::UsageError);
    }
    const std::string longest(63, 'x');
    TeamHost host(longest, 1);
    join(longest, {}, [](Rank) {});
}

TEST(JoinRefusal, a_team_of_no_member_or_too_many_is_refused) {
    for (const int size : {0, -1, 257}) EXPECT_THROW(TeamHost(a_team_name(), size), penstock::UsageError) << size;
}

TEST(JoinRefusal, options_that_cannot_be_are_refused) {
    const auto name = a_team_name();
    EXPECT_THROW(TeamHost(name, 1, {.within = 0s}), penstock::UsageError);
    TeamHost host(name, 1);
    EXPECT_THROW(Membership(name, {.rank = -2}), penstock::UsageError);
    EXPECT_THROW(Membership(name, {.size = -1}), penstock::UsageError);
    EXPECT_THROW(Membership(name, {.within = 0s}), penstock::UsageError);
    EXPECT_THROW(Membership(name, {.accept_within = 0s}), penstock::UsageError);
}

TEST(JoinRefusal, a_name_that_another_host_has_is_refused) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    try {
        TeamHost second(name, 1);
        FAIL() << "it stands too";
    } catch (const penstock::TeamNameTaken& taken) {
        EXPECT_EQ(taken.team(), name);
    }
    join(name, {}, [](Rank) {});
    host.wait();
}

TEST(JoinRefusal, ranks_and_sizes_that_the_team_does_not_have_are_refused) {
    const auto name = a_team_name();
    TeamHost host(name, 2);
    expect_refused(name, {.rank = 2}, Reason::no_such_rank);
    expect_refused(name, {.size = 3}, Reason::size);
    const auto wait_for_the_end = [](Rank me) { penstock::Barrier(me, "end").arrive_and_wait(); };
    std::thread first([&] { join(name, {.rank = 1, .size = 2}, wait_for_the_end); });
    while (host.present() < 1) std::this_thread::sleep_for(1ms);
    expect_refused(name, {.rank = 1}, Reason::rank_taken);
    const Membership second(name, {.rank = 0});
    expect_refused(name, {}, Reason::complete);
    expect_refused(name, {.rank = 0}, Reason::complete);
    wait_for_the_end(second.rank());
    first.join();
}

// ---- time ----

TEST(JoinRefusal, a_team_without_a_host_is_reported) {
    try {
        const Membership membership(a_team_name(), {.within = 50ms});
        FAIL() << "it was admitted";
    } catch (const HostMissing& missing) {
        EXPECT_NE(std::string(missing.what()).find("50 ms"), std::string::npos) << missing.what();
    }
}

TEST(JoinRefusal, members_that_never_come_are_named_to_the_host_and_to_those_who_came) {
    const auto name = a_team_name();
    TeamHost host(name, 70, {.within = 200ms});
    const auto names_them = [](const MembersMissing& missing) {
        EXPECT_EQ(missing.size(), 70);
        ASSERT_EQ(missing.missing().size(), 68u);
        EXPECT_EQ(missing.missing().front(), 0);
        EXPECT_EQ(missing.missing().back(), 68);
        for (const int rank : missing.missing()) EXPECT_TRUE(rank != 3 && rank != 69);
    };
    std::vector<std::thread> members;
    for (const int rank : {3, 69})
        members.emplace_back([&, rank] {
            try {
                const Membership membership(name, {.rank = rank});
                ADD_FAILURE() << "the team came together";
            } catch (const MembersMissing& missing) {
                names_them(missing);
            }
        });
    for (auto& member : members) member.join();
    try {
        host.wait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const MembersMissing& missing) {
        names_them(missing);
    }
    EXPECT_FALSE(host.complete());
}

TEST(JoinRefusal, a_host_that_goes_away_before_the_team_is_complete_is_missed) {
    const auto name = a_team_name();
    auto host = std::make_unique<TeamHost>(name, 2);
    std::thread member([&] { EXPECT_THROW(Membership{name}, HostMissing); });
    while (host->present() < 1) std::this_thread::sleep_for(1ms);
    host.reset();
    member.join();
}

TEST(JoinRefusal, joining_can_be_interrupted) {
    const auto interrupt = [] { throw std::runtime_error("enough"); };
    const auto name = a_team_name();
    EXPECT_THROW(Membership(name, {.meanwhile = interrupt}), std::runtime_error) << "while there is no host";
    TeamHost host(name, 2);
    EXPECT_THROW(Membership(name, {.meanwhile = interrupt}), std::runtime_error) << "while the others are missing";
    while (host.present() != 0) std::this_thread::sleep_for(1ms);
}

// ---- guests without manners ----

TEST(JoinRefusal, whoever_goes_before_the_team_is_complete_leaves_its_rank_to_others) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = a_team_name();
    Program first([&] { const Membership membership(name, {.rank = 1}); });
    TeamHost host(name, 2);
    while (host.present() < 1) std::this_thread::sleep_for(1ms);
    first.kill();
    while (host.present() > 0) std::this_thread::sleep_for(1ms);
    std::thread second([&] { join(name, {.rank = 1}, [](Rank) {}); });
    join(name, {.rank = 0}, [](Rank) {});
    second.join();
    host.wait();
}

TEST(JoinRefusal, nonsense_silence_and_hanging_up_hold_up_nobody) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    std::vector<OwnedDescriptor> strangers;
    for (int i = 0; i < 100; ++i) {
        strangers.push_back(stranger_at(name));
        const auto& stranger = strangers.back();
        if (i % 4 == 1) static_cast<void>(!send(stranger.get(), "open sesame", 11, MSG_NOSIGNAL));
        if (i % 4 == 2)
            static_cast<void>(!send(stranger.get(), std::string(100'000, 'x').data(), 100'000, MSG_NOSIGNAL));
        if (i % 4 == 3) strangers.pop_back();
    }
    join(name, {}, [](Rank) {});
    host.wait();
}

TEST(JoinRefusal, nonsense_is_told_so) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    const auto stranger = stranger_at(name);
    ASSERT_EQ(send(stranger.get(), "open sesame", 11, MSG_NOSIGNAL), 11);
    std::array<char, 1'000> answer{};
    EXPECT_GT(recv(stranger.get(), answer.data(), answer.size(), 0), 0);
    EXPECT_EQ(host.present(), 0);
}

/// A host of nobody's making: says `text` to whoever comes first.
std::thread impostor(const std::string& name, std::string text, OwnedDescriptor& listening) {
    listening.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    socklen_t length = 0;
    const auto address = address_of(name, geteuid(), length);
    EXPECT_EQ(bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listening.get(), 5), 0);
    return std::thread([&listening, text] {
        const OwnedDescriptor guest(accept(listening.get(), nullptr, nullptr));
        if (!text.empty()) static_cast<void>(!send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL));
        char byte;
        while (recv(guest.get(), &byte, 1, 0) > 0) {
        }
    });
}

TEST(JoinRefusal, a_host_that_says_nonsense_or_nothing_is_not_believed) {
    for (const auto& text : {std::string("welcome"), std::string(200, 'x'), std::string()}) {
        const auto name = a_team_name();
        OwnedDescriptor listening;
        auto host = impostor(name, text, listening);
        EXPECT_THROW(Membership(name, {.within = 100ms}), HostMissing) << text;
        host.join();
    }
}

// ---- other users ----

/// In a process that runs as `user`; its code.
template <class Body>
int as_user(uid_t user, Body body) {
    return Program([&] {
               if (setgid(user) != 0 || setuid(user) != 0) throw std::runtime_error("cannot become another user");
               body();
           })
        .code();
}

#define NEEDS_ROOT()               \
    SKIP_UNDER_THREAD_SANITIZER(); \
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user"

TEST(JoinRefusal, a_process_of_another_user_is_not_admitted) {
    NEEDS_ROOT();
    const auto name = a_team_name();
    TeamHost host(name, 1);
    EXPECT_EQ(as_user(nobody, [&] { expect_refused(name, {.owner = 0}, Reason::user); }), 0);
    EXPECT_EQ(as_user(nobody, [&] { EXPECT_THROW(Membership(name, {.within = 50ms}), HostMissing); }), 0)
        << "not its own";
    EXPECT_EQ(host.present(), 0);
}

TEST(JoinRefusal, a_host_of_another_user_is_not_taken_for_one_of_the_own) {
    NEEDS_ROOT();
    const auto name = a_team_name();
    socklen_t length = 0;
    const auto address = address_of(name, geteuid(), length);
    Blackboard<std::atomic<int>> standing;
    Program other([&] {
        if (setgid(nobody) != 0 || setuid(nobody) != 0) throw std::runtime_error("cannot become another user");
        const OwnedDescriptor listening(socket(AF_UNIX, SOCK_SEQPACKET, 0));
        if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
            listen(listening.get(), 5) != 0)
            throw std::runtime_error("cannot listen");
        *standing = 1;
        for (;;) pause();
    });
    while (*standing == 0) std::this_thread::sleep_for(1ms);
    try {
        const Membership membership(name);
        ADD_FAILURE() << "it was taken for the host";
    } catch (const penstock::WrongHost& wrong) {
        EXPECT_EQ(wrong.expected(), geteuid());
        EXPECT_EQ(wrong.actual(), nobody);
    }
}

TEST(JoinRefusal, users_whom_the_host_admits_are_members_like_all) {
    NEEDS_ROOT();
    const auto name = a_team_name();
    const auto program = [](Rank me) {
        const int other = 1 - me.index();
        penstock::Region<int> inbox(me, "inbox", 100);
        penstock::Flag ready(me, "ready");
        inbox.grant(other);
        ready.grant(other);
        auto outbox = penstock::Remote<int>::accept(me, other, "inbox");
        auto done = penstock::RemoteFlag::accept(me, other, "ready");
        outbox.fill(0, 100, me.index() + 5);
        outbox.publish(done);
        ready.wait();
        for (const int value : inbox) require(value == other + 5, "what the other user stored is here");
    };
    Program guest([&] {
        if (setgid(nobody) != 0 || setuid(nobody) != 0) throw std::runtime_error("cannot become another user");
        join(name, {.owner = 0}, program);
    });
    TeamHost host(name, 2, {.users = {nobody}});
    join(name, {}, program);
    EXPECT_EQ(guest.code(), 0);
    host.wait();
}

// ---- descriptors ----

template <class Body>
bool throws_emfile(Body body) {
    try {
        body();
    } catch (const penstock::SystemError& error) {
        return error.number() == EMFILE;
    }
    return false;
}

TEST(JoinRefusal, a_host_without_descriptors_for_its_team_says_so_at_once) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto says_so = [] { require(throws_emfile([] { TeamHost(a_team_name(), 50); }), "the limit is named"); };
    EXPECT_EQ(with_few_descriptors(30, says_so), 0);
}

TEST(JoinRefusal, a_host_that_runs_out_of_descriptors_refuses_and_goes_on) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = a_team_name();
    Blackboard<std::atomic<int>> step;
    Program few([&] {
        while (*step == 0) std::this_thread::sleep_for(1ms);
        expect_refused(name, {}, Reason::resources);
        *step = 2;
        while (*step == 2) std::this_thread::sleep_for(1ms);
        join(name, {}, [](Rank) {});
    });
    const int code = with_few_descriptors(20, [&] {
        TeamHost host(name, 1);
        std::vector<OwnedDescriptor> all;
        for (int number = dup(0); number >= 0; number = dup(0)) all.emplace_back(number);
        *step = 1;
        while (*step == 1) std::this_thread::sleep_for(1ms);
        all.clear();
        *step = 3;
        host.wait();
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(few.code(), 0);
}

TEST(JoinRefusal, a_member_without_descriptors_for_its_team_says_so_and_the_others_are_told) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = a_team_name();
    Blackboard<std::atomic<int>> named;
    std::vector<Program> members;
    members.emplace_back([&] {
        const int code = with_few_descriptors(40, [&] {
            require(throws_emfile([&] { Membership(name, {.rank = 29}); }), "the limit is named");
            *named = 1;
        });
        require(code == 0, "it says so");
    });
    for (int rank = 0; rank < 29; ++rank)
        members.emplace_back([&, rank] {
            join(name, {.rank = rank}, [](Rank me) {
                try {
                    me.accept(29, "nothing");
                } catch (const penstock::RankLeft& left) {
                    require(left.failed(), "it failed");
                    return;
                }
                require(false, "the others are told");
            });
        });
    TeamHost host(name, 30);
    EXPECT_THROW(host.wait(), penstock::RankFailed);
    for (auto& member : members) EXPECT_EQ(member.code(), 0);
    EXPECT_EQ(*named, 1);
}

}  // namespace
