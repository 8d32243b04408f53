// Idle processors are left alone: under 1 % of one processor one second after the last task.
#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <variant>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Idle, machine_takes_less_than_a_hundredth_of_a_processor) {
    if (under_tsan || under_asan) GTEST_SKIP() << "sanitizers have threads of their own";
    Machine machine;
    Machine several(with_targets(4));
    double best = 1;
    for (int attempt = 0; attempt < 5 && best >= 0.01; ++attempt) {  // the host is noisy: one quiet second is enough
        for (int i = 0; i < 1000; ++i) {
            machine.call([] {});
            several.call([] {});
        }
        machine.barrier();
        several.barrier();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const double before = processor_seconds();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        best = std::min(best, processor_seconds() - before);
    }
    EXPECT_LT(best, 0.01);
}

std::uint64_t parks(const Machine& machine) {
    std::uint64_t sum = 0;
    const auto snapshot = machine.snapshot();
    for (const auto& [key, entry] : snapshot.tracks())
        if (const auto* const totals = std::get_if<trace::TargetTotals>(&entry.totals)) sum += totals->parks;
    return sum;
}

TEST(Idle, target_sleeps_only_after_it_has_looked_for_work_as_long_as_it_was_told) {
    if (Topology::here().usable() < 2) GTEST_SKIP() << "with one processor nobody looks for long";
    auto options = with_targets(1);
    options.spin = std::chrono::hours(1);
    Machine patient(options);
    options.spin = std::chrono::nanoseconds(0);
    Machine hasty(options);
    // how often a target slept is counted when it has work again
    const auto work_after_a_while = [](Machine& machine) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        machine.call([] {}).wait();
    };
    for (int i = 0; i < 1000 && parks(hasty) == 0; ++i) work_after_a_while(hasty);
    EXPECT_GT(parks(hasty), 0u);
    for (int i = 0; i < 5; ++i) work_after_a_while(patient);
    EXPECT_EQ(parks(patient), 0u);
}

TEST(Idle, target_that_is_called_again_and_again_stays_awake_longer_than_it_spins_by_itself) {
    if (Topology::here().usable() < 2) GTEST_SKIP() << "with one processor nobody looks for long";
    auto options = with_targets(1);
    options.spin = std::chrono::milliseconds(50);
    Machine machine(options);
    constexpr int gaps = 8;  // each longer than it spins by itself, and the double of each longer than the next
    for (int i = 0; i < gaps; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        machine.call([] {}).wait();
    }
    EXPECT_GE(parks(machine), 1u);  // of the first nothing was known
    EXPECT_LE(parks(machine), static_cast<std::uint64_t>(gaps / 2)) << "it slept through gaps that it could expect";
}

}  // namespace
