// Every way that a user can choose gives the same results (contract 2; TPC's mechanisms), and full is what the user
// chose it to be.
#include <atomic>
#include <string>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void add(std::span<const int> x, std::span<int> y, int a) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] += a * x[i];
}

using Way = std::tuple<Distribution, Completion, Initiation, WhenFull>;
class Ways : public testing::TestWithParam<Way> {};

TEST_P(Ways, give_the_same_results_at_every_depth) {
    for (const std::uint32_t depth : {1u, 2u, 3u, 64u, 1024u}) {
        MachineOptions options = with_targets(2);
        std::tie(options.distribution, options.completion, options.initiation, options.when_full) = GetParam();
        options.depth = depth;
        Machine machine(options);
        std::vector<int> x(4, 3);
        std::vector<std::vector<int>> y(300, std::vector<int>(4, 1));
        int refused = 0;
        const auto call = [&](std::vector<int>& to, int a, int target) {
            for (;;) {
                try {
                    return target < 0 ? machine.call<add>(in(x), inout(to), a)
                                      : machine.on(target).call<add>(in(x), inout(to), a);
                } catch (const QueueFull&) {
                    ++refused;
                    machine.barrier();
                }
            }
        };
        for (int i = 0; i < 300; ++i) call(y[static_cast<std::size_t>(i)], i, i % 3 == 0 ? i % 2 : -1);
        machine.barrier();
        for (int i = 0; i < 300; ++i)
            ASSERT_EQ(y[static_cast<std::size_t>(i)], std::vector<int>(4, 1 + 3 * i)) << "depth " << depth;
        for (int i = 0; i < 100; ++i) call(y[0], 1, i % 5 == 4 ? 1 : -1).wait();  // lone exchanges
        ASSERT_EQ(y[0][3], 1 + 300);
        EXPECT_TRUE(options.when_full == WhenFull::refuse || refused == 0);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Ways,
                         testing::Combine(testing::Values(Distribution::balanced, Distribution::round_robin,
                                                          Distribution::least_loaded),
                                          testing::Values(Completion::automatic, Completion::slot, Completion::line),
                                          testing::Values(Initiation::push, Initiation::pull),
                                          testing::Values(WhenFull::defer, WhenFull::wait, WhenFull::refuse)));

/// A machine with one target that is busy until the gate opens.
class Full : public testing::Test {
  protected:
    void start(MachineOptions options) {
        options.targets = 1;
        machine.emplace(options);
        machine->on(0).call(boxed([this] {
            inside.store(true);
            gate.wait();
        }));
        ASSERT_TRUE(eventually([&] { return inside.load(); }));
    }
    void TearDown() override { gate.open(); }

    Gate gate;
    std::atomic<bool> inside{false};
    std::optional<Machine> machine;
    std::atomic<int> ran{0};
};

TEST_F(Full, a_lane_refuses_when_the_user_chose_that_and_takes_tasks_again_afterwards) {
    MachineOptions options;
    options.distribution = Distribution::round_robin;
    options.when_full = WhenFull::refuse;
    options.depth = 4;
    start(options);
    auto* const count = &ran;
    int taken = 0;
    const auto message = message_of<QueueFull>([&] {
        for (; taken < 1000; ++taken) machine->call([count] { count->fetch_add(1); });
    });
    EXPECT_EQ(taken, 3) << "one of four places is taken by the task that runs";
    EXPECT_NE(message.find("depth"), std::string::npos) << message;
    gate.open();
    machine->barrier();
    EXPECT_EQ(ran.load(), taken);
    machine->call([count] { count->fetch_add(1); }).wait();
    EXPECT_EQ(ran.load(), taken + 1);
}

TEST(NamedTarget, gets_its_tasks_in_order_also_those_that_its_lane_does_not_hold) {
    auto options = with_targets(2);
    options.depth = 4;
    Machine machine(options);
    expect_order_on_named_target(machine, 1);
}

TEST_F(Full, a_deque_holds_what_its_limit_says_and_then_refuses) {
    for (const std::size_t limit : {std::size_t{1}, std::size_t{16}, std::size_t{1000}}) {
        Gate local;
        std::atomic<bool> in{false};
        MachineOptions options = with_targets(1);
        options.when_full = WhenFull::refuse;
        options.pending_limit = limit;
        Machine small(options);
        small.on(0).call(boxed([&] {
            in.store(true);
            local.wait();
        }));
        ASSERT_TRUE(eventually([&] { return in.load(); }));
        auto* const count = &ran;
        ran.store(0);
        std::size_t taken = 0;
        EXPECT_THROW(for (; taken < 100'000; ++taken) small.call([count] { count->fetch_add(1); }), QueueFull);
        EXPECT_GE(taken, limit);
        EXPECT_LE(taken, 2 * limit + options.depth);
        local.open();
        small.finish();
        EXPECT_EQ(static_cast<std::size_t>(ran.load()), taken);
    }
}

TEST_F(Full, a_lane_makes_the_initiator_wait_when_the_user_chose_that) {
    MachineOptions options;
    options.distribution = Distribution::round_robin;
    options.when_full = WhenFull::wait;
    options.depth = 2;
    start(options);
    auto* const count = &ran;
    std::atomic<int> issued{0};
    std::thread issuer([&] {
        for (int i = 0; i < 10; ++i) {
            machine->call([count] { count->fetch_add(1); });
            issued.fetch_add(1);
        }
        machine->barrier();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(issued.load(), 2) << "the third call has to wait";
    gate.open();
    issuer.join();
    EXPECT_EQ(ran.load(), 10);
}

TEST_F(Full, a_deque_with_a_small_limit_makes_the_initiator_wait_and_loses_nothing) {
    MachineOptions options;
    options.pending_limit = 1;
    options.depth = 1;
    options.targets = 2;
    Machine small(options);
    auto* const count = &ran;
    for (int i = 0; i < 5000; ++i) small.call([count] { count->fetch_add(1); });
    small.barrier();
    EXPECT_EQ(ran.load(), 5000);
}

TEST_F(Full, no_limit_takes_a_hundred_thousand_tasks_that_wait) {
    MachineOptions options;
    options.pending_limit = 0;
    start(options);
    auto* const count = &ran;
    for (int i = 0; i < 100'000; ++i) machine->call([count] { count->fetch_add(1); });
    gate.open();
    machine->barrier();
    EXPECT_EQ(ran.load(), 100'000);
}

TEST(PrefetchChoice, does_not_change_results) {
    for (const auto prefetch : {Prefetch::measured, Prefetch::always, Prefetch::never}) {
        MachineOptions options = with_targets(1);
        options.prefetch = prefetch;
        Machine machine(options);
        std::vector<float> memory(512 * 512);
        const view<float, 2> matrix(memory.data(), 512, 512, 512);
        for (int round = 0; round < scaled(20, 3); ++round) {
            for (std::size_t i = 0; i < 512; i += 32)
                for (std::size_t j = 0; j < 512; j += 32)
                    machine.call(
                        [](view<float, 2> tile) {
                            for (std::size_t r = 0; r < tile.extent(0); ++r)
                                for (float& v : tile.row(r)) v += 1;
                        },
                        inout(matrix.part({i, j}, {32, 32})));
            machine.barrier();
        }
        for (float v : memory) ASSERT_EQ(v, static_cast<float>(scaled(20, 3)));
    }
}

}  // namespace
