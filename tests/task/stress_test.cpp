// Everything at once, at random but from a fixed seed: several threads call, wait, cancel, nest and fail, and the sums
// must agree.
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void add_to(std::span<const std::uint32_t> x, std::span<std::uint32_t> y, std::uint32_t a) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}
void add_tile(view<std::uint32_t, 2> tile, std::uint32_t a) {
    for (std::size_t i = 0; i < tile.extent(0); ++i)
        for (std::size_t j = 0; j < tile.extent(1); ++j) tile(i, j) += a;
}
void tree(Machine* machine, int depth, std::atomic<std::uint64_t>* count) {
    count->fetch_add(1);
    for (int i = 0; i < (depth > 0 ? 3 : 0); ++i)
        machine->call([](Machine* m, int d, std::atomic<std::uint64_t>* c) { tree(m, d, c); }, machine, depth - 1,
                      count);
    if (depth == 2) machine->barrier();
}

class Player {
  public:
    Player(Machine& machine, unsigned seed) : machine_(machine), random_(seed), memory_(64 * 64), expected_(64 * 64) {}

    void play(int steps) {
        for (int step = 0; step < steps; ++step) move();
        machine_.barrier();
        while (trees_done_.load() != trees_expected_) std::this_thread::yield();
        ASSERT_EQ(memory_, expected_);
    }

  private:
    std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

    /// Each open task has a column of tiles of its own, so that no two of them touch the same memory.
    void move() {
        const auto a = static_cast<std::uint32_t>(pick(1000));
        const std::size_t column = pick(8);
        auto& last = columns_[column];
        const view<std::uint32_t, 2> all(memory_.data(), 64, 64, 64);
        const std::size_t rows = pick(9), row = pick(64 - rows + 1);
        const auto tile = all.part({row, column * 8}, {rows, 8});
        switch (pick(10)) {
            case 0:
            case 1:
            case 2: {
                last.wait(help);
                last = machine_.call<add_tile>(inout(tile), a);
                add(row, column, rows, a);
                break;
            }
            case 3: {
                last.wait();
                last = machine_.targets() > 0
                           ? machine_.on(static_cast<int>(pick(static_cast<std::size_t>(machine_.targets()))))
                                 .call<add_tile>(staged(inout(tile)), a)
                           : machine_.call<add_tile>(staged(inout(tile)), a);
                add(row, column, rows, a);
                break;
            }
            case 4: {  // contiguous for the task: gathered and scattered
                last.wait();
                std::array<std::uint32_t, 64> ones;
                ones.fill(1);
                machine_.call<add_to>(in(std::span(ones).first(rows * 8 == 0 ? 0 : rows * 8)), inout(tile), a)
                    .wait(help);
                add(row, column, rows, a);
                break;
            }
            case 5: {
                trees_expected_ += 40;
                machine_.call([](Machine* m, int d, std::atomic<std::uint64_t>* c) { tree(m, d, c); }, &machine_, 3,
                              &trees_done_);
                break;
            }
            case 6: {
                const auto failing =
                    machine_.call([](std::uint32_t n) { throw std::runtime_error(std::to_string(n)); }, a);
                EXPECT_THROW(failing.wait(), TaskFailed);
                break;
            }
            case 7: {
                last.wait();
                last = {};
                EXPECT_THROW(machine_.call<add_to>(in(memory_), inout(memory_), a), ArgumentError);
                break;
            }
            case 8: {
                std::atomic<int> ran{0};
                const auto handle = machine_.call([](std::atomic<int>* r) { r->fetch_add(1); }, &ran);
                handle.cancel();
                bool cancelled = false;
                try {
                    handle.wait();
                } catch (const TaskCancelled&) {
                    cancelled = true;
                }
                EXPECT_EQ(ran.load(), cancelled ? 0 : 1);
                break;
            }
            default: {
                if (pick(4) == 0) machine_.barrier();
                else wait_any(columns_);
            }
        }
    }
    void add(std::size_t row, std::size_t column, std::size_t rows, std::uint32_t a) {
        for (std::size_t i = row; i < row + rows; ++i)
            for (std::size_t j = column * 8; j < column * 8 + 8; ++j) expected_[i * 64 + j] += a;
    }

    Machine& machine_;
    std::mt19937 random_;
    std::vector<std::uint32_t> memory_, expected_;
    std::array<Handle, 8> columns_{};
    std::atomic<std::uint64_t> trees_done_{0};
    std::uint64_t trees_expected_ = 0;
};

TEST(Stress, random_use_from_several_threads_gives_the_sums_of_a_serial_run) {
    const int rounds = long_run() ? 200 : 1;
    unsigned seed = 1;
    for (int round = 0; round < rounds; ++round) {
        for (const auto distribution :
             {Distribution::balanced, Distribution::round_robin, Distribution::least_loaded}) {
            for (const std::uint32_t depth : {1u, 64u}) {
                for (int targets : {0, 1, 2, 3}) {
                    MachineOptions options = with_targets(targets);
                    options.distribution = distribution;
                    options.depth = depth;
                    options.pending_limit = depth == 1 ? 16 : 1u << 20;
                    options.prefetch = round % 2 == 0 ? Prefetch::always : Prefetch::measured;
                    Machine machine(options);
                    std::vector<std::thread> threads;
                    for (int t = 0; t < 3; ++t)
                        threads.emplace_back([&machine, s = seed++] { Player(machine, s).play(scaled(300, 40)); });
                    for (auto& thread : threads) thread.join();
                    machine.finish();
                }
            }
        }
    }
}

}  // namespace
