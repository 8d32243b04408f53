// Targets in worker processes: what cannot be carried over, code that comes later, memory that runs out or is written
// over, and kills at any moment.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/plugin.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using penstock::CannotCarryOver;
using penstock::Machine;

void nothing() {}
void add_one(std::span<int> values) {
    for (int& value : values) ++value;
}

// ---- refusals ----

TEST(IsolationRefusals, what_cannot_be_carried_over_is_refused_at_the_call_with_the_reason) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    EXPECT_NE(message_of<CannotCarryOver>([&] {
                  machine.call([](std::vector<int>) {}, penstock::own(std::vector<int>(3)));
              }).find("do not fit a descriptor"),
              std::string::npos);
    const std::string text = "not trivially copyable";
    EXPECT_THROW(machine.call(penstock::boxed([text] {})), CannotCarryOver);
    int here = 0;
    try {
        machine.call([](int, int*) {}, 1, &here);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const CannotCarryOver& refused) {
        EXPECT_EQ(refused.argument(), 2);
    }
    auto there = machine.array<int>(1);
    machine.call([](int* value) { *value = 5; }, there.data()).wait();
    EXPECT_EQ(there[0], 5);
    machine.call(&nothing).wait();
    EXPECT_THROW(machine.after(machine.call<nothing>()).call<nothing>(), CannotCarryOver);
    machine.barrier();
}

TEST(IsolationRefusals, a_function_made_at_run_time_is_refused) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    void* const code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_THROW(machine.call(reinterpret_cast<void (*)()>(code)), CannotCarryOver);
    munmap(code, 4096);
}

TEST(IsolationRefusals, limits_out_of_range_are_refused) {
    SKIP_WITHOUT_PROCESSES();
    auto options = isolated(1);
    options.time_limit = std::chrono::microseconds(3);
    EXPECT_THROW(Machine{options}, penstock::UsageError);
}

TEST(IsolationRefusals, a_call_may_have_a_time_limit_and_what_only_threads_keep_is_refused) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    penstock::CallOptions limited;
    limited.time_limit = std::chrono::milliseconds(30);
    const auto died = death_of([&] {
        machine.with(limited)
            .call([] {
                for (;;) usleep(1000);
            })
            .wait();
    });
    EXPECT_EQ(died.time_limit(), std::chrono::milliseconds(30));
    machine.call([] { usleep(60'000); }).wait();  // the others have none
    for (const std::chrono::nanoseconds refused :
         {std::chrono::nanoseconds(1000), std::chrono::nanoseconds(1'680'000'000'000)}) {
        limited.time_limit = refused;
        EXPECT_THROW(machine.with(limited).call<nothing>(), penstock::UsageError);
    }
    limited.time_limit = std::chrono::minutes(27);
    machine.with(limited).call<nothing>().wait();
    penstock::CallOptions noticed;
    noticed.then = [](penstock::Handle) {};
    EXPECT_THROW(machine.with(noticed).call<nothing>(), CannotCarryOver);
    Machine threads(with_targets(1));
    limited.time_limit = std::chrono::milliseconds(30);
    EXPECT_THROW(threads.with(limited).call<nothing>(), penstock::UsageError);
}

// ---- code that comes later ----

TEST(IsolationCode, a_procedure_is_named_by_library_and_symbol) {
    SKIP_WITHOUT_PROCESSES();
    for (const auto& options : {isolated(1), with_targets(1)}) {
        Machine machine(options);
        // A function that the standard library exports under this signature.
        using Swab = void(const void*, void*, ssize_t);
        auto from = machine.array<char>(4);
        auto to = machine.array<char>(4);
        std::memcpy(from.data(), "abcd", 4);
        machine
            .call(penstock::plugin<Swab>("libc.so.6", "swab"), static_cast<const void*>(from.data()),
                  static_cast<void*>(to.data()), 4)
            .wait();
        EXPECT_EQ(std::string(to.data(), 4), "badc");
        EXPECT_NE(message_of<penstock::TaskFailed>([&] {
                      machine.call(penstock::plugin<void()>("libnobody.so", "x")).wait();
                  }).find("libnobody.so"),
                  std::string::npos);
        EXPECT_NE(message_of<penstock::TaskFailed>([&] {
                      machine.call(penstock::plugin<void()>("libc.so.6", "no_such")).wait();
                  }).find("no_such"),
                  std::string::npos);
    }
    EXPECT_THROW(penstock::plugin<void()>(std::string(200, 'x'), "y"), penstock::UsageError);
}

#if defined(__x86_64__)
TEST(IsolationCode, machine_code_made_at_run_time_runs_in_the_worker) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    // void f(int* at, int value): mov [rdi], esi; ret
    constexpr unsigned char code[] = {0x89, 0x37, 0xc3};
    auto bytes = machine.array<std::byte>(sizeof code);
    std::memcpy(bytes.data(), code, sizeof code);
    const auto store = penstock::machine_code<void(int*, int)>(bytes);
    auto values = machine.array<int>(10);
    for (int i = 0; i < 10; ++i) machine.call(store, &values[static_cast<std::size_t>(i)], i * i);
    machine.barrier();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i * i);
}
#endif

TEST(IsolationCode, a_machine_made_inside_a_task_serves_that_task) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    auto values = machine.array<int>(5);
    machine
        .call(
            [](std::span<int> all) {
                Machine inner(with_targets(0));
                inner.call<add_one>(penstock::inout(all));
                inner.barrier();
            },
            penstock::inout(values))
        .wait();
    for (const int value : values) EXPECT_EQ(value, 1);
}

// ---- staging ----

TEST(IsolationStaging, strided_arguments_and_pieces_give_the_same_bits_as_in_place) {
    SKIP_WITHOUT_PROCESSES();
    const auto work = [](penstock::view<const int, 2> from, penstock::view<int, 2> to, penstock::pieces<int> rows) {
        for (std::size_t i = 0; i < from.extent(0); ++i)
            for (std::size_t j = 0; j < from.extent(1); ++j) to(i, j) = 3 * from(i, j) + to(i, j);
        for (auto row : rows)
            for (int& value : row) value = -value;
    };
    const auto result = [&](const penstock::MachineOptions& options) {
        Machine machine(options);
        std::vector<int> from(30 * 40), to(30 * 40), pieces(100);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i * 7), to[i] = static_cast<int>(i);
        for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = static_cast<int>(i);
        // Every second column of some rows, backwards and forwards.
        const penstock::view<int, 2> written(to.data() + 1, {10, 20}, {80, 2});
        std::vector<std::span<int>> list{std::span(pieces).subspan(3, 10), std::span(pieces).subspan(50, 7)};
        machine.call(work, penstock::in(penstock::view<const int, 2>(from.data() + 29 * 40, {10, 20}, {-40, 2})),
                     penstock::inout(written), penstock::inout(penstock::pieces<int>(list)));
        machine.barrier();
        to.insert(to.end(), pieces.begin(), pieces.end());
        return to;
    };
    EXPECT_EQ(result(isolated(1)), result(with_targets(1)));
}

TEST(IsolationStaging, whoever_sees_the_completion_first_finds_the_result) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    for (int round = 0; round < scaled(300, 50); ++round) {
        std::vector<int> values(64, round);
        const auto done = machine.call<add_one>(penstock::inout(values));
        std::thread other([&] {
            done.wait();
            EXPECT_EQ(values[63], round + 1);
        });
        while (!done.ready()) std::this_thread::yield();
        EXPECT_EQ(values[0], round + 1);
        other.join();
    }
    std::vector<std::vector<int>> all(1000, std::vector<int>(10, 1));
    for (auto& one : all) machine.call<add_one>(penstock::inout(one));
    machine.finish();
    for (const auto& one : all) ASSERT_EQ(one, std::vector<int>(10, 2));
}

// ---- cancellation, memory, corruption ----

TEST(IsolationEnds, a_task_that_has_not_started_can_be_cancelled) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    auto gate = machine.array<int>(2);
    const auto first = machine.on(0).call(
        [](int* at) {
            while (std::atomic_ref(*at).load() == 0) usleep(100);
        },
        &gate[0]);
    const auto second = machine.on(0).call([](int* at) { *at = 1; }, &gate[1]);
    EXPECT_TRUE(second.cancel());
    std::atomic_ref(gate[0]).store(1);
    first.wait();
    EXPECT_THROW(second.wait(), penstock::TaskCancelled);
    EXPECT_EQ(gate[1], 0);
    machine.barrier();
}

TEST(IsolationEnds, memory_that_runs_out_is_reported_by_name) {
    SKIP_WITHOUT_PROCESSES();
    if (under_asan) GTEST_SKIP() << "an address sanitizer's own memory counts against the limit";
    auto options = isolated(1);
    options.worker_memory = std::size_t{64} << 20;
    Machine machine(options);
    const auto message = message_of<penstock::TaskFailed>([&] {
        machine
            .call([] {
                std::vector<std::unique_ptr<char[]>> kept;
                for (;;) kept.push_back(std::make_unique<char[]>(1 << 20));
            })
            .wait();
    });
    EXPECT_NE(message.find("std::bad_alloc"), std::string::npos) << message;
    machine.call<nothing>().wait();
}

TEST(IsolationEnds, a_corrupted_heap_of_the_worker_is_its_own) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    const auto died = death_of([&] {
        machine
            .call([] {
                char* volatile block = static_cast<char*>(std::malloc(24));
                char* const at = block;
                for (int i = -16; i < 64; ++i) const_cast<volatile char*>(at)[i] = static_cast<char>(0xff);
                std::free(at);
                std::abort();  // an allocator that has not noticed
            })
            .wait();
    });
    if (under_asan) EXPECT_TRUE(died.signal() || died.exit_code());
    else EXPECT_EQ(died.signal(), SIGABRT);
    machine.call<nothing>().wait();
}

TEST(IsolationEnds, a_worker_that_writes_over_what_it_shares_ends_in_an_error_and_nothing_hangs) {
    SKIP_WITHOUT_PROCESSES();
    {
        Machine machine(isolated(2));
        machine.call<nothing>().wait();
        const auto arrays = reinterpret_cast<std::uintptr_t>(machine.heap()->base());
        const auto scribble = [](std::uintptr_t not_here) {
            std::ifstream maps("/proc/self/maps");
            for (std::string line; std::getline(maps, line);) {
                if (line.find("penstock heap") == line.npos) continue;
                const auto base = std::stoull(line, nullptr, 16);
                if (base != not_here) std::memset(reinterpret_cast<void*>(base), 0xff, 1 << 20);
            }
        };
        int errors = 0;
        const auto count_errors = [&](const auto& body) {
            try {
                body();
            } catch (const penstock::Error&) {
                ++errors;
            }
        };
        count_errors([&] { machine.call(scribble, arrays).wait(); });
        EXPECT_TRUE(eventually([&] {
            count_errors([&] { machine.call<nothing>().wait(); });
            return errors > 0;
        }));
        EXPECT_THROW(
            {
                for (int i = 0; i < 100; ++i) {
                    machine.call<nothing>();
                    machine.barrier();
                    usleep(10'000);
                }
            },
            penstock::Error);
    }
    Machine another(isolated(1));
    another.call<nothing>().wait();
}

// ---- kills ----

TEST(IsolationSoak, kills_at_any_moment_lose_nothing_but_the_tasks_that_they_hit) {
    SKIP_WITHOUT_PROCESSES();
    const int wanted = long_run() ? 10'000 : scaled(150, 30);
    Machine machine(isolated(2));
    constexpr std::size_t batch = 400;
    std::mt19937 random(17);
    auto runs = machine.array<int>(batch);
    auto bombs = machine.array<int>(1);
    int failed = 0;
    while (bombs[0] < wanted) {
        std::fill(runs.begin(), runs.end(), 0);
        std::vector<penstock::Handle> handles(batch);
        for (std::size_t i = 0; i < batch; ++i) {
            const int fuse = random() % 40 == 0 ? static_cast<int>(random() % 300) : -1;
            handles[i] = machine.call(
                [](std::span<int> one, int after, int* lit) {
                    if (after >= 0) {
                        std::atomic_ref(*lit).fetch_add(1);
                        std::thread([after] {
                            usleep(static_cast<useconds_t>(after));
                            kill(getpid(), SIGKILL);
                        }).detach();
                    }
                    std::atomic_ref(one[0]).fetch_add(1);
                    for (std::atomic<int> turns{0}; turns.fetch_add(1, std::memory_order_relaxed) < 500;) {
                    }
                },
                penstock::inout(std::span(runs).subspan(i, 1)), fuse, bombs.data());
        }
        std::vector<bool> died(batch);
        for (std::size_t i = 0; i < batch; ++i) try {
                handles[i].wait();
            } catch (const penstock::TaskFailed&) {
                died[i] = true;
                ++failed;
            }
        for (std::size_t i = 0; i < batch; ++i) {
            const auto message = "task " + std::to_string(i) + " of a batch was lost or run twice";
            ASSERT_LE(runs[i], 1) << message;
            ASSERT_TRUE(died[i] || runs[i] == 1) << message;
        }
    }
    EXPECT_LE(failed, bombs[0]) << "a kill fails one task at most";
    if (task_tests::long_run()) {
        EXPECT_GT(failed, 0);  // a few kills may all come between two tasks
    }
    machine.finish();
}

}  // namespace
