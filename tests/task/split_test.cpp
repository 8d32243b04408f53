// One call as several: who gets which part, what is refused, and what happens when a part throws.
#include "penstock/split.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "penstock/machine.hpp"

using namespace penstock;

namespace {

std::atomic<int> calls;
std::atomic<std::size_t> least, most;

void note(std::size_t size) {
    ++calls;
    for (auto now = least.load(); size < now && !least.compare_exchange_weak(now, size);) {
    }
    for (auto now = most.load(); size > now && !most.compare_exchange_weak(now, size);) {
    }
}

void forget() {
    calls = 0;
    least = ~std::size_t{0};
    most = 0;
}

void add(std::span<const int> a, std::span<int> sum, int more) {
    note(sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += a[i] + more;
}

void sum_of_rows(view<const int, 2> rows, std::span<const int> weights, std::span<int> sums) {
    note(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
        for (std::size_t j = 0; j < weights.size(); ++j) sums[i] += rows(i, j) * weights[j];
}

/// Each result is the sum of three neighbours.
void smooth(std::span<const int> padded, std::span<int> result) {
    note(result.size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = padded[i] + padded[i + 1] + padded[i + 2];
}

void halves(std::span<const int> pairs, std::span<int> result) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = pairs[2 * i] + pairs[2 * i + 1];
}

void throw_for_negative(std::span<const int> values, std::span<int> result) {
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (values[i] < 0) throw std::runtime_error("a negative value");
        result[i] = values[i];
    }
}

std::vector<int> numbers(std::size_t size) {
    std::vector<int> made(size);
    std::iota(made.begin(), made.end(), 0);
    return made;
}

class SplitOn : public testing::TestWithParam<int> {};

TEST_P(SplitOn, every_item_is_in_one_part) {
    Machine machine{{.targets = GetParam()}};
    for (const std::size_t size : {0, 1, 2, 100, 4095, 4096, 4097, 100'000}) {
        const auto a = numbers(size);
        std::vector<int> sum(size, 1), expected(size);
        for (std::size_t i = 0; i < size; ++i) expected[i] = a[i] + 6;
        forget();
        split<add>(machine, in(a), inout(sum), 5);
        EXPECT_EQ(sum, expected) << size;
        EXPECT_LE(calls, GetParam() + 1);
    }
}

TEST_P(SplitOn, much_work_is_shared_by_all_and_little_is_one_call) {
    Machine machine{{.targets = GetParam()}};
    const auto a = numbers(1 << 20);
    std::vector<int> sum(a.size());
    forget();
    split<add>(machine, in(a), inout(sum), 0);
    EXPECT_EQ(calls, GetParam() + 1);
    EXPECT_LE(most - least, 64u * static_cast<unsigned>(GetParam() + 1)) << "parts of unequal size";
    forget();
    split<add>(machine, in(std::span(a).first(16)), inout(std::span(sum).first(16)), 0);
    EXPECT_EQ(calls, 1);
}

TEST_P(SplitOn, rows_of_a_view_are_cut_and_whole_arguments_are_not) {
    Machine machine{{.targets = GetParam()}};
    constexpr std::size_t rows = 300, columns = 40, pitch = 64;
    const auto values = numbers(rows * pitch);
    const auto weights = numbers(columns);
    std::vector<int> sums(rows), expected(rows);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) expected[i] += values[i * pitch + j] * weights[j];
    split<sum_of_rows>(machine, in(view<const int, 2>{values.data(), rows, columns, pitch}), whole(in(weights)),
                       inout(sums));
    EXPECT_EQ(sums, expected);
}

TEST_P(SplitOn, parts_read_what_overlaps_and_items_of_several_elements_stay_together) {
    Machine machine{{.targets = GetParam()}};
    constexpr std::size_t size = 50'000;
    const auto padded = numbers(size + 2);
    std::vector<int> result(size), expected(size);
    for (std::size_t i = 0; i < size; ++i) expected[i] = 3 * static_cast<int>(i) + 3;
    split<smooth>(machine, overlapping(in(padded), 2), out(result));
    EXPECT_EQ(result, expected);
    const auto pairs = numbers(2 * size);
    for (std::size_t i = 0; i < size; ++i) expected[i] = 4 * static_cast<int>(i) + 1;
    split<halves>(machine, in(pairs), out(result));
    EXPECT_EQ(result, expected);
}

TEST_P(SplitOn, what_a_part_throws_comes_when_all_have_ended) {
    Machine machine{{.targets = GetParam()}};
    auto values = numbers(100'000);
    values[70'000] = -1;
    std::vector<int> result(values.size(), -5);
    EXPECT_THROW(split<throw_for_negative>(machine, in(values), out(result)), TaskFailed);
    EXPECT_EQ(result[0], 0);
    EXPECT_EQ(machine.pending().tasks, 0u);
    values[70'000] = 70'000;
    split<throw_for_negative>(machine, in(values), out(result));
    EXPECT_EQ(result, values);
}

INSTANTIATE_TEST_SUITE_P(targets, SplitOn, testing::Values(0, 1, 3));

TEST(Split, extents_that_do_not_fit_are_refused_by_the_number_of_their_argument) {
    Machine machine{{.targets = 1}};
    const auto a = numbers(100);
    std::vector<int> sum(99);
    try {
        split<add>(machine, in(a), inout(sum), 0);
        FAIL() << "a span of 100 beside one of 99";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("argument 0 has 100 elements"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("whole(in("), std::string::npos) << error.what();
    }
    EXPECT_THROW((split<smooth>(machine, overlapping(in(a), 3), out(sum))), UsageError);
    EXPECT_THROW((split<smooth>(machine, overlapping(in(a), 101), out(sum))), UsageError);
    EXPECT_EQ(sum, std::vector<int>(99));
}

void split_in_task(Machine* machine, std::span<const int> a, std::span<int> sum) {
    split<add>(*machine, in(a), inout(sum), 1);
}

TEST(Split, works_inside_a_task) {
    Machine machine{{.targets = 2}};
    const auto a = numbers(50'000);
    std::vector<int> sum(a.size()), expected(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) expected[i] = a[i] + 1;
    machine.call<split_in_task>(&machine, in(a), inout(sum)).wait();
    EXPECT_EQ(sum, expected);
}

}  // namespace
