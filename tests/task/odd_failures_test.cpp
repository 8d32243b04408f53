// Exceptions and limits that are out of the ordinary: each is told in words.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "penstock/detail/machine/memory.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"
#include "penstock/spmd.hpp"
#include "tests/bounded_child.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using penstock::Machine;
using penstock_tests::ending_of;

struct Wordless : std::exception {
    const char* what() const noexcept override { return nullptr; }
};
void throw_wordless() { throw Wordless{}; }

template <class Body>
std::string text_of_failure(Body&& body) {
    try {
        body();
    } catch (const penstock::Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(ExceptionsWithoutAText, are_told_by_every_wait) {
    Machine machine(with_targets(1));
    const std::string expected = "an exception without a text";
    EXPECT_NE(text_of_failure([&] { machine.call<throw_wordless>().wait(); }).find(expected), std::string::npos);
    machine.call<throw_wordless>();
    EXPECT_NE(text_of_failure([&] { machine.barrier(); }).find(expected), std::string::npos);
    machine.call<throw_wordless>();
    EXPECT_NE(text_of_failure([&] { machine.finish(); }).find(expected), std::string::npos);
    const auto first = machine.call<throw_wordless>();
    const auto then = machine.after(first).call([] {});
    EXPECT_NE(text_of_failure([&] { then.wait(); }).find(expected), std::string::npos);
    EXPECT_NE(text_of_failure([&] { first.wait(); }).find(expected), std::string::npos);
    EXPECT_NE(text_of_failure([&] { penstock::spmd(2, [](penstock::Rank) { throw Wordless{}; }); }).find(expected),
              std::string::npos);
}

TEST(ExceptionsWithoutAText, come_from_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    EXPECT_NE(text_of_failure([&] { machine.call<throw_wordless>().wait(); }).find("an exception without a text"),
              std::string::npos);
}

TEST(FailuresThatNobodyAskedFor, are_told_with_the_text_of_their_exception) {
    if (under_tsan) GTEST_SKIP() << "the thread sanitizer follows no fork of a program with several threads";
    const auto ending = ending_of([] {
        Machine machine(with_targets(1));
        machine.call([] { throw std::runtime_error("the lid was open"); });
        return 0;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
    EXPECT_NE(ending.said.find("the lid was open"), std::string::npos) << ending.said;
}

/// The signal that comes with a file that grows too large ends a program.
TEST(FileSizeLimit, is_told_as_an_error) {
    if (under_tsan) GTEST_SKIP() << "the thread sanitizer follows no fork of a program with several threads";
    const auto ending = ending_of([] {
        signal(SIGXFSZ, SIG_DFL);
        Machine machine(with_targets(1));
        const rlimit small{1 << 16, 1 << 16};
        setrlimit(RLIMIT_FSIZE, &small);
        int told = 0;
        try {
            (void)machine.array<int>(1 << 20);
        } catch (const penstock::SystemError& error) {
            told += error.number() == EFBIG ? 1 : 0;
        }
        try {
            (void)penstock::SharedMemory::create("test", 1 << 20);
        } catch (const penstock::SystemError& error) {
            told += error.number() == EFBIG ? 1 : 0;
        }
        return told == 2 ? 0 : 10 + told;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

/// What is told of a death is kept for handles that ask again, in bounded number, until the machine ends. Nothing else
/// stays.
TEST(IsolationEnds, of_workers_leave_nothing_behind) {
    SKIP_WITHOUT_PROCESSES();
    if (under_asan) GTEST_SKIP() << "the sanitizer keeps memory that was freed";
    const auto heap_after_deaths = [](int count) {
        {
            Machine machine(isolated(1));
            for (int i = 0; i < count; ++i)
                EXPECT_THROW(machine.call([] { raise(SIGKILL); }).wait(), penstock::TaskFailed);
        }
        return static_cast<double>(mallinfo2().uordblks);
    };
    const int many = long_run() ? 2000 : 60;
    (void)heap_after_deaths(many);
    const double after_few = heap_after_deaths(2);
    const double after_many = heap_after_deaths(many);
    EXPECT_LT(after_many - after_few, 40.0 * many) << "bytes over " << many << " deaths";
}

}  // namespace
