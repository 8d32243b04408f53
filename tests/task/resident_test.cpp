// Resident data: sent once to each target that uses them, and accumulators.
#include "penstock/resident.hpp"

#include <atomic>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "penstock/chain.hpp"
#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

using In = std::span<const float>;

void where(In table, std::uintptr_t& at) { at = reinterpret_cast<std::uintptr_t>(table.data()); }
void sum_of(In table, double& sum) { sum = std::accumulate(table.begin(), table.end(), 0.0); }
void count_in(std::span<const int> values, std::span<long> histogram) {
    for (int v : values) ++histogram[static_cast<std::size_t>(v) % histogram.size()];
}

std::vector<float> all_of(std::size_t n, float value) { return std::vector<float>(n, value); }

class ResidentData : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, ResidentData, testing::Values(0, 1, 2));

TEST_P(ResidentData, are_copied_once_for_each_worker_and_stay_there) {
    std::vector<float> table = all_of(1000, 1.5f);
    const auto resident = machine.resident(table);
    EXPECT_EQ(resident.size(), 1000u);
    table.assign(1000, 0.0f);  // the caller's values are not needed any more
    std::vector<std::uintptr_t> places(200, 0);
    std::vector<double> sums(200, 0);
    for (std::size_t i = 0; i < places.size(); ++i) {
        machine.call<where>(in(resident), out(places[i]));
        machine.call<sum_of>(in(resident), out(sums[i]));
    }
    machine.barrier();
    std::map<std::uintptr_t, int> distinct;
    for (const auto place : places) ++distinct[place];
    EXPECT_LE(distinct.size(), static_cast<std::size_t>(machine.targets()) + 1);
    EXPECT_EQ(distinct.count(reinterpret_cast<std::uintptr_t>(table.data())), 0u);
    for (double sum : sums) ASSERT_EQ(sum, 1500.0);
    for (int t = 0; t < machine.targets(); ++t) {
        std::uintptr_t first = 0, second = 1;
        machine.on(t).call<where>(in(resident), out(first)).wait();
        machine.on(t).call<where>(in(resident), out(second)).wait();
        EXPECT_EQ(first, second);
        EXPECT_EQ(first % LocalStore::alignment, 0u);
    }
}

TEST_P(ResidentData, change_by_an_update_for_what_is_issued_after_it_only) {
    auto resident = machine.resident(all_of(64, 0.0f));
    std::vector<double> sums(300, -1);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (i % 10 == 0) resident.update(all_of(64, static_cast<float>(i / 10)));
        machine.call<sum_of>(in(resident), out(sums[i]));
    }
    EXPECT_EQ(resident.version(), 31u);
    machine.barrier();
    for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], 64.0 * static_cast<double>(i / 10));
    EXPECT_THROW(resident.update(all_of(63, 1.0f)), UsageError);
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(ResidentData, in_chains_are_those_of_each_issue) {
    auto resident = machine.resident(all_of(16, 1.0f));
    Chain<double&> chain;
    auto [result] = chain.parameters();
    auto t = chain.local<double>(1);
    chain.add<sum_of>(in(resident), out(t));
    chain.add([](std::span<const double> x, In table, double& y) { y = x[0] + table[3]; }, in(t), in(resident),
              out(result));
    std::vector<double> results(100, -1);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (i == 50) resident.update(all_of(16, 2.0f));
        machine.call(chain, out(results[i]));
    }
    machine.barrier();
    for (std::size_t i = 0; i < results.size(); ++i) ASSERT_EQ(results[i], i < 50 ? 17.0 : 34.0);
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(ResidentData, outlive_their_object_until_the_tasks_have_ended) {
    Gate gate;
    if (machine.targets() == 0) gate.open();
    double sum = 0;
    {
        const auto resident = machine.resident(all_of(100, 2.0f));
        machine.call(
            [&gate](In table, double& y) {
                if (!gate.wait()) throw std::runtime_error("the gate stayed shut");
                y = std::accumulate(table.begin(), table.end(), 0.0);
            },
            in(resident), out(sum));
    }
    EXPECT_EQ(LetGo::sweep(), machine.targets() == 0 ? 0u : 1u);
    gate.open();
    machine.barrier();
    EXPECT_EQ(sum, 200.0);
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(ResidentData, larger_than_the_local_store_are_refused_with_sizes) {
    MachineOptions options = with_targets(GetParam());
    options.local_store = 4096;
    Machine small(options);
    const auto message = message_of<UsageError>([&] { small.resident(all_of(1025, 0.0f)); });
    EXPECT_NE(message.find("4100"), std::string::npos) << message;
    EXPECT_NE(message.find("4096"), std::string::npos) << message;
    {
        const auto half = small.resident(all_of(512, 0.0f));
        EXPECT_NE(message_of<UsageError>([&] { small.resident(all_of(600, 0.0f)); }).find("2048"), std::string::npos);
        EXPECT_NO_THROW(small.resident(all_of(512, 0.0f)));
    }
    EXPECT_NO_THROW(small.resident(all_of(1024, 0.0f)));
}

TEST_P(ResidentData, of_another_machine_or_of_a_wrong_size_are_refused) {
    Machine other(with_targets(1));
    const auto elsewhere = other.resident(all_of(4, 1.0f));
    double sum = 0;
    EXPECT_THROW(machine.call<sum_of>(in(elsewhere), out(sum)), UsageError);
    Chain<double&> chain;
    auto [y] = chain.parameters();
    chain.add<sum_of>(in(elsewhere), out(y));
    EXPECT_THROW(machine.call(chain, out(sum)), UsageError);
    const auto here = machine.resident(all_of(4, 1.0f));
    EXPECT_THROW(machine.call([](std::span<const float, 3>) {}, in(here)), ArgumentError);
    EXPECT_THROW(machine.call([](const float&) {}, in(here)), ArgumentError);
    const auto one = machine.resident(2.5f);
    float value = 0;
    machine.call([](const float& from, float& to) { to = from; }, in(one), out(value)).wait();
    EXPECT_EQ(value, 2.5f);
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(ResidentData, of_tasks_that_are_cancelled_or_throw_are_let_go_of) {
    if (machine.targets() != 1) GTEST_SKIP() << "needs one target that is kept busy";
    Gate gate;
    {
        const auto resident = machine.resident(all_of(4, 1.0f));
        machine.call([&gate] { static_cast<void>(gate.wait()); });
        const auto cancelled = machine.on(0).call([](In) {}, in(resident));
        EXPECT_TRUE(cancelled.cancel());
        machine.on(0).call([](In) { throw std::runtime_error("once"); }, in(resident));
        gate.open();
        EXPECT_THROW(cancelled.wait(), TaskCancelled);
        EXPECT_THROW(machine.barrier(), TaskFailed);
    }
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(ResidentData, are_used_and_updated_by_several_threads_at_once) {
    auto resident = machine.resident(all_of(32, 0.0f));
    std::atomic<int> wrong{0};
    std::atomic<bool> over{false};
    std::thread updates([&] {
        for (int i = 1; i <= scaled(60, 20); ++i) {
            resident.update(all_of(32, static_cast<float>(i)));
            std::this_thread::yield();
        }
        over = true;
    });
    std::vector<std::thread> users;
    for (int t = 0; t < 3; ++t)
        users.emplace_back([&] {
            Chain<double&> chain;
            auto [y] = chain.parameters();
            chain.add<sum_of>(in(resident), out(y));
            double before = 0;
            while (!over) {
                double sum = -1, chained = -1;
                machine.call<sum_of>(in(resident), out(sum)).wait();
                machine.call(chain, out(chained)).wait();
                wrong += sum < before || chained < sum || static_cast<int>(chained) % 32 != 0;
                before = chained;
            }
        });
    updates.join();
    for (auto& user : users) user.join();
    EXPECT_EQ(wrong.load(), 0);
    machine.finish();
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(ResidentData, as_accumulators_are_changed_by_tasks_and_put_together_at_the_end) {
    auto histogram = machine.accumulator(std::vector<long>(10, 0));
    std::vector<int> values(4000);
    std::iota(values.begin(), values.end(), 0);
    Chain<std::span<const int>> chain;
    auto [some] = chain.parameters();
    chain.add<count_in>(in(some.first(10)), inout(histogram));
    chain.add<count_in>(in(some.subspan(10, 10)), inout(histogram));
    const auto add = [](long& into, long from) { into += from; };
    for (int round = 1; round <= 2; ++round) {
        for (std::size_t i = 0; i < values.size(); i += 40) {
            machine.call<count_in>(in(std::span(values).subspan(i, 20)), inout(histogram));
            machine.call(chain, in(std::span(values).subspan(i + 20, 20)));
        }
        machine.barrier();
        EXPECT_EQ(histogram.collect(add), std::vector<long>(10, 400 * round));
    }
    long total = 0;
    std::size_t copies = 0;
    histogram.each_copy([&](int worker, std::span<const long> copy) {
        EXPECT_GE(worker, 0);
        ++copies;
        total += std::accumulate(copy.begin(), copy.end(), 0L);
    });
    EXPECT_EQ(total, 8000);
    EXPECT_LE(copies, static_cast<std::size_t>(machine.targets()) + 1);
    histogram.update(std::vector<long>(10, 7));
    EXPECT_EQ(histogram.collect(add), std::vector<long>(10, 7));
    EXPECT_THROW(machine.call([](std::span<const long>, std::span<long>) {}, in(histogram), inout(histogram)),
                 ArgumentError);
}

TEST_P(ResidentData, that_tasks_still_change_are_not_collected) {
    if (machine.targets() == 0) GTEST_SKIP() << "tasks run inside their calls";
    Gate gate;
    auto sum = machine.accumulator(0L);
    machine.call([&gate](long& x) { x += gate.wait() ? 1 : 100; }, inout(sum));
    const auto add = [](long& into, long from) { into += from; };
    EXPECT_THROW(sum.collect(add), UsageError);
    gate.open();
    machine.barrier();
    EXPECT_EQ(sum.collect(add), std::vector<long>{1});
}

TEST_P(ResidentData, beside_an_argument_that_cannot_be_staged_are_given_back) {
    // More than any memory could hold a copy of: 2^64 - 64 bytes. Nobody looks at them.
    const std::byte one{};
    constexpr std::size_t quarter = std::size_t{1} << 62;
    const std::vector<std::span<const std::byte>> list{
        {&one, quarter}, {&one, quarter}, {&one, quarter}, {&one, quarter - 64}};
    const pieces<const std::byte> endless(list);
    using Endless = std::span<const std::byte>;
    auto sum = machine.accumulator(0L);
    const auto add = [](long& into, long from) { into += from; };
    machine.call([](long& x, Endless) { ++x; }, inout(sum), in(endless));
    machine.call([](Endless, long& x) { ++x; }, in(endless), inout(sum));
    EXPECT_THROW(machine.barrier(), TaskFailed);
    EXPECT_EQ(sum.collect(add), std::vector<long>{0});

    machine.call([](long& x) { ++x; }, inout(sum));
    machine.barrier();
    EXPECT_EQ(sum.collect(add), std::vector<long>{1});
}

TEST_P(ResidentData, of_a_chain_whose_argument_cannot_be_staged_are_given_back) {
    if (penstock_tests::sanitized) GTEST_SKIP() << "sanitizers end a program that asks for so much memory";
    struct Large {
        std::byte bytes[std::size_t{1} << 20];
    };
    using Pages = std::span<const Large>;
    const auto* const nowhere = reinterpret_cast<const Large*>(std::uintptr_t{1} << 46);
    auto sum = machine.accumulator(0L);
    const auto add = [](long& into, long from) { into += from; };
    Chain<Pages> chain;
    auto [unused] = chain.parameters();
    chain.add([](long& x, Pages) { ++x; }, inout(sum), in(unused));
    machine.call(chain, staged(in(Pages(nowhere, UINT32_MAX))));  // 2^52 bytes
    EXPECT_THROW(machine.barrier(), TaskFailed);
    EXPECT_EQ(sum.collect(add), std::vector<long>{0});
}

}  // namespace
