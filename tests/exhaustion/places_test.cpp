// One request for memory is refused to the thread that edits, sends to, closes or leaves a graph that runs: each of its
// requests in turn, none left out. Whatever comes of it, the run ends, and each buffer was read or counted as dropped.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "penstock/penstock.hpp"
#include "stream/run/station.hpp"
#include "tests/bounded_child.hpp"
#include "tests/exhaustion/refusals.hpp"

namespace places {

using namespace penstock;

std::atomic<bool> enough{false};

struct Source {
    Output<int> out{"out"};
    int written = 0;
    bool operator()() {
        if (enough.load()) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = written++;
        out.write(std::move(buffer));
        return true;
    }
    void on_event(const Event&) {}
};
struct Pass {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() { out.write(in.read()); }
    void on_event(const Event&) {}
};
struct Sink {
    Input<int> in{"in"};
    std::atomic<int> read{0};
    void operator()() {
        in.read();
        read.fetch_add(1);
    }
};

struct Operation {
    const char* name;
    bool placed;
    bool on_a_new_thread;
    int copies;
    std::function<void(Run&, Pass&)> work;
    bool ends_the_machine = false;
};

void insert(Run& run, Pass&) {
    run.edit([](Edit& edit) {
        edit.add<Pass>("fresh");
        edit.disconnect("source.out", "pass.in");
        edit.connect("source.out", "fresh.in");
        edit.connect("fresh.out", "pass.in");
    });
}
void send(Run& run, Pass&) { run.send({.name = "event"}); }

const Operation operations[] = {
    {"edit", false, false, 1, &insert},
    {"edit_placed", true, false, 1, &insert},
    {"fewer_copies", false, false, 3, [](Run& run, Pass&) { run.edit([](Edit& edit) { edit.copies("pass", 1); }); }},
    {"replace", false, false, 2, [](Run& run, Pass& pass) { run.edit([&](Edit& edit) { edit.replace<Pass>(pass); }); }},
    {"send", false, false, 1, &send},
    {"send_placed", true, false, 1, &send},
    {"send_placed_from_a_new_thread", true, true, 1, &send},
    {"close", false, true, 1, [](Run& run, Pass&) { run.close(); }},
    {"close_placed", true, true, 1, [](Run& run, Pass&) { run.close(); }},
    {"end_of_the_machine", true, true, 1, [](Run&, Pass&) {}, true},
};

/// What runs before have kept would not be asked for: each attempt makes the same requests as the one before.
void forget_parts() {
    using namespace streaming;
    Recycled<Station>::clear();
    Recycled<Inlet>::clear();
    Recycled<Outlet>::clear();
    Recycled<Link>::clear();
    Recycled<Pool>::clear();
    Recycled<streaming::Block>::clear();
    BlockCache::of_program().clear();
}

/// True when the request number `place` was made, and so refused.
bool attempt(const Operation& operation, long place) {
    forget_parts();
    enough.store(false);
    MachineOptions options;
    options.targets = 1;
    std::optional<Machine> machine(options);
    Graph graph;
    const FilterOptions where{.targets = operation.placed ? std::vector<int>{0} : std::vector<int>{}};
    auto& source = graph.add<Source>("source", where);
    auto& pass = graph.add<Pass>("pass", {.copies = operation.copies, .targets = where.targets});
    auto& sink = graph.add<Sink>("sink");
    graph.connect(source.out, pass.in);
    graph.connect(pass.out, sink.in);
    auto run = graph.start(*machine);
    while (sink.read.load() == 0) std::this_thread::yield();
    bool was_refused = false;
    const auto work = [&] {
        exhaustion::refuse_here(exhaustion::Kind::memory, place);
        try {
            operation.work(run, pass);
            if (operation.ends_the_machine) machine.reset();
        } catch (const std::bad_alloc&) {
        } catch (const Error& error) {
            (void)exhaustion::allow();
            std::fprintf(stderr, "%s\n", error.what());
        }
        was_refused = exhaustion::allow() > place;
    };
    if (operation.on_a_new_thread) std::thread(work).join();
    else work();
    enough.store(true);
    try {
        run.finish();
    } catch (const std::bad_alloc&) {
        // it ran on the thread that waited for the edit, and what it had read went with its firing
    } catch (const FilterFailed&) {
        return was_refused;
    }
    std::uint64_t dropped = 0;
    for (const auto& filter : run.statistics().filters) dropped += filter.dropped;
    if (static_cast<std::uint64_t>(sink.read.load()) + dropped != static_cast<std::uint64_t>(source.written))
        throw UsageError(std::to_string(source.written) + " written, " + std::to_string(sink.read.load()) + " read, " +
                         std::to_string(dropped) + " dropped, at place " + std::to_string(place));
    return was_refused;
}

class Places : public testing::TestWithParam<int> {};

TEST_P(Places, each_refused_request_leaves_a_run_that_ends) {
    const auto& operation = operations[GetParam()];
    const auto ending = penstock_tests::ending_of(
        [&] {
            constexpr rlimit none{0, 0};
            setrlimit(RLIMIT_CORE, &none);
            // what the thread runs of the graph while it waits asks for memory, too, as often as it comes to it
            constexpr long most = 300;
            for (long place = 0; place < most && attempt(operation, place); ++place)
                std::fprintf(stderr, "%ld ", place);
            return 0;
        },
        std::chrono::seconds(20));
    EXPECT_TRUE(ending.good()) << ending.text();
}

INSTANTIATE_TEST_SUITE_P(Each, Places, testing::Range(0, static_cast<int>(std::size(operations))),
                         [](const auto& each) { return std::string(operations[each.param].name); });

}  // namespace places
