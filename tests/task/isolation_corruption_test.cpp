// A worker process writes over the control memory that it shares with the program, anyhow and anywhere. The program
// gets typed errors, ends, and what is not of that machine is unharmed.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "penstock/error.hpp"
#include "tests/corruption.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using namespace corruption;
using penstock::Machine;

void add_one(std::span<int> values) {
    for (int& value : values) ++value;
}

/// What the program does beside a worker that spoils. Everything may fail with a typed error, nothing may hang.
int live_beside(unsigned seed) {
    Machine other(isolated(1));
    auto options = isolated(2);
    options.time_limit = std::chrono::seconds(1);
    Machine machine(options);
    std::vector<int> values(1000);
    std::vector<int> others(10);
    const auto told = [](auto&& body) {
        try {
            body();
        } catch (const penstock::Error& error) {
            std::fprintf(stderr, "told: %.200s\n", error.what());
        }
    };
    const auto ends = seed / 4 % 3;
    penstock::Handle spoilt;
    told([&] {
        spoilt = machine.call([=] {
            write_over(seed);
            if (ends == 0) _exit(3);
            if (ends == 1) raise(SIGKILL);
        });
        for (int i = 0; i < 50; ++i) machine.call<add_one>(penstock::inout(values));
    });
    told([&] { spoilt.wait(); });
    told([&] { machine.barrier(); });
    told([&] { machine.call<add_one>(penstock::inout(values)).wait(); });
    told([&] { machine.finish(); });
    for (int i = 0; i < 3; ++i) other.call<add_one>(penstock::inout(others)).wait();
    other.finish();
    if (others != std::vector<int>(10, 3)) return 2;
    std::fprintf(stderr, "other machine unharmed\n");
    return 0;
}

TEST(IsolationCorruption, whatever_a_worker_writes_over_the_program_is_told_and_goes_on) {
    SKIP_WITHOUT_PROCESSES();
    rounds(long_run() ? 10'000 : under_asan ? 5 : 20, live_beside);
}

/// It wrote over the word by which the supervisor says that its time is up, and waited for ever to be killed.
TEST(IsolationCorruption, a_worker_that_takes_itself_for_overdue_does_not_stay) {
    SKIP_WITHOUT_PROCESSES();
    for (const unsigned seed : {71u, 82u}) {
        const auto ending =
            penstock_tests::ending_of([seed] { return live_beside(seed); }, std::chrono::seconds(under_asan ? 60 : 30));
        EXPECT_TRUE(ending.good()) << "seed " << seed << ": " << ending.text();
    }
}

/// A failure that was given again at every barrier kept finish() from ever coming to its end.
TEST(IsolationEnds, finish_throws_once_after_the_workers_are_lost_and_then_returns) {
    SKIP_WITHOUT_PROCESSES();
    const auto ending = penstock_tests::ending_of([] {
        Machine machine(isolated(1));
        std::vector<int> values(10);
        // Each new worker ends before it has a task, so the machine gives up.
        machine.call([] {
            for (char* const at : shared_pages())
                if (at[0] != 0) std::memset(at, 0xff, page);
            _exit(3);
        });
        for (int i = 0; i < 20; ++i) machine.call<add_one>(penstock::inout(values));
        int thrown = 0;
        for (int i = 0; i < 3; ++i) try {
                machine.finish();
            } catch (const penstock::TaskFailed&) {
                ++thrown;
            }
        if (thrown != 1) std::fprintf(stderr, "finish() threw %d times\n", thrown);
        bool refused = false;
        try {
            machine.call<add_one>(penstock::inout(values));
        } catch (const penstock::WorkersLost&) {
            refused = true;
        }
        return thrown == 1 && refused ? 0 : 1;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

}  // namespace
