// One request for memory is refused to the thread that sends jobs to a filter in a worker process and lends it blocks:
// each of its requests in turn. The filter may miss that firing; the run goes on, and its bounded pool stays whole.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "penstock/penstock.hpp"
#include "tests/bounded_child.hpp"
#include "tests/exhaustion/refusals.hpp"

namespace isolated_filters {

using namespace penstock;

constexpr int values = 6;

struct Copy {
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        const auto read = in.read();
        auto made = out.make(1);
        made.edit()[0] = read[0];
        out.write(std::move(made));
    }
};

/// What was refused memory, is asked for again.
template <class Body>
auto patiently(Body&& body) {
    for (;;) {
        try {
            return body();
        } catch (const std::bad_alloc&) {
        }
    }
}

/// True when the request number `place` was made, and so refused.
bool attempt(Machine& machine, long place) {
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& copy = graph.add<Copy>("copy", {.targets = {0}, .on_failure = OnFailure::go_on, .pool = 1});
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, copy.in, {.capacity = values});
    graph.connect(copy.out, reader.input, {.capacity = values});
    auto run = graph.start(machine);
    exhaustion::refuse_here(exhaustion::Kind::memory, place);
    for (int i = 0; i < values; ++i)
        patiently([&, i] {
            const int value[] = {i};
            writer.write(value);
        });
    patiently([&] { writer.close(); });
    int read = 0;
    while (patiently([&] { return reader.read(); })) ++read;
    const bool refused = exhaustion::allow() > place;
    std::string failure;
    try {
        run.finish();
    } catch (const FilterFailed& failed) {
        failure = failed.what();
    }
    // One firing may have failed, with what it had read.
    if (read < values - 1 || (!refused && !failure.empty()) || failure.find("makes no sense") != failure.npos)
        throw UsageError("at place " + std::to_string(place) + " " + std::to_string(read) + " of " +
                         std::to_string(values) + " were read; " + failure);
    return refused;
}

TEST(IsolatedFiltersWithoutMemory, miss_one_firing_at_most_and_keep_their_pool) {
    const auto ending = penstock_tests::ending_of(
        [] {
            constexpr rlimit none{0, 0};
            setrlimit(RLIMIT_CORE, &none);
            launch();
            MachineOptions options;
            options.targets = 1;
            options.isolation = Isolation::process;
            Machine machine(options);
            constexpr long most = 150;
            long place = 0;
            for (; place < most && attempt(machine, place); ++place) std::fprintf(stderr, "%ld ", place);
            return place > 10 ? 0 : 1;
        },
        std::chrono::seconds(20));
    EXPECT_TRUE(ending.good()) << ending.text();
}

}  // namespace isolated_filters
