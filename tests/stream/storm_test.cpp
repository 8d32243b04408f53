// Edits and dying workers at the same time: each number comes out once or is named as lost, and the deaths are counted.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "penstock/stream_error.hpp"
#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

constexpr std::size_t places = 16;

/// Says which process it runs in, and is at work long enough to be killed meanwhile.
struct Shown {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value* processes;
    explicit Shown(Value* where) : processes(where) {}
    void operator()() {
        const auto process = static_cast<Value>(getpid());
        std::atomic_ref(processes[process % places]).store(process, std::memory_order_relaxed);
        auto buffer = in.read();
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
        while (std::chrono::steady_clock::now() < until) {
        }
        out.write(std::move(buffer));
    }
};

TEST(Storm, of_edits_and_counted_kills_loses_nothing_unnamed) {
    SKIP_WITHOUT_PROCESSES();
    const bool longer = task_tests::long_run();
    const unsigned enough_kills = longer ? 2'000 : 30, enough_edits = longer ? 3'000 : 60;
    const char* const asked = std::getenv("PENSTOCK_SEED");
    const auto seed = asked == nullptr ? 1u : static_cast<unsigned>(std::strtoul(asked, nullptr, 10));
    Machine machine(workers(2));
    auto running = machine.array<Value>(places);
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& first = graph.add<Shown>("first", {.copies = 2, .on_failure = OnFailure::go_on}, running.data());
    auto& second = graph.add<Shown>("second", {.on_failure = OnFailure::go_on}, running.data());
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, first.in);
    graph.connect(first.out, second.in);
    graph.connect(second.out, reader.input);
    auto run = graph.start(machine);

    std::atomic<unsigned> kills{0}, edits{0};
    std::atomic<bool> over{false};
    Value count = 0;
    std::thread writing([&] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(longer ? 1200 : 40);
        for (Value i = 0; (kills < enough_kills || edits < enough_edits) && std::chrono::steady_clock::now() < until;
             count = ++i)
            writer.write(std::span<const Value>(&i, 1));
        over = true;
        writer.close();
    });
    std::thread killing([&] {
        std::mt19937 random(seed);
        while (!over) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 5'000));
            const auto process = std::atomic_ref(running[random() % places]).exchange(0);
            if (process != 0 && kill(static_cast<pid_t>(process), SIGKILL) == 0) ++kills;
        }
    });
    std::thread editing([&] {
        std::mt19937 random(seed + 1);
        while (!over) {
            const bool copies = random() % 2 == 0;
            const auto name = random() % 2 == 0 ? "first" : "second";
            const auto number = static_cast<int>(random() % 2);
            try {
                run.edit([&](Edit& edit) {
                    if (copies) edit.copies(name, 1 + number + (name[0] == 'f' ? 1 : 0));
                    else edit.change("first.out", "second.in", {.capacity = 1 + static_cast<std::size_t>(number) * 7});
                });
                ++edits;
            } catch (const RunEnded&) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2'000));
        }
    });
    std::multiset<Value> all;
    while (const auto buffer = reader.read()) all.insert((*buffer)[0]);
    writing.join();
    killing.join();
    editing.join();
    try {
        run.finish();
    } catch (const FilterFailed&) {
    }
    const auto arrived = all.size();
    const auto lost = run.lost();
    for (const auto& each : lost) all.insert(each.sequence);
    std::printf("seed %u: %u kills, %u edits, %lu numbers, %zu arrived, %zu named as lost\n", seed, kills.load(),
                edits.load(), count, arrived, lost.size());
    EXPECT_GE(kills.load(), enough_kills);
    EXPECT_GE(edits.load(), enough_edits);
    EXPECT_EQ(arrived + lost.size(), count);
    for (Value i = 0; i < count; ++i) ASSERT_EQ(all.count(i), 1u) << i << " of seed " << seed;
    EXPECT_LE(lost.size(), kills.load());
    machine.finish();
}

}  // namespace
