// Everything at once, over and over, with failures: what the program holds must not grow. PENSTOCK_SOAK_SECONDS says
// for how long (3), PENSTOCK_SOAK_SEED with which random numbers.
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"
#include "tests/stream/parts.hpp"
#include "tests/task/isolation_support.hpp"

using namespace penstock;

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::size_t entries_of(const char* folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
    return count;
}

struct Held {
    std::size_t heap, descriptors, threads, mappings;

    static Held now() {
        malloc_trim(0);
        std::size_t lines = 0;
        if (std::FILE* const maps = std::fopen("/proc/self/maps", "r")) {
            for (int c; (c = std::fgetc(maps)) != EOF;) lines += c == '\n';
            std::fclose(maps);
        }
        return {mallinfo2().uordblks, entries_of("/proc/self/fd"), entries_of("/proc/self/task"), lines};
    }
    std::string text() const {
        return std::to_string(heap / 1024) + " KiB in use, " + std::to_string(descriptors) + " descriptors, " +
               std::to_string(threads) + " threads, " + std::to_string(mappings) + " mappings";
    }
};

void add(std::span<const int> x, std::span<int> y) { y[0] += x[0]; }
void fail(int number) { throw std::runtime_error("task " + std::to_string(number)); }
void die() { std::abort(); }

class Soak {
  public:
    explicit Soak(std::uint64_t seed) : random_(seed) {}

    void round() {
        tasks();
        dependences();
        stream();
        if (!task_tests::under_tsan) workers();
        if (++rounds_ % 8 == 0) another_machine();
        if (rounds_ % 16 == 0) ranks();
    }
    std::uint64_t rounds() const { return rounds_; }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    /// Asks for the failures of some tasks and leaves the others to the barrier.
    void tasks() {
        std::vector<int> x(64, 1), y(64, 0);
        std::vector<Handle> failing;
        for (std::size_t i = 0; i < x.size(); ++i) {
            machine_.call<add>(in(x[i]), inout(y[i]));
            if (below(8) == 0)
                failing.push_back(below(2) == 0 ? machine_.call<fail>(below(100))
                                                : machine_.on(below(2)).call<fail>(below(100)));
        }
        for (const Handle& handle : failing) {
            if (below(2) == 0) continue;
            EXPECT_THROW(handle.wait(), TaskFailed);
        }
        if (!failing.empty() && below(4) == 0) static_cast<void>(failing.back().cancel());
        try {
            machine_.barrier();
        } catch (const TaskFailed&) {
        }
        for (const int one : y) EXPECT_EQ(one, 1);
    }

    void dependences() {
        std::vector<int> x(8, 1);
        {
            Dependences order(machine_);
            for (int i = 0; i < 60; ++i) {
                order.call<add>(in(x[static_cast<std::size_t>(below(4))]),
                                inout(x[static_cast<std::size_t>(4 + below(4))]));
                if (below(30) == 0)
                    order.call([](std::span<int>) { throw std::runtime_error("in order"); }, inout(x[7]));
            }
        }
        try {
            machine_.barrier();
        } catch (const TaskFailed&) {
        } catch (const TaskCancelled&) {
        }
    }

    void stream() {
        constexpr int buffers = 200;
        Graph graph;
        auto& source = graph.add<parts::Numbers>("source", {}, buffers);
        auto& pass = graph.add<parts::PassOn>("pass", FilterOptions{.copies = 2 + below(3)});
        auto& sink = graph.add<parts::Collect>("sink");
        graph.connect(source.out, pass.in);
        graph.connect(pass.out, sink.in, {.ordered = true});
        Run run = graph.start(machine_);
        for (int edits = below(3); edits > 0; --edits) {
            try {
                run.edit([&](Edit& edit) { edit.copies("pass", 2 + below(3)); });
            } catch (const RunEnded&) {
                break;
            }
        }
        run.finish();
        EXPECT_EQ(sink.got, parts::numbers(buffers));
    }

    void workers() {
        std::vector<Handle> handles;
        for (int i = 0; i < 8; ++i) handles.push_back(guarded_.call([](int) {}, i));
        if (below(4) == 0) {
            EXPECT_THROW(guarded_.call<die>().wait(), TaskFailed);
        }
        for (const Handle& handle : handles) handle.wait();
        guarded_.barrier();
    }

    void another_machine() {
        Machine machine{task_tests::with_targets(1 + below(2))};
        for (int i = 0; i < 20; ++i) machine.call([] {});
        machine.finish();
    }

    void ranks() {
        spmd(2, [](Rank me) {
            Messenger messenger(me);
            int got = 42;
            if (me.index() == 0) messenger.send(1, got);
            else messenger.recv(0, got);
        });
    }

    std::mt19937_64 random_;
    std::uint64_t rounds_ = 0;
    Machine machine_{task_tests::with_targets(2)};
    Machine guarded_{task_tests::under_tsan ? task_tests::with_targets(1) : task_tests::isolated(1)};
};

TEST(SoakTest, leaves_nothing_behind) {
    const std::chrono::seconds length(setting("PENSTOCK_SOAK_SECONDS", 3));
    const auto seed = setting("PENSTOCK_SOAK_SEED", 1);
    Soak soak(seed);
    const auto run_for = [&](std::chrono::nanoseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        do soak.round();
        while (std::chrono::steady_clock::now() < end && !testing::Test::HasFailure());
    };
    run_for(length / 2);
    const Held before = Held::now();
    const auto rounds = soak.rounds();
    run_for(length / 2);
    const Held after = Held::now();
    std::printf("seed %lu, %lu rounds\nafter %lu: %s\nat the end: %s\n", seed, soak.rounds(), rounds,
                before.text().c_str(), after.text().c_str());
    // The failures that were told, 1,024 a ring and more for dependent tasks, are all there after some 5,000 rounds.
    const std::size_t most_heap = rounds < 10'000 ? 12 << 20 : 1 << 20;
    if (!task_tests::under_tsan && !task_tests::under_asan) {  // which keep what was freed
        EXPECT_LT(after.heap, before.heap + most_heap);
        EXPECT_LE(after.mappings, before.mappings + 64);
    }
    EXPECT_LE(after.descriptors, before.descriptors + 4);
    EXPECT_LE(after.threads, before.threads + 1);
}

}  // namespace
