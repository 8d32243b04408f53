// Children are started, watched, killed and collected: none is left behind, and no descriptor.
#include "process/children.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <map>
#include <thread>

#include "tests/bounded_child.hpp"

namespace {

using namespace std::chrono_literals;
using namespace penstock::process;
using penstock::OwnedDescriptor;

std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

/// Starts a child by fork that runs `body`, and ends with the code that this returns.
template <class Body>
pid_t start(Children& children, std::uint32_t tag, Body body) {
    const pid_t pid = children.fork(tag);
    if (pid == 0) {
        alarm(10);
        _exit(body());
    }
    return pid;
}

int sleep_long() {
    pause();
    return 0;
}

std::vector<Death> all_deaths(Children& children) {
    std::vector<Death> all;
    while (!children.empty())
        for (const auto& death : children.wait()) all.push_back(death);
    return all;
}

bool no_child_is_left() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

TEST(Children, say_which_one_ended_and_how) {
    const auto before = open_descriptors();
    Children children;
    const pid_t returned = start(children, 7, [] { return 42; });
    const pid_t killed = start(children, 8, [] { return sleep_long(); });
    children.kill(8);
    std::map<std::uint32_t, Death> found;
    for (const auto& death : all_deaths(children)) found[death.tag] = death;
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[7].pid, returned);
    EXPECT_EQ(found[7].exit_code, 42);
    EXPECT_EQ(found[7].signal, std::nullopt);
    EXPECT_EQ(found[8].pid, killed);
    EXPECT_EQ(found[8].signal, SIGKILL);
    EXPECT_EQ(found[8].exit_code, std::nullopt);
    EXPECT_TRUE(no_child_is_left());
    EXPECT_EQ(open_descriptors(), before);
}

TEST(Children, that_are_killed_at_any_moment_leave_nothing) {
    const auto before = open_descriptors();
    for (int round = 0; round < 60; ++round) {
        Children children;
        ASSERT_GT(start(children, 1, [] { return 0; }), 0);
        std::this_thread::sleep_for(std::chrono::microseconds(round * 10));
        children.kill(1);
        children.kill(1);
        const auto deaths = all_deaths(children);
        ASSERT_EQ(deaths.size(), 1u);
        EXPECT_TRUE(deaths[0].signal == SIGKILL || deaths[0].exit_code == 0);
        children.kill(1);  // nobody has it any more
    }
    EXPECT_TRUE(no_child_is_left());
    EXPECT_EQ(open_descriptors(), before);
}

TEST(Children, many_end_at_once) {
    Children children;
    constexpr std::uint32_t many = 100;
    for (std::uint32_t i = 0; i < many; ++i) ASSERT_GT(start(children, i, [i] { return static_cast<int>(i); }), 0);
    std::map<std::uint32_t, int> codes;
    for (const auto& death : all_deaths(children)) codes[death.tag] = death.exit_code.value_or(-1);
    ASSERT_EQ(codes.size(), many);
    for (std::uint32_t i = 0; i < many; ++i) EXPECT_EQ(codes[i], static_cast<int>(i));
    EXPECT_TRUE(no_child_is_left());
}

TEST(Children, that_still_run_are_killed_when_their_keeper_goes) {
    const auto before = open_descriptors();
    {
        Children children;
        for (std::uint32_t i = 0; i < 5; ++i) start(children, i, [] { return sleep_long(); });
    }
    EXPECT_TRUE(no_child_is_left());
    EXPECT_EQ(open_descriptors(), before);
}

TEST(Children, have_the_time_that_they_are_given_and_no_more) {
    Children children;
    std::array<int, 2> ends;
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    start(children, 1, [&] {
        std::this_thread::sleep_for(20ms);  // ends by itself, within the time
        return write(ends[1], "x", 1) == 1 ? 0 : 1;
    });
    children.end_all(10s);
    char said = 0;
    EXPECT_EQ(read(ends[0], &said, 1), 1);
    start(children, 2, [] { return sleep_long(); });
    children.end_all(1ms);  // does not, and is killed
    EXPECT_TRUE(children.empty());
    EXPECT_TRUE(no_child_is_left());
    close(ends[0]);
    close(ends[1]);
}

TEST(Children, are_waited_for_beside_other_descriptors) {
    Children children;
    start(children, 1, [] { return sleep_long(); });
    const OwnedDescriptor event(eventfd(0, EFD_CLOEXEC));
    pollfd beside{event.get(), POLLIN, 0};
    EXPECT_TRUE(children.wait({&beside, 1}, 1ms).empty());
    EXPECT_EQ(beside.revents, 0);
    eventfd_write(event.get(), 1);
    EXPECT_TRUE(children.wait({&beside, 1}).empty());
    EXPECT_EQ(beside.revents, POLLIN);
    children.kill(1);
    while (!children.empty()) children.wait({&beside, 1});
    EXPECT_EQ(beside.revents, POLLIN);
}

TEST(Children, are_waited_for_although_signals_interrupt) {
    const auto ending = penstock_tests::ending_of([] {
        struct sigaction action{};
        action.sa_handler = [](int) {};  // without SA_RESTART
        sigaction(SIGALRM, &action, nullptr);
        const itimerval often{{0, 500}, {0, 500}};
        setitimer(ITIMER_REAL, &often, nullptr);
        Children children;
        start(children, 1, [] {
            std::this_thread::sleep_for(30ms);
            return 5;
        });
        const auto deaths = all_deaths(children);
        if (deaths.size() != 1 || deaths[0].exit_code != 5) return 1;
        start(children, 2, [] { return sleep_long(); });
        children.end_all(5ms);
        return no_child_is_left() ? 0 : 2;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

TEST(Children, end_although_the_program_ignores_that_they_do) {
    const auto ending = penstock_tests::ending_of([] {
        signal(SIGCHLD, SIG_IGN);
        Children children;
        start(children, 1, [] { return 3; });
        start(children, 2, [] { return sleep_long(); });
        auto deaths = children.wait();
        if (deaths.size() != 1 || deaths[0].tag != 1) return 1;
        if (deaths[0].exit_code || deaths[0].signal) return 2;  // nobody was told
        children.kill(1);
        children.kill(2);
        deaths = all_deaths(children);
        if (deaths.size() != 1 || deaths[0].tag != 2) return 3;
        start(children, 3, [] { return sleep_long(); });
        children.end_all(1ms);
        return 0;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

TEST(Children, that_end_at_once_are_told_of_although_the_program_ignores_that_they_do) {
    const auto ending = penstock_tests::ending_of([] {
        signal(SIGCHLD, SIG_IGN);
        Children children;
        for (std::uint32_t tag = 1; tag <= 500; ++tag) {
            if (start(children, tag, [] { return 3; }) < 0) return 1;
            const auto deaths = all_deaths(children);
            if (deaths.size() != 1 || deaths[0].tag != tag) return 2;
        }
        return 0;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

TEST(Children, that_cannot_be_watched_are_not_left_behind) {
    const auto ending = penstock_tests::ending_of([] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_NOFILE, &none);
        Children children;
        const pid_t pid = start(children, 1, [] { return sleep_long(); });
        if (pid != -1 || errno != EMFILE) return 1;
        return no_child_is_left() && children.empty() ? 0 : 2;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

TEST(Children, do_not_belong_to_their_sisters) {
    Children children;
    const pid_t first = start(children, 1, [] { return sleep_long(); });
    const pid_t second = children.fork(2);
    if (second == 0) {
        const bool none = children.empty();
        children.kill(1);
        children.end_all(0ms);
        _exit(none ? 0 : 1);
    }
    const auto deaths = children.wait();
    ASSERT_EQ(deaths.size(), 1u);
    EXPECT_EQ(deaths[0].pid, second);
    EXPECT_EQ(deaths[0].exit_code, 0);
    EXPECT_EQ(kill(first, 0), 0);
}

TEST(Children, end_with_the_process_that_started_them) {
    std::array<int, 2> ends;
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    {
        Children children;
        start(children, 1, [] {
            Children own;
            start(own, 1, [] { return sleep_long(); });
            raise(SIGKILL);
            return 0;
        });
        all_deaths(children);
    }
    close(ends[1]);
    pollfd entry{ends[0], POLLIN, 0};
    EXPECT_EQ(poll(&entry, 1, 5000), 1);  // the last holder of the other end has gone
    close(ends[0]);
}

TEST(Children, may_be_programs_with_what_they_need_open) {
    std::array<int, 2> ends;
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const auto before = open_descriptors();
    Children children;
    const std::string script = "echo $WORD >&" + std::to_string(ends[1]) + "; read nothing; exit 9";
    ASSERT_GT(children.spawn(1, {"/bin/sh", "-c", script}, {"WORD=heard"}, {&ends[1], 1}), 0);
    const auto deaths = all_deaths(children);
    ASSERT_EQ(deaths.size(), 1u);
    EXPECT_EQ(deaths[0].exit_code, 9);
    std::array<char, 6> said{};
    EXPECT_EQ(read(ends[0], said.data(), said.size()), 6);
    EXPECT_EQ(std::string_view(said.data(), 6), "heard\n");
    EXPECT_EQ(children.spawn(2, {"/there/is/no/such/program"}, {}, {}), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_TRUE(children.empty());
    EXPECT_EQ(open_descriptors(), before);
    close(ends[0]);
    close(ends[1]);
}

TEST(Children, how_one_ended_is_known_before_it_is_collected) {
    Children children;
    const auto watch = open_process(start(children, 1, [] { return 6; }));
    ASSERT_TRUE(watch);
    pollfd entry{watch.get(), POLLIN, 0};
    ASSERT_EQ(poll(&entry, 1, 5000), 1);
    Death death;
    EXPECT_EQ(learn_end(watch.get(), death), Knowledge::known);
    EXPECT_EQ(death.exit_code, 6);
    EXPECT_EQ(all_deaths(children).at(0).exit_code, 6);
}

}  // namespace
