// Buffers outlive the run that they came from, and the filter that wrote them. For the address and the thread
// sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_error.hpp"
#include "tests/stream/parts.hpp"

namespace pool_test {

using penstock::Buffer;
using penstock::Graph;
using penstock::Machine;

int rounds() { return std::getenv("PENSTOCK_LONG") != nullptr ? 100'000 : 500; }

/// A thread that drops a buffer at a moment that differs from round to round, and can be waited for.
class Dropper {
  public:
    Dropper() : thread_([this] { serve(); }) {}
    ~Dropper() {
        turn_.store(-1);
        thread_.join();
    }
    void drop_soon(Buffer<int> buffer) {
        held_ = std::move(buffer);
        turn_.store(++round_);
    }
    void wait() const {
        while (done_.load() != round_) std::this_thread::yield();
    }

  private:
    void serve() {
        for (int seen = 0;;) {
            const int turn = turn_.load();
            if (turn < 0) return;
            if (turn == seen) {
                std::this_thread::yield();
                continue;
            }
            seen = turn;
            for (volatile int delay = turn * 7919 % 20'000; delay > 0;) delay = delay - 1;
            held_.reset();
            done_.store(turn);
        }
    }

    std::optional<Buffer<int>> held_;
    int round_ = 0;
    std::atomic<int> turn_{0}, done_{0};
    std::thread thread_;
};

void drop_while_the_run_ends(std::size_t pool) {
    Machine machine({.targets = 1});
    Dropper dropper;
    for (int round = 0; round < rounds(); ++round) {
        {
            constexpr int count = 40;
            Graph graph;
            auto& source = graph.add<parts::Numbers>("source", {.pool = pool}, count);
            auto& reader = graph.add_reader<int>("reader");
            graph.connect(source.out, reader.input, {.capacity = 64});
            auto run = graph.start(machine);
            std::vector<Buffer<int>> all;
            while (auto buffer = reader.read()) {
                ASSERT_EQ((*buffer)[0], static_cast<int>(all.size()) % count);
                all.push_back(std::move(*buffer));
            }
            ASSERT_EQ(all.size(), static_cast<std::size_t>(count));
            Buffer<int> last = std::move(all.front());
            all.clear();
            run.finish();
            dropper.drop_soon(std::move(last));
        }  // the run ends here, while the other thread drops the buffer
        dropper.wait();
    }
}

TEST(Pool, a_buffer_is_dropped_on_one_thread_while_another_ends_the_run) { drop_while_the_run_ends(0); }
TEST(Pool, a_buffer_of_a_bounded_pool_is_dropped_on_one_thread_while_another_ends_the_run) {
    drop_while_the_run_ends(64);
}

/// Passes on, and keeps a few before it drops them.
struct Keeper {
    penstock::Input<int> in{"in"};
    std::vector<Buffer<int>> kept;
    int count = 0;
    void operator()() {
        kept.push_back(in.read());
        ++count;
        if (kept.size() == 5) kept.erase(kept.begin(), kept.begin() + 3);
    }
};

struct Passer {
    penstock::Input<int> in{"in"};
    penstock::Output<int> out{"out"};
    void operator()() {
        const auto from = in.read();
        auto to = out.make(1);
        to.edit()[0] = from[0];
        out.write(std::move(to));
    }
};

/// The reader runs on the thread that the writer ran on: it puts blocks back while the edit takes the writer apart.
TEST(Pool, a_filter_is_replaced_while_its_reader_has_blocks_of_it) {
    Machine machine({.targets = 1});
    const int times = rounds() / 10;
    constexpr int count = 400;
    for (int round = 0; round < times; ++round) {
        Graph graph;
        auto& source = graph.add<parts::Numbers>("source", {}, count);
        auto* passer = &graph.add<Passer>("passer", {.targets = {0}});
        auto& keeper = graph.add<Keeper>("keeper", {.targets = {0}});
        graph.connect(source.out, passer->in);
        graph.connect(passer->out, keeper.in);
        auto run = graph.start(machine);
        for (int edits = 0; edits < 3; ++edits) {
            try {
                run.edit(
                    [&](penstock::Edit& edit) { passer = &edit.replace<Passer>(*passer, penstock::Removal::finish); });
            } catch (const penstock::RunEnded&) {
                break;
            } catch (const penstock::GraphError&) {  // the keeper has ended
                break;
            }
        }
        run.finish();
        ASSERT_EQ(keeper.count, count) << "round " << round;
    }
}

/// Each third firing asks for more than there is, and fails.
struct Greedy {
    penstock::Output<int> out{"out"};
    int firings = 0, written = 0, count;
    explicit Greedy(int n) : count(n) {}
    bool operator()() {
        if (++firings % 3 == 0) (void)out.make(std::size_t{1} << 58);
        auto buffer = out.make(16);
        buffer.edit()[0] = written;
        out.write(std::move(buffer));
        return ++written < count;
    }
};

TEST(Pool, blocks_that_have_come_back_stay_when_one_of_them_cannot_grow) {
    Machine machine({.targets = 1});
    constexpr int count = 100;
    Graph graph;
    auto& greedy = graph.add<Greedy>("greedy", {.on_failure = penstock::OnFailure::go_on, .pool = 2}, count);
    auto& collect = graph.add<parts::Collect>("collect");
    graph.connect(greedy.out, collect.in);
    auto run = graph.start(machine);
    try {
        run.finish();
        ADD_FAILURE();
    } catch (const penstock::FilterFailed& failed) {
        EXPECT_THROW(std::rethrow_exception(failed.cause()), std::bad_alloc);
    }
    EXPECT_EQ(collect.got, parts::numbers(count));
}

}  // namespace pool_test
