// Teams of processes for a program that has threads: they come from the process that launch() started.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>

#include "penstock/barrier.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using std::chrono::steady_clock;

/// A program of its own that has called launch() and has two threads when `body` runs. Its exit code.
int in_program_with_threads(const std::function<void()>& body) {
    const pid_t program = fork();
    if (program == 0) {
        int code = 0;
        try {
            penstock::launch();
            penstock::launch();  // the second does nothing
            std::atomic<bool> stop{false};
            std::thread other([&] {
                while (!stop) std::this_thread::sleep_for(1ms);
            });
            try {
                body();
            } catch (const std::exception& error) {
                std::fprintf(stderr, "program: %s\n", error.what());
                code = 1;
            }
            stop = true;
            other.join();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "program: %s\n", error.what());
            code = 2;
        }
        _exit(code);
    }
    int status = 0;
    EXPECT_EQ(waitpid(program, &status, 0), program);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr penstock::SpmdOptions processes{.substrate = Substrate::processes};

struct Seen {
    std::array<std::atomic<int>, 3> process;
};

bool all_end(const Seen& seen) {
    const auto deadline = steady_clock::now() + 10s;
    for (const auto& process : seen.process)
        while (!has_ended(process))
            if (steady_clock::now() > deadline) return false;
    return true;
}

TEST(Launch, a_program_with_threads_has_teams_of_processes) {
    SKIP_UNDER_THREAD_SANITIZER();
    const Blackboard<Seen> seen;
    const int code = in_program_with_threads([&, shared = &*seen] {
        for (int i = 0; i < 3; ++i)
            penstock::spmd(
                3,
                [shared, i](Rank me) {
                    penstock::Barrier(me, "all").arrive_and_wait();
                    shared->process[static_cast<std::size_t>(me.index())] = getpid();
                    require(i < 3, "the closure arrived");
                },
                processes);
        require(waitpid(-1, nullptr, WNOHANG) == -1, "none of them is a child of the program");
        for (const auto& process : shared->process) require(process != 0 && process != getpid(), "they are processes");
    });
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(all_end(*seen));
}

TEST(Launch, failures_and_deaths_are_reported_as_ever) {
    SKIP_UNDER_THREAD_SANITIZER();
    const int code = in_program_with_threads([] {
        try {
            penstock::spmd(
                2,
                [](Rank me) {
                    if (me.index() == 1) throw std::runtime_error("out of ink");
                    me.wait([] { return false; }, penstock::Awaited::rank(1));
                },
                processes);
            require(false, "the failure is missed");
        } catch (const penstock::RankFailed& failed) {
            require(failed.rank() == 1 && failed.others() == 1, "the cause is told from the consequence");
            require(std::string(failed.what()).find("out of ink") != std::string::npos, "in its own words");
        }
        try {
            penstock::spmd(
                2,
                [](Rank me) {
                    if (me.index() == 0) raise(SIGKILL);
                },
                processes);
            require(false, "the death is missed");
        } catch (const penstock::RankDied& died) {
            require(died.rank() == 0 && died.signal() == SIGKILL, "rank and signal are told");
        }
    });
    EXPECT_EQ(code, 0);
}

TEST(Launch, a_function_that_cannot_be_sent_is_refused) {
    SKIP_UNDER_THREAD_SANITIZER();
    const int code = in_program_with_threads([] {
        const std::string text = "not trivially copyable";
        const std::array<char, 200> large{};
        int refused = 0;
        try {
            penstock::spmd(1, [text](Rank) {}, processes);
        } catch (const penstock::UsageError&) {
            ++refused;
        }
        try {
            penstock::spmd(1, [large](Rank) { require(large[0] == 0, "never run"); }, processes);
        } catch (const penstock::UsageError&) {
            ++refused;
        }
        require(refused == 2, "both are refused");
    });
    EXPECT_EQ(code, 0);
}

TEST(Launch, launching_late_is_refused) {
    SKIP_UNDER_THREAD_SANITIZER();
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) std::this_thread::sleep_for(1ms);
    });
    EXPECT_THROW(penstock::launch(), penstock::UsageError);
    stop = true;
    other.join();
}

TEST(Launch, ranks_end_when_the_program_is_killed) {
    SKIP_UNDER_THREAD_SANITIZER();
    const Blackboard<Seen> seen;
    const int code = in_program_with_threads([shared = &*seen] {
        std::thread killer([shared] {
            for (const auto& process : shared->process)
                while (process == 0) std::this_thread::yield();
            kill(getpid(), SIGKILL);
        });
        penstock::spmd(
            3,
            [shared](Rank me) {
                shared->process[static_cast<std::size_t>(me.index())] = getpid();
                for (;;) pause();
            },
            processes);
    });
    EXPECT_EQ(code, -1) << "it was killed";
    EXPECT_TRUE(all_end(*seen));
}

}  // namespace
