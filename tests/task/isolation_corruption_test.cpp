// A worker process writes over the control memory that it shares with the program, anyhow and anywhere. The program gets typed errors, ends,
// and what is not of that machine is unharmed.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penstock/error.hpp"
#include "tests/bounded_child.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using penstock::Machine;

constexpr std::size_t page = 4096;

/// The pages in use of all shared mappings that this process may write. In a worker: the control memory and the arrays.
std::vector<char*> shared_pages() {
    std::vector<char*> pages;
    FILE* const maps = std::fopen("/proc/self/maps", "r");
    if (maps == nullptr) return pages;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long begin = 0;
        unsigned long end = 0;
        char access[8];
        if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3) continue;
        if (access[1] != 'w' || access[3] != 's' || std::strstr(line, "memfd") == nullptr) continue;
        std::vector<unsigned char> there(65536);
        // What a machine has taken lies at the front of its heaps.
        for (auto at = begin; at < end && at < begin + (1ul << 30); at += there.size() * page) {
            const auto bytes = std::min<std::size_t>(end - at, there.size() * page);
            if (mincore(reinterpret_cast<void*>(at), bytes, there.data()) != 0) continue;
            for (std::size_t i = 0; i < bytes / page; ++i)
                if ((there[i] & 1) != 0) pages.push_back(reinterpret_cast<char*>(at + i * page));
        }
    }
    std::fclose(maps);
    return pages;
}

/// One of four kinds of harm, by the seed.
void write_over(unsigned seed) {
    std::mt19937 random(seed);
    const auto pages = shared_pages();
    if (pages.empty()) return;
    const auto any_page = [&] { return pages[random() % pages.size()]; };
    switch (seed % 4) {
        case 0:  // some words
            for (unsigned i = 0, words = 1 + random() % 300; i < words; ++i) {
                auto* const word = reinterpret_cast<volatile std::uint64_t*>(any_page()) + random() % (page / 8);
                *word = random() % 3 == 0 ? std::uint64_t{random()} << 32 | random() : random() % 3 == 0 ? ~std::uint64_t{0} : random() % 16;
            }
            return;
        case 1: {  // a whole page
            char* const at = any_page();
            for (std::size_t i = 0; i < page; ++i) at[i] = static_cast<char>(random());
            return;
        }
        case 2:  // zeros and ones
            for (char* const at : pages)
                if (random() % 4 == 0) std::memset(at, random() % 2 == 0 ? 0 : 0xff, page);
            return;
        default:  // single bits, up or down
            for (char* const at : pages)
                for (std::size_t i = 0; i < page / 4; ++i) {
                    auto* const word = reinterpret_cast<volatile std::uint32_t*>(at) + i;
                    if (*word != 0 && random() % 16 == 0) *word = *word + (random() % 2 == 0 ? 1u : ~0u) * (1u << random() % 31);
                }
    }
}

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

/// Several at once: most of a round's time goes by while the supervisor is patient.
void rounds(unsigned count) {
    std::atomic<unsigned> next{1};
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> threads;
    // The address sanitizer's allocator is not free in the child of a process whose other threads use it.
    for (int i = 0; i < (under_asan ? 1 : 6); ++i)
        threads.emplace_back([&] {
            for (unsigned seed; (seed = next.fetch_add(1)) <= count;) {
                const auto ending = penstock_tests::ending_of([seed] { return live_beside(seed); }, std::chrono::seconds(under_asan ? 60 : 30));
                if (ending.good()) continue;
                const std::lock_guard lock(mutex);
                wrong += "seed " + std::to_string(seed) + ": " + ending.text() + "\n";
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, "");
}

TEST(IsolationCorruption, whatever_a_worker_writes_over_the_program_is_told_and_goes_on) {
    SKIP_WITHOUT_PROCESSES();
    rounds(long_run() ? 10'000 : under_asan ? 5 : 20);
}

/// It wrote over the word by which the supervisor says that its time is up, and waited for ever to be killed.
TEST(IsolationCorruption, a_worker_that_takes_itself_for_overdue_does_not_stay) {
    SKIP_WITHOUT_PROCESSES();
    for (const unsigned seed : {71u, 82u}) {
        const auto ending = penstock_tests::ending_of([seed] { return live_beside(seed); }, std::chrono::seconds(under_asan ? 60 : 30));
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
