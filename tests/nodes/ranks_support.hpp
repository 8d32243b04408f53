// What the tests of ranks over nodes share.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "nodes/cluster_team.hpp"
#include "penstock/barrier.hpp"
#include "penstock/cluster.hpp"
#include "penstock/condition.hpp"
#include "penstock/flag.hpp"
#include "penstock/message.hpp"
#include "penstock/mutex.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"
#include "penstock/shared_mutex.hpp"
#include "penstock/spmd.hpp"

namespace ranks {

using namespace penstock;
using namespace std::chrono_literals;

/// Lines that agents print.
struct Log {
    std::mutex lock;
    std::vector<std::string> lines;

    bool has(const std::string& line) {
        const std::lock_guard guard(lock);
        return std::ranges::find(lines, line) != lines.end();
    }
    std::string text() {
        const std::lock_guard guard(lock);
        std::string all;
        for (const auto& line : lines) all += line + '\n';
        return all;
    }
};

inline ClusterOptions on(int nodes, Log* log = nullptr) {
    ClusterOptions options;
    options.nodes = {{"workers", nodes}};
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    options.listen = "unix";
    if (log != nullptr)
        options.log = [log](const std::string& line) {
            const std::lock_guard guard(log->lock);
            log->lines.push_back(line);
        };
    return options;
}

inline SpmdOptions over(Cluster& cluster) { return {.pin = false, .cluster = &cluster}; }

/// In ranks, whose expectations GoogleTest does not see.
inline void expect(bool condition, const char* what) {
    if (!condition) throw Error(what);
}

template <class Function>
void expect_error(Function&& function, const char* part) {
    try {
        function();
        ADD_FAILURE() << "nothing was thrown, where '" << part << "' was expected";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

inline void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

/// This process stands still for a while; what comes meanwhile waits at its wires, and then comes in any order of them.
inline void stand_still() {
    const int here = getpid();
    if (fork() == 0) {
        usleep(60'000);
        kill(here, SIGCONT);
        _exit(0);
    }
    kill(here, SIGSTOP);
}

/// In each round 0 stores at `last`, which stands still meanwhile, and tells 1, who tells `last`, directly or through
/// others.
inline void through_others(Rank me) {
    constexpr std::size_t size = 1'000'000;  // more than waits at a wire
    const int last = me.size() - 1;
    std::optional<Region<std::uint32_t>> region;
    std::optional<Remote<std::uint32_t>> remote;
    Counter mine(me, "counter");
    mine.grant((me.index() + me.size() - 1) % me.size());
    if (me.index() == last) {
        region.emplace(me, "region", size);
        region->grant(0);
    }
    if (me.index() == 0) remote.emplace(Remote<std::uint32_t>::accept(me, last, "region"));
    auto next = RemoteCounter::accept(me, (me.index() + 1) % me.size(), "counter");
    std::vector<std::uint32_t> values(size);
    for (std::uint32_t round = 1; round <= 6; ++round) {
        if (me.index() == last) {
            next.store(round);
            stand_still();
        }
        mine.wait_until(round);
        if (me.index() == 0) {
            std::this_thread::sleep_for(20ms);
            std::ranges::fill(values, round);
            remote->store(0, values);
            (*remote)[size / 2] = round + 1'000;
        }
        if (me.index() != last) {
            next.store(round);
            continue;
        }
        for (std::size_t i = 0; i < size; ++i)
            expect((*region)[i] == (i == size / 2 ? round + 1'000 : round), "the word came before the stores");
    }
}

}  // namespace ranks
