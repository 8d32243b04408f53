#include "penstock/detail/machine/waiter.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <random>
#include <thread>

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// Parks at once and stays asleep for long, so that a lost wake-up shows as a delay and is not slept over.
constexpr penstock::WaitPolicy eager{.spin = 0ns, .spins_before_yield = ~0u, .longest_sleep = 30s};

std::chrono::nanoseconds processor_time_of_this_thread() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    auto of = [](timeval time) { return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec}; };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

TEST(Waiter, no_wake_up_is_lost_while_two_threads_hammer_each_other) {
    constexpr std::uint64_t rounds = 20'000;
    penstock::Waiter waiters[2] = {penstock::Waiter{eager}, penstock::Waiter{eager}};
    struct alignas(128) Word {
        std::atomic<std::uint64_t> value{0};
    } words[2];
    auto play = [&](int self) {
        const int other = 1 - self;
        std::mt19937 random(static_cast<unsigned>(self));
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            if (self == 0) {
                words[self].value.store(round, std::memory_order_release);
                penstock::wake_at(waiters[other].bell());
            }
            waiters[self].wait([&] { return words[other].value.load(std::memory_order_acquire) >= round; });
            // Answer at once, or after about as long as the other needs to fall asleep.
            for (unsigned i = random() % 2'000; i > 1'000; --i) penstock::relax();
            if (self == 1) {
                words[self].value.store(round, std::memory_order_release);
                penstock::wake_at(waiters[other].bell());
            }
        }
    };
    const auto begin = steady_clock::now();
    std::thread second([&] { play(1); });
    play(0);
    second.join();
    EXPECT_LT(steady_clock::now() - begin, 25s) << "one sleep of 30 s was not ended by its wake-up";
    EXPECT_GT(waiters[0].parks() + waiters[1].parks(), 0u) << "nobody slept, so nothing was tested";
}

TEST(Waiter, parks_after_it_was_idle_for_long_and_wakes_when_rung) {
    penstock::Waiter waiter;
    std::atomic<bool> ready{false};
    std::thread sleeper([&] { waiter.wait([&] { return ready.load(std::memory_order_acquire); }, {"a test", 7}); });
    const auto limit = steady_clock::now() + 10s;
    while (!waiter.parked() && steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(waiter.parked());
    EXPECT_STREQ(waiter.reason().what, "a test");
    EXPECT_EQ(waiter.reason().subject, 7u);
    ready.store(true, std::memory_order_release);
    penstock::wake_at(waiter.bell());
    sleeper.join();
    EXPECT_FALSE(waiter.parked());
    EXPECT_STREQ(waiter.reason().what, "nothing");
}

TEST(Waiter, looks_on_for_a_while_after_it_was_rung_in_vain) {
    penstock::Waiter waiter{eager};
    std::atomic<int> word{0}, looks_in_vain{0};
    std::thread sleeper([&] {
        waiter.wait([&] {
            if (word.load(std::memory_order_acquire) == 1) {
                waiter.spin_for(30s);
                ++looks_in_vain;
            }
            return word.load(std::memory_order_acquire) == 2;
        });
    });
    const auto within_10_s = [](auto done) {
        const auto limit = steady_clock::now() + 10s;
        while (!done() && steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
        return done();
    };
    EXPECT_TRUE(within_10_s([&] { return waiter.parked(); }));
    word.store(1, std::memory_order_release);
    penstock::wake_at(waiter.bell());
    EXPECT_TRUE(within_10_s([&] { return looks_in_vain > 100; }));
    word.store(2, std::memory_order_release);
    penstock::wake_at(waiter.bell());
    sleeper.join();
    EXPECT_EQ(waiter.parks(), 1u);
}

TEST(Waiter, does_not_park_for_what_is_there_already) {
    penstock::Waiter waiter{eager};
    waiter.wait([] { return true; });
    EXPECT_EQ(waiter.parks(), 0u);
}

TEST(Waiter, an_idle_waiter_uses_almost_no_processor_time) {
    penstock::Waiter waiter;
    const auto before = processor_time_of_this_thread();
    EXPECT_FALSE(waiter.wait_for([] { return false; }, 500ms));
    EXPECT_LT(processor_time_of_this_thread() - before, 25ms) << "of 500 ms idle";
}

TEST(Waiter, a_wait_with_a_limit_ends_near_it) {
    for (auto limit : {100us, 1'000us, 30'000us, 150'000us}) {
        auto best = std::chrono::nanoseconds::max();  // of several: the scheduler may add to any one
        for (int i = 0; i < 5; ++i) {
            penstock::Waiter waiter{eager};
            const auto begin = steady_clock::now();
            EXPECT_FALSE(waiter.wait_for([] { return false; }, limit));
            const std::chrono::nanoseconds took = steady_clock::now() - begin;
            EXPECT_GE(took, limit) << "gave up early";
            best = std::min(best, took);
        }
        EXPECT_LT(best, limit + 10ms);
    }
}

TEST(Waiter, a_limit_beyond_all_time_is_no_limit) {
    penstock::Waiter waiter;
    int looks = 0;
    EXPECT_TRUE(waiter.wait_for([&] { return ++looks == 200; }, std::chrono::nanoseconds::max()));
}

TEST(Waiter, a_wait_with_a_limit_says_what_came_first) {
    penstock::Waiter waiter;
    std::atomic<bool> ready{false};
    std::thread sender([&] {
        std::this_thread::sleep_for(20ms);
        ready.store(true, std::memory_order_release);
        penstock::wake_at(waiter.bell());
    });
    EXPECT_TRUE(waiter.wait_for([&] { return ready.load(std::memory_order_acquire); }, 20s));
    sender.join();
}

TEST(Waiter, yields_early_when_there_are_more_threads_than_processors) {
    const auto crowded = penstock::WaitPolicy::for_threads(8, 2);
    const auto roomy = penstock::WaitPolicy::for_threads(2, 8);
    EXPECT_LT(crowded.spins_before_yield, roomy.spins_before_yield);
    EXPECT_LE(crowded.spin, roomy.spin);
}

TEST(Waiter, wakes_when_another_process_rings_through_shared_memory) {
    struct Shared {
        penstock::Waiter waiter{penstock::WaitPolicy{.spin = 0ns, .spins_before_yield = ~0u, .longest_sleep = 5ms}};
        std::atomic<std::uint64_t> sent{0};
    };
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* shared = new (memory) Shared;
    constexpr std::uint64_t rounds = 100;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            while (!shared->waiter.parked()) usleep(50);
            shared->sent.store(round, std::memory_order_release);
            penstock::wake_at(shared->waiter.bell());
        }
        _exit(0);
    }
    for (std::uint64_t round = 1; round <= rounds; ++round)
        ASSERT_TRUE(
            shared->waiter.wait_for([&] { return shared->sent.load(std::memory_order_acquire) >= round; }, 20s));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_GE(shared->waiter.parks(), 1u);
    shared->~Shared();
    munmap(memory, sizeof(Shared));
}

/// What the kernel says of the calling thread.
struct SchedulingAttributes {
    std::uint32_t size = sizeof(SchedulingAttributes), policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t slice = 0, deadline = 0, period = 0;  // ns

    static SchedulingAttributes here() {
        SchedulingAttributes now;
        if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) now.slice = 0;
        return now;
    }
    bool operator==(const SchedulingAttributes&) const = default;
};
std::uint64_t slice() { return SchedulingAttributes::here().slice; }

constexpr std::uint64_t short_slice = 100'000, long_slice = 3'000'000;  // ns

/// Threads of which each has long slices to begin with.
class TimeSlices : public testing::Test {
  protected:
    static void in_a_thread(const std::function<void()>& body) {
        bool skipped = false;
        std::jthread([&] {
            auto wished = SchedulingAttributes::here();
            skipped = wished.slice == 0 || (wished.policy != SCHED_OTHER && wished.policy != SCHED_BATCH);
            wished.slice = long_slice;
            skipped = skipped || syscall(SYS_sched_setattr, 0, &wished, 0) != 0;
            if (!skipped) body();
        }).join();
        if (skipped) GTEST_SKIP() << "slices have no length of their own here (Linux has since 6.12)";
    }
    static void sleep() {
        penstock::Doorbell bell;
        bell.parked = 1;
        penstock::waiting::sleep_on(bell, 1ms);
    }
};

// Else each hand-off beside busy programs takes a slice of the usual length.
TEST_F(TimeSlices, are_short_for_who_has_slept_in_a_wait_and_until_its_end) {
    in_a_thread([] {
        const auto usual = SchedulingAttributes::here();
        auto brief = usual;
        brief.slice = short_slice;
        penstock::Waiter waiter{{.spin = 0ns, .longest_sleep = 1ms}};
        EXPECT_TRUE(waiter.wait_for([&] { return SchedulingAttributes::here() == brief; }, 20s));
        EXPECT_EQ(waiter.parks(), 1u);
        EXPECT_EQ(SchedulingAttributes::here(), usual);
        sleep();
        EXPECT_EQ(SchedulingAttributes::here(), usual) << "in no wait";
    });
}

TEST_F(TimeSlices, stay_short_until_the_end_of_the_outer_of_two_waits) {
    in_a_thread([] {
        {
            const penstock::waiting::Brief outer;
            sleep();
            {
                const penstock::waiting::Brief inner;
                sleep();
            }
            EXPECT_EQ(slice(), short_slice);
        }
        EXPECT_EQ(slice(), long_slice);
    });
}

TEST_F(TimeSlices, that_somebody_else_has_chosen_meanwhile_stay) {
    in_a_thread([] {
        {
            const penstock::waiting::Brief wait;
            sleep();
            auto wished = SchedulingAttributes::here();
            wished.slice = 2 * long_slice;
            ASSERT_EQ(syscall(SYS_sched_setattr, 0, &wished, 0), 0);
        }
        EXPECT_EQ(slice(), 2 * long_slice);
    });
}

TEST_F(TimeSlices, of_the_runtimes_threads_are_always_short_and_not_those_of_what_these_start) {
    in_a_thread([] {
        penstock::waiting::be_always_brief();
        {
            const penstock::waiting::Brief wait;
        }
        EXPECT_EQ(slice(), short_slice);
        std::jthread([] { EXPECT_GT(slice(), short_slice); }).join();
    });
}

#if defined(__x86_64__)
// A halted virtual processor marks them as in use, and SSE code is slower from then on.
TEST(Waiter, who_has_slept_has_forgotten_the_upper_halves_of_the_vector_registers) {
    if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "this processor has no such registers";
    const std::uint64_t before[4] = {1, 2, 3, 4};
    std::uint64_t behind[4] = {};
    penstock::Doorbell bell;
    bell.parked = 1;
    asm volatile("vmovdqu %0, %%ymm15" : : "m"(before) : "xmm15");
    penstock::waiting::sleep_on(bell, 1ms);
    asm volatile("vmovdqu %%ymm15, %0\n\tvzeroupper" : "=m"(behind) : : "memory");
    EXPECT_EQ(behind[2], 0u);
    EXPECT_EQ(behind[3], 0u);
}
#endif

}  // namespace
