// What the tests of filters in worker processes share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/isolation.hpp"
#include "penstock/machine.hpp"
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

}  // namespace processes
