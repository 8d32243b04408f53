// Chains: several calls issued as one task.
#include "penstock/chain.hpp"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

using In = std::span<const float>;
using Out = std::span<float>;

void twice(In x, Out y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 2 * x[i];
}
void add_to(In x, Out y, float a) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}
void nothing() {}
void count(int& n) { ++n; }
void throw_text() { throw std::logic_error("the cause"); }

std::vector<float> numbers(std::size_t n) {
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), 1.0f);
    return x;
}

class Chains : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, Chains, testing::Values(0, 1, 2));

TEST_P(Chains, run_their_steps_in_order_with_the_arguments_of_each_issue) {
    Chain<In, Out, float> chain("polynomial");
    auto [x, y, a] = chain.parameters();
    auto t = chain.local<float>(100);
    chain.add<twice>(in(x), out(t));
    chain.add<twice>(in(t), out(y));
    chain.add<add_to>(in(t), inout(y), a);
    EXPECT_EQ(chain.size(), 3u);
    for (int round = 0; round < 300; ++round) {
        const auto input = numbers(100);
        std::vector<float> result(100, -1.0f);
        const auto factor = static_cast<float>(round);
        machine.call(chain, in(input), out(result), factor).wait();
        for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(result[i], 4 * input[i] + factor * 2 * input[i]);
    }
}

TEST_P(Chains, may_be_issued_many_at_once_and_to_a_named_target) {
    Chain<int&> chain;
    auto [n] = chain.parameters();
    for (int i = 0; i < 5; ++i) chain.add<count>(inout(n));
    std::vector<int> counts(scaled(20000, 2000));
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (machine.targets() != 0 && i % 3 == 0)
            machine.on(static_cast<int>(i) % machine.targets()).call(chain, inout(counts[i]));
        else machine.call(chain, inout(counts[i]));
    }
    machine.barrier();
    for (int n_counted : counts) ASSERT_EQ(n_counted, 5);
}

TEST_P(Chains, without_steps_or_without_parameters_are_legal) {
    Chain<> empty;
    EXPECT_NO_THROW(machine.call(empty).wait());
    int n = 0;
    Chain<> literal;
    literal.add<count>(inout(n)).add<nothing>().add<count>(inout(n));
    literal.add([&n](int k) { n += k; }, 40);
    machine.call(literal).wait();
    EXPECT_EQ(n, 42);
}

TEST_P(Chains, pass_data_through_memory_of_the_local_store_that_blocks_share_when_they_can) {
    Chain<In, Out> chain;
    auto [x, y] = chain.parameters();
    constexpr std::size_t n = 1024;
    auto a = chain.local<float>(n), b = chain.local<float>(n), c = chain.local<float>(n), d = chain.local<float>(n);
    chain.add<twice>(in(x), out(a));
    chain.add<twice>(in(a), out(b));
    chain.add<twice>(in(b), out(c));
    chain.add<twice>(in(c), out(d));
    chain.add<twice>(in(d), out(y));
    // Two of them live at any time.
    EXPECT_EQ(chain.local_bytes(), 2 * n * sizeof(float));
    const auto input = numbers(n);
    std::vector<float> result(n);
    machine.call(chain, in(input), out(result)).wait();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], 32 * input[i]);
}

void fill(std::span<int> x, int value) { std::fill(x.begin(), x.end(), value); }
void check(std::span<const int> x, int value, int& wrong) {
    for (int v : x) wrong += v != value;
}

TEST_P(Chains, keep_blocks_apart_whose_lives_meet) {
    // Blocks of many sizes, each filled by one step and checked and kept by a later one: any overlap would show.
    for (unsigned seed = 1; seed < 40; ++seed) {
        Chain<int&> chain;
        auto [wrong] = chain.parameters();
        std::vector<std::pair<ChainSpan<int>, int>> alive;
        unsigned random = seed * 2654435761u;
        const auto next = [&](unsigned below) {
            return random = random * 1664525u + 1013904223u, (random >> 8) % below;
        };
        std::size_t sum = 0;
        for (int step = 0; step < 40; ++step) {
            if (alive.empty() || next(5) < 3) {
                const std::size_t size = 1 + next(300);
                sum += size * sizeof(int);
                alive.emplace_back(chain.local<int>(size), step);
                chain.add<fill>(out(alive.back().first), step);
            } else {
                const auto which = alive.begin() + next(static_cast<unsigned>(alive.size()));
                chain.add<check>(in(which->first), which->second, inout(wrong));
                alive.erase(which);
            }
        }
        for (auto& [block, value] : alive) chain.add<check>(in(block), value, inout(wrong));
        EXPECT_LT(chain.local_bytes(), sum + 40 * LocalStore::alignment);
        int found = 0;
        machine.call(chain, inout(found)).wait();
        EXPECT_EQ(found, 0) << "seed " << seed;
    }
}

void halve_columns(view<const float, 2> x, view<float, 2> y) {
    for (std::size_t i = 0; i < y.extent(0); ++i)
        for (std::size_t j = 0; j < y.extent(1); ++j) y(i, j) = x(i, 2 * j) + x(i, 2 * j + 1);
}
void add_all(In x, double& sum) { sum = std::accumulate(x.begin(), x.end(), 0.0); }
void first_of(std::span<const float, 3> x, float& y) { y = x[0]; }

TEST_P(Chains, take_views_parts_objects_and_spans_of_fixed_extent) {
    Chain<view<const float, 2>, view<float, 2>, double&, Out> chain;
    auto [x, y, sum, rest] = chain.parameters();
    auto t = chain.local<float>(4, 4);
    chain.add<halve_columns>(in(x), out(t));
    chain.add<halve_columns>(in(t), out(y));
    chain.add<add_all>(in(t.flat()), out(sum));
    chain.add<twice>(in(t.flat().first(3)), out(rest.subspan(2, 3)));
    chain.add<first_of>(in(rest.subspan(2, 3)), out(rest.first(1)));
    auto input = numbers(4 * 10);
    std::vector<float> output(4 * 5, -1.0f), others(6, -1.0f);
    double total = 0;
    machine
        .call(chain, in(view<float, 2>(input.data(), 4, 8, 10)), out(view<float, 2>(output.data(), 4, 2, 5)),
              out(total), inout(others))
        .wait();
    double expected = 0;
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 8; ++j) expected += input[10 * i + j];
    EXPECT_EQ(total, expected);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(output[5 * i], input[10 * i] + input[10 * i + 1] + input[10 * i + 2] + input[10 * i + 3]);
        EXPECT_EQ(output[5 * i + 2], -1.0f);
    }
    EXPECT_EQ(others, (std::vector<float>{6, -1, 6, 14, 22, -1}));
}

TEST_P(Chains, gather_strided_and_staged_arguments_once_for_all_steps) {
    Chain<In, Out> chain;
    auto [x, y] = chain.parameters();
    chain.add<twice>(in(x), out(y));
    chain.add<add_to>(staged(in(x)), staged(inout(y)), 1.0f);
    auto input = numbers(40);
    std::vector<float> output(60, -1.0f);
    machine.call(chain, in(view<float, 1>(input.data(), {20}, {2})), out(view<float, 1>(output.data(), {20}, {3})))
        .wait();
    for (std::size_t i = 0; i < 60; ++i) ASSERT_EQ(output[i], i % 3 == 0 ? 3 * input[2 * (i / 3)] : -1.0f);
    machine.call(chain, staged(in(input)), staged(out(std::span(output).first(40)))).wait();
    for (std::size_t i = 0; i < 40; ++i) ASSERT_EQ(output[i], 3 * input[i]);
}

TEST_P(Chains, stop_at_a_step_that_throws_and_name_it) {
    int before = 0, after = 0;
    Chain<> chain("of three");
    chain.add<count>(inout(before)).add<throw_text>().add<count>(inout(after));
    for (int round = 0; round < 3; ++round) {
        try {
            machine.call(chain).wait();
            FAIL() << "nothing was thrown";
        } catch (const TaskFailed& failed) {
            EXPECT_NE(failed.task().find("throw_text"), std::string::npos) << failed.task();
            EXPECT_NE(failed.task().find("step 2 of 3 of chain of three"), std::string::npos) << failed.task();
            EXPECT_THROW(std::rethrow_exception(failed.cause()), std::logic_error);
        }
    }
    EXPECT_EQ(before, 3);
    EXPECT_EQ(after, 0);
    Chain<> alone;
    alone.add<throw_text>();
    for (int i = 0; i < 10; ++i) machine.call(alone);
    try {
        machine.barrier();
        FAIL() << "nothing was thrown";
    } catch (const TaskFailed& failed) {
        EXPECT_EQ(failed.others(), 9u);
    }
}

TEST_P(Chains, free_their_local_memory_also_when_a_step_throws) {
    Chain<int> chain;
    auto [odd] = chain.parameters();
    // Nearly the whole local store, so that a second one beside it would not fit.
    auto block = chain.local<char>(100 * 1024);
    chain.add([](std::span<char> x) { std::fill(x.begin(), x.end(), 'x'); }, out(block));
    chain.add(
        [](std::span<const char> x, int n) {
            if (x[5] != 'x') throw std::runtime_error("lost");
            if (n % 2 == 1) throw std::logic_error("odd");
        },
        in(block), odd);
    std::vector<Handle> handles;
    for (int i = 0; i < 20; ++i) handles.push_back(machine.call(chain, i));
    for (int i = 0; i < 20; ++i) {
        if (i % 2 == 0) EXPECT_NO_THROW(handles[static_cast<std::size_t>(i)].wait());
        else
            EXPECT_NE(message_of<TaskFailed>([&] { handles[static_cast<std::size_t>(i)].wait(); }).find("odd"),
                      std::string::npos);
    }
}

TEST_P(Chains, may_change_and_end_while_what_was_issued_runs_as_it_was) {
    Gate gate;
    std::atomic<int> sum{0};
    const auto add = [&sum](int n) { sum.fetch_add(n); };
    if (machine.targets() == 0) gate.open();
    Handle first, second;
    {
        Chain<> chain;
        chain.add([&gate] {
            if (!gate.wait()) throw std::runtime_error("the gate stayed shut");
        });
        chain.add(add, 1);
        first = machine.call(chain);
        chain.add(add, 10);
        second = machine.call(chain);
        Chain<> moved(std::move(chain));
        moved.add(add, 100);
        machine.call(moved);
    }
    const auto before = LetGo::sweep();
    EXPECT_EQ(before, machine.targets() == 0 ? 0u : 3u);
    gate.open();
    machine.barrier();
    EXPECT_EQ(sum.load(), 1 + 11 + 111);
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(Chains, that_are_cancelled_run_no_step_and_are_let_go_of) {
    if (machine.targets() != 1) GTEST_SKIP() << "needs one target that is kept busy";
    Gate gate;
    std::atomic<int> ran{0};
    machine.call([&gate] { static_cast<void>(gate.wait()); });
    Handle cancelled;
    {
        Chain<> chain;
        chain.add([&ran] { ran.fetch_add(1); });
        cancelled = machine.on(0).call(chain);
        machine.call(chain);
        EXPECT_TRUE(cancelled.cancel());
    }
    gate.open();
    EXPECT_THROW(cancelled.wait(), TaskCancelled);
    machine.barrier();
    EXPECT_EQ(ran.load(), 1);
    EXPECT_EQ(LetGo::sweep(), 0u);
}

TEST_P(Chains, are_issued_by_several_threads_at_once) {
    Chain<int&, int> chain;
    auto [n, k] = chain.parameters();
    auto one = chain.local<int>(1);
    chain.add([](int& to, int from) { to = from; }, out(one), k);
    chain.add([](const int& from, int& to) { to += from; }, in(one), inout(n));
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 1; t <= 4; ++t)
        threads.emplace_back([&, t] {
            std::vector<int> sums(scaled(2000, 200), 0);
            for (int round = 0; round < 3; ++round) {
                for (int& sum : sums) machine.call(chain, inout(sum), t);
                machine.barrier();
            }
            for (int sum : sums) wrong += sum != 3 * t;
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Chains, are_issued_inside_tasks_and_their_steps_issue_tasks) {
    std::vector<int> counts(50, 0);
    Chain<int&> inner;
    auto [n] = inner.parameters();
    inner.add<count>(inout(n)).add<count>(inout(n));
    Chain<std::span<int>> outer;
    auto [all] = outer.parameters();
    outer.add(
        [this, &inner](std::span<int> x) {
            for (int& one : x) machine.call(inner, inout(one));
        },
        inout(all));
    outer.add(
        [this](std::span<int> x) {  // the children of a chain's steps are the chain's
            machine.barrier();
            for (int& one : x) one *= 10;
        },
        inout(all));
    machine.call(outer, inout(counts)).wait();
    for (int c : counts) ASSERT_EQ(c, 20);
}

TEST_P(Chains, refuse_at_the_issue_what_a_call_would_refuse) {
    Chain<In, Out> chain("checked");
    auto [x, y] = chain.parameters();
    chain.add<twice>(in(x.first(10)), out(y.subspan(5, 10)));
    auto buffer = numbers(30);
    const std::span all(buffer);
    EXPECT_THROW(machine.call(chain, in(all.first(20)), out(all.subspan(10, 20))), ArgumentError);
    EXPECT_THROW(machine.call(chain, in(std::span<const float>(static_cast<float*>(nullptr), 20)), out(all.first(20))),
                 ArgumentError);
    EXPECT_NE(message_of<ArgumentError>([&] {
                  machine.call(chain, in(all.first(9)), out(all.subspan(10, 15)));
              }).find("at least 10"),
              std::string::npos);
    EXPECT_NE(message_of<ArgumentError>([&] {
                  machine.call(chain, in(all.first(10)), out(all.subspan(10, 14)));
              }).find("at least 15"),
              std::string::npos);
    EXPECT_NO_THROW(machine.call(chain, in(all.first(10)), out(all.subspan(10, 15))).wait());

    Chain<Out> reads;
    auto [z] = reads.parameters();
    reads.add<add_to>(in(buffer), inout(z), 1.0f);
    std::vector<float> other(30);
    EXPECT_NE(message_of<ArgumentError>([&] { machine.call(reads, out(other)); }).find("inout"), std::string::npos);
    // What stands beside a parameter in one step must not meet it, whatever else is the same.
    EXPECT_NE(message_of<ArgumentError>([&] { machine.call(reads, inout(all.subspan(5, 5))); }).find("add_to"),
              std::string::npos);
    EXPECT_NO_THROW(machine.call(reads, inout(other)).wait());
    machine.barrier();

    Chain<> large;
    auto block = large.local<char>(std::size_t{1} << 31);
    large.add([](std::span<char>) {}, out(block));
    EXPECT_NE(message_of<UsageError>([&] { machine.call(large); }).find("2147483648"), std::string::npos);
    EXPECT_EQ(LetGo::sweep(), 0u);  // what was refused counts as no use
}

TEST(ChainsAsTheyAreWritten, refuse_wrong_steps_and_stay_as_they_were) {
    Chain<In, Out, std::span<float, 4>> chain;
    auto [x, y, four] = chain.parameters();
    auto t = chain.local<float>(16);
    EXPECT_THROW(chain.add<twice>(in(t), out(y)), ArgumentError) << "read before written";
    EXPECT_THROW(chain.add<add_to>(in(x), inout(t), 1.0f), ArgumentError) << "inout before written";
    chain.add<twice>(in(x), out(t));
    EXPECT_THROW(chain.add<twice>(in(t.first(10)), out(t.subspan(9, 7))), ArgumentError) << "overlap within a step";
    EXPECT_NO_THROW(chain.add<twice>(in(t.first(8)), out(t.subspan(8, 8))));
    EXPECT_THROW(chain.add<twice>(in(y), out(y)), ArgumentError);
    EXPECT_NO_THROW(chain.add<twice>(in(y.first(4)), out(y.subspan(4, 4))));
    EXPECT_THROW(t.subspan(10, 7), UsageError);
    EXPECT_THROW(four.first(5), UsageError);
    Chain<Out> other;
    EXPECT_THROW(other.add<twice>(in(x), out(std::get<0>(other.parameters()))), UsageError)
        << "another chain's parameter";
    EXPECT_THROW(chain.add<first_of>(in(t.first(4)), out(four.first(1))), ArgumentError) << "a fixed extent";
    EXPECT_THROW(chain.local<float>(std::size_t{1} << 32), UsageError);
    EXPECT_EQ(chain.size(), 3u);
    EXPECT_EQ(other.size(), 0u);
}

TEST(ChainsAsTheyAreWritten, hold_each_issue_against_what_a_step_takes) {
    Machine machine(with_targets(1));
    Chain<In, float&> chain;
    auto [x, y] = chain.parameters();
    chain.add<first_of>(in(x), out(y));
    auto input = numbers(4);
    float result = 0;
    EXPECT_NE(message_of<ArgumentError>([&] { machine.call(chain, in(input), out(result)); }).find("need 3"),
              std::string::npos);
    machine.call(chain, in(std::span(input).first(3)), out(result)).wait();
    EXPECT_EQ(result, 1.0f);
}

}  // namespace
