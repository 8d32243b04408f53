// Filters that these tests run on other nodes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penstock/graph.hpp"

namespace filters {

using namespace penstock;

/// 0, 1, 2... up to `n`, one every `pause` microseconds.
struct Numbers {
    Output<std::int64_t> out{"out"};
    std::int64_t count;
    int pause;
    std::int64_t next = 0;
    explicit Numbers(std::int64_t n, int every = 0) : count(n), pause(every) {}
    bool operator()() {
        if (next == count) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        if (pause != 0) std::this_thread::sleep_for(std::chrono::microseconds(pause));
        return true;
    }
};

/// Adds a number, taking some time for it; some values throw, or end the process.
struct Add {
    static constexpr bool may_be_copied = true;
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    std::int64_t more;
    int pause;
    std::int64_t throws_at, dies_at;
    explicit Add(std::int64_t add, int micros = 0, std::int64_t bad = -1, std::int64_t deadly = -1)
        : more(add), pause(micros), throws_at(bad), dies_at(deadly) {}
    void operator()() {
        auto buffer = in.read();
        std::int64_t& value = buffer.edit()[0];
        if (value == throws_at) throw std::runtime_error("bad value");
        if (value == dies_at) _exit(9);
        if (pause != 0) std::this_thread::sleep_for(std::chrono::microseconds(pause));
        value += more;
        out.write(std::move(buffer));
    }
};

struct Multiply {
    static constexpr bool may_be_copied = true;
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    Setting<std::int64_t> factor{"factor", 1};
    void operator()() {
        auto buffer = in.read();
        buffer.edit()[0] *= factor;
        out.write(std::move(buffer));
    }
};

struct Collect {
    Input<std::int64_t> in{"in"};
    std::vector<std::int64_t> got;
    std::atomic<std::size_t> arrived{0};
    void operator()() {
        got.push_back(in.read()[0]);
        arrived = got.size();
    }
};

/// Keeps what it reads, and says at the end how much that was.
struct Sum {
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    std::int64_t sum = 0;
    void operator()() { sum += in.read()[0]; }
    void finish() {
        auto buffer = out.make(1);
        buffer.edit()[0] = sum;
        out.write(std::move(buffer));
    }
};

inline std::vector<std::int64_t> numbers(std::int64_t n, std::int64_t more = 0) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(i + more);
    return all;
}

}  // namespace filters
