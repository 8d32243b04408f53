// The buffer behind the one that is read is fetched ahead.
#include "stream/buffers/buffer_ahead.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

using namespace penstock;
using streaming::BufferAhead;

namespace {

/// A firing that takes a buffer of so many bytes, behind which another waits, or none does.
void fire(BufferAhead& ahead, std::size_t bytes, bool another = true) {
    static std::vector<std::byte> values(1 << 16);
    streaming::Block taken, next;
    for (streaming::Block* const each : {&taken, &next}) each->data = values.data(), each->bytes = bytes;
    const bool timed = ahead.timing();
    if (timed) ahead.begin();
    if (another) ahead.took(taken, next);
    if (timed) ahead.end();
}

int firings_until_timing_is(BufferAhead& ahead, bool timing) {
    int firings = 0;
    for (; ahead.timing() != timing && firings < 100'000; ++firings) fire(ahead, 4096);
    return firings;
}

/// Buffers of all sorts of lengths, empty ones too.
struct Lengths {
    Output<int> out{"out"};
    int next = 0;
    bool operator()() {
        auto buffer = out.make(static_cast<std::size_t>(next % 5 * 100 * (next % 3)));
        std::iota(buffer.edit().begin(), buffer.edit().end(), next);
        out.write(std::move(buffer));
        return ++next < 6'000;
    }
};
struct Add {
    Input<int> in{"in"};
    long long sum = 0;
    void operator()() {
        const auto buffer = in.read();
        for (const int value : buffer.span()) sum += value;
    }
};

}  // namespace

TEST(BufferAhead, both_ways_are_timed_for_long_buffers_and_the_decision_holds_for_a_while) {
    BufferAhead ahead(Prefetch::measured);
    EXPECT_EQ(firings_until_timing_is(ahead, true), 1);
    // Soonest where one way takes more than twice as long as the other.
    using Ways = penstock::BestWay<2>;
    const int soonest = static_cast<int>((Ways::samples + Ways::least_samples) * BufferAhead::window);
    const int latest = static_cast<int>(2 * Ways::samples * BufferAhead::window);
    const auto expect_decision = [&] {
        const int firings = firings_until_timing_is(ahead, false);
        EXPECT_GE(firings, soonest);
        EXPECT_LE(firings, latest);
    };
    expect_decision();
    EXPECT_EQ(firings_until_timing_is(ahead, true), static_cast<int>(BufferAhead::hold) + 1)
        << "then the question is asked again";
    expect_decision();
}

TEST(BufferAhead, nothing_is_timed_for_short_buffers_or_where_there_is_nothing_to_decide) {
    BufferAhead small(Prefetch::measured);
    for (int i = 0; i < 10'000; ++i) fire(small, BufferAhead::least_bytes - 1);
    EXPECT_FALSE(small.timing());
    BufferAhead alone(Prefetch::measured);
    for (int i = 0; i < 10'000; ++i) fire(alone, 4096, false);
    EXPECT_FALSE(alone.timing());
    for (const auto mode : {Prefetch::always, Prefetch::never}) {
        BufferAhead told(mode);
        for (int i = 0; i < 10'000; ++i) fire(told, 4096);
        EXPECT_FALSE(told.timing());
    }
}

TEST(BufferAhead, every_way_gives_the_same_values) {
    std::vector<long long> sums;
    for (const auto mode : {Prefetch::never, Prefetch::measured, Prefetch::always}) {
        Machine machine{{.targets = 1, .prefetch = mode}};
        Graph graph;
        auto& lengths = graph.add<Lengths>("lengths");
        auto& one = graph.add<Add>("one");
        auto& other = graph.add<Add>("other");
        graph.connect(lengths.out, one.in);
        graph.connect(lengths.out, other.in);
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(one.sum, other.sum);
        sums.push_back(one.sum);
    }
    long long wanted = 0;
    for (long long first = 0; first < 6'000; ++first) {
        const auto length = first % 5 * 100 * (first % 3);
        wanted += length * first + length * (length - 1) / 2;
    }
    EXPECT_EQ(sums, std::vector<long long>(3, wanted));
}
