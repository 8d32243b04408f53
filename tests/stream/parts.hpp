// Filters that several tests build their graphs of.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace parts {

/// 0, 1, 2... up to `n`, `at_once` in each firing; user[0] is the number too.
struct Numbers {
    penstock::Output<int> out{"out"};
    int count, at_once, next = 0;
    explicit Numbers(int n, int together = 1) : count(n), at_once(together) {}
    bool operator()() {
        for (int i = 0; i < at_once; ++i) {
            if (next == count) return false;
            auto buffer = out.make(1);
            buffer.edit()[0] = next;
            buffer.edit_tags().user[0] = static_cast<std::uint64_t>(next++);
            out.write(std::move(buffer));
        }
        return true;
    }
};

struct PassOn {
    static constexpr bool may_be_copied = true;
    penstock::Input<int> in{"in"};
    penstock::Output<int> out{"out"};
    void operator()() { out.write(in.read()); }
};

struct Collect {
    penstock::Input<int> in{"in"};
    std::vector<int> got;
    std::atomic<int> arrived{0};
    void operator()() {
        got.push_back(in.read()[0]);
        arrived.store(static_cast<int>(got.size()), std::memory_order_release);
    }
};

inline std::vector<int> numbers(int n, int step = 1) {
    std::vector<int> all;
    for (int i = 0; i < n; i += step) all.push_back(i);
    return all;
}

}  // namespace parts
