// What the tests of filters in worker processes share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/isolation.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "tests/task/isolation_support.hpp"

namespace processes {

using penstock::Input;
using penstock::Output;
inline penstock::MachineOptions workers(int targets) { return task_tests::isolated(targets); }

using Value = std::uint64_t;

/// 0, 1, 2... below `count`.
struct Numbers {
    Output<Value> out{"out"};
    Value count, next = 0;
    explicit Numbers(Value n) : count(n) {}
    auto state() { return std::tie(next); }
    bool operator()() {
        if (next == count) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

struct Times {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value factor;
    explicit Times(Value by) : factor(by) {}
    void operator()() {
        auto buffer = in.read();
        for (Value& each : buffer.edit()) each *= factor;
        out.write(std::move(buffer));
    }
};

struct Sum {
    Input<Value> in{"in"};
    Value sum = 0, count = 0, process = 0;
    auto state() { return std::tie(sum, count, process); }
    void operator()() {
        const auto buffer = in.read();
        for (const Value each : buffer.span()) sum += each;
        ++count;
        process = static_cast<Value>(getpid());
    }
};

/// Each buffer comes out one firing later than it came in; the last with the end.
struct Later {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    penstock::Buffer<Value> kept;
    void operator()() {
        if (kept) out.write(std::move(kept));
        kept = in.read();
    }
    void finish() { out.write(std::move(kept)); }
};

struct ReadAll {
    Input<Value> in{"in"};
    std::vector<Value> got, tags;
    Value most = 0;
    auto state() { return std::tie(got, tags, most); }
    void operator()() {
        Value now = 0;
        while (const auto buffer = in.read_if_any()) {
            got.push_back((*buffer)[0]);
            tags.push_back(buffer->tags().user[1]);
            ++now;
        }
        most = std::max(most, now);
    }
};

/// What comes out of one filter.
template <class F>
std::vector<Value> through(penstock::Machine& machine, std::vector<std::vector<Value>> values,
                           penstock::FilterOptions options = {}, penstock::FilterStatistics* figures = nullptr) {
    penstock::Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& filter = graph.add<F>("filter", std::move(options));
    auto& reader = graph.add_reader<Value>("reader");
    graph.connect(writer.output, filter.in);
    graph.connect(filter.out, reader.input);
    auto run = graph.start(machine);
    std::thread writing([&] {
        for (const auto& each : values) writer.write(each);
        writer.close();
    });
    std::vector<Value> all;
    while (const auto buffer = reader.read()) all.insert(all.end(), buffer->span().begin(), buffer->span().end());
    writing.join();
    try {
        run.finish();
    } catch (const penstock::FilterFailed&) {
        if (figures == nullptr) throw;
    }
    if (figures != nullptr)
        for (const auto& each : run.statistics().filters)
            if (each.name == "filter") *figures = each;
    return all;
}

inline std::vector<std::vector<Value>> ones(Value count) {
    std::vector<std::vector<Value>> all;
    for (Value i = 0; i < count; ++i) all.push_back({i});
    return all;
}

inline std::vector<Value> up_to(Value count) {
    std::vector<Value> all(count);
    std::iota(all.begin(), all.end(), Value{0});
    return all;
}

}  // namespace processes
