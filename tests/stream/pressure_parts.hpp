// What the tests of automatic numbers of copies share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include "stream/parts.hpp"

namespace pressure {

using namespace std::chrono_literals;

/// Gives numbers until it is told to end: as fast as the stream takes them, or one in a while.
struct Faucet {
    penstock::Output<int> out{"out"};
    std::atomic<bool> slow{false};
    std::atomic<bool> ends{false};
    std::atomic<int> most{std::numeric_limits<int>::max()};
    std::atomic<int> given{0};
    bool operator()() {
        if (ends || given >= most) return false;
        if (slow) std::this_thread::sleep_for(5ms);
        auto buffer = out.make(1);
        buffer.edit()[0] = given.fetch_add(1);
        out.write(std::move(buffer));
        return true;
    }
};

inline penstock::FilterStatistics of(const penstock::Run& run, const std::string& name) {
    const auto all = run.statistics();
    const auto found =
        std::find_if(all.filters.begin(), all.filters.end(), [&](const auto& each) { return each.name == name; });
    return found == all.filters.end() ? penstock::FilterStatistics{} : *found;
}

inline testing::AssertionResult comes(const std::function<bool()>& test) {
    for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(5ms))
        if (test()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "not within 60 s";
}

/// Little to do, much, and so on: each time the filter has one copy first, and then so many at least. `slow`: of those
/// who give it what it reads.
inline void come_and_go(const penstock::Run& run, const std::string& filter, std::vector<std::atomic<bool>*> slow,
                        int least) {
    const auto become = [&](bool now, const std::function<bool(int)>& wanted) {
        for (auto* const each : slow) *each = now;
        EXPECT_TRUE(comes([&] { return wanted(of(run, filter).copies); })) << run.report() << run.statistics().text();
    };
    const auto one = [](int copies) { return copies == 1; };
    for (int round = 0; round < 2; ++round) {
        become(true, one);
        become(false, [least](int copies) { return copies >= least; });
    }
    become(true, one);
}

}  // namespace pressure
