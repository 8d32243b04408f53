// Arguments that are copied into the local store and back: contract 10, "in place and staged give the same bits".
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void reverse_all(std::span<int> x) { std::reverse(x.begin(), x.end()); }
void sum_of(std::span<const int> x, long& sum) { sum = std::accumulate(x.begin(), x.end(), 0L); }
void count_up(std::span<int> x) { std::iota(x.begin(), x.end(), 1); }
void where_is(std::span<const int> x, const int*& data) { data = x.data(); }

class Staging : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, Staging, testing::Values(0, 1, 2));

TEST_P(Staging, gathers_a_strided_view_for_a_parameter_that_is_a_span) {
    std::vector<int> x(30);
    std::iota(x.begin(), x.end(), 0);
    long sum = 0;
    machine.call<sum_of>(in(view<const int, 2>(x.data() + 1, 3, 2, 10)), out(sum)).wait();
    EXPECT_EQ(sum, 1 + 2 + 11 + 12 + 21 + 22);
    machine.call<sum_of>(in(view<const int, 3>(x.data() + 29, {2, 2, 2}, {-10, -5, -2})), out(sum)).wait();
    EXPECT_EQ(sum, 29 + 27 + 24 + 22 + 19 + 17 + 14 + 12);
    machine.call<sum_of>(in(view<const int, 1>(x.data() + 3, {4}, {0})), out(sum)).wait();
    EXPECT_EQ(sum, 12);
}

TEST_P(Staging, scatters_results_back_and_touches_nothing_else) {
    std::vector<int> x(30, -1);
    machine.call<count_up>(out(view<int, 2>(x.data() + 1, 3, 2, 10))).wait();
    std::vector<int> expected(30, -1);
    expected[1] = 1, expected[2] = 2, expected[11] = 3, expected[12] = 4, expected[21] = 5, expected[22] = 6;
    EXPECT_EQ(x, expected);
    machine.call<reverse_all>(inout(view<int, 2>(x.data() + 1, 3, 2, 10))).wait();
    EXPECT_EQ(x[1], 6);
    EXPECT_EQ(x[22], 1);
}

TEST_P(Staging, gathers_and_scatters_pieces) {
    std::vector<int> a{1, 2}, b{3}, c{4, 5};
    const std::vector<std::span<int>> list{a, b, {}, c};
    machine.call<reverse_all>(inout(pieces<int>(list))).wait();
    EXPECT_EQ(a, (std::vector<int>{5, 4}));
    EXPECT_EQ(b, (std::vector<int>{3}));
    EXPECT_EQ(c, (std::vector<int>{2, 1}));
}

TEST_P(Staging, happens_when_asked_for_and_only_then) {
    std::vector<int> x(10, 3);
    const int* seen = nullptr;
    machine.call<where_is>(in(x), out(std::span(&seen, 1))).wait();
    EXPECT_EQ(seen, x.data());
    machine.call<where_is>(staged(in(x)), out(std::span(&seen, 1))).wait();
    EXPECT_NE(seen, x.data());
    machine.call<reverse_all>(staged(inout(x))).wait();
}

TEST_P(Staging, of_empty_arguments_runs_the_task) {
    long sum = 1;
    machine.call<sum_of>(staged(in(std::span<const int>())), out(sum)).wait();
    EXPECT_EQ(sum, 0);
    sum = 1;
    machine.call<sum_of>(in(view<const int, 3>(nullptr, {3, 0, 2})), out(sum)).wait();
    EXPECT_EQ(sum, 0);
}

TEST_P(Staging, of_a_single_object_writes_it_back) {
    int x = 1;
    machine.call([](int& v) { v += 4; }, staged(inout(x))).wait();
    EXPECT_EQ(x, 5);
}

TEST_P(Staging, keeps_views_contiguous_and_of_the_same_shape) {
    std::vector<int> x(30);
    std::iota(x.begin(), x.end(), 0);
    long sum = 0;
    bool contiguous = false;
    machine
        .call(
            [](view<const int, 2> v, long& s, bool& c) {
                c = v.contiguous() && v.extent(0) == 3 && v.extent(1) == 2;
                s = v(0, 0) + 10L * v(2, 1);
            },
            staged(in(view<const int, 2>(x.data() + 1, 3, 2, 10))), out(sum), out(contiguous))
        .wait();
    EXPECT_TRUE(contiguous);
    EXPECT_EQ(sum, 1 + 220);
}

TEST_P(Staging, does_not_write_back_after_a_failure) {  // contract 10: nothing else is touched
    std::vector<int> x(4, 7);
    const auto handle = machine.call(
        [](std::span<int> v) {
            std::fill(v.begin(), v.end(), 0);
            throw std::runtime_error("half way");
        },
        staged(inout(x)));
    EXPECT_THROW(handle.wait(), TaskFailed);
    EXPECT_EQ(x, std::vector<int>(4, 7));
}

TEST_P(Staging, of_more_than_the_local_store_holds_comes_from_the_heap) {
    std::vector<int> x(4 << 20);
    std::iota(x.begin(), x.end(), 0);
    auto expected = x;
    std::reverse(expected.begin(), expected.end());
    machine.call<reverse_all>(staged(inout(x))).wait();
    EXPECT_EQ(x, expected);
}

TEST_P(Staging, of_long_blocks_copies_every_byte_and_no_other) {  // which are copied in several parts at once
    const auto increase = [](std::span<unsigned char> v) {
        for (auto& byte : v) ++byte;
    };
    std::mt19937 random(19);
    for (const std::size_t length : {24 * 1024 - 1, 24 * 1024, 24 * 1024 + 1, 32'400, 65'536, 100'003}) {
        for (const std::size_t offset : {0, 1, 63, 64, 127}) {
            std::vector<unsigned char> x(length + 256);
            for (auto& byte : x) byte = static_cast<unsigned char>(random());
            auto expected = x;
            increase(std::span(expected).subspan(offset + 64, length));
            machine.call(increase, staged(inout(std::span(x).subspan(offset + 64, length)))).wait();
            ASSERT_EQ(x, expected) << length << " bytes from " << offset;
        }
    }
}

struct alignas(128) Line {
    int value = 1;
};

TEST_P(Staging, keeps_the_alignment_of_the_elements) {
    std::vector<Line> x(3);
    std::uintptr_t skew = 1;
    std::array<int, 3> odd{};  // moves the next block by less than the alignment
    const auto look = [](std::span<const int>, std::span<Line> v, std::uintptr_t& s) {
        s = reinterpret_cast<std::uintptr_t>(v.data()) % 128;
    };
    for (int i = 0; i < 4; ++i) {
        machine.call(look, staged(in(std::span<const int>(odd).first(0))), staged(inout(x)), out(skew)).wait();
        EXPECT_EQ(skew, 0u);
        machine.call(look, staged(in(odd)), staged(inout(x)), out(skew)).wait();
        EXPECT_EQ(skew, 0u);
    }
}

TEST_P(Staging, survives_tasks_that_run_inside_staged_tasks) {  // the local store is a stack
    std::vector<int> x(100, 1);
    long total = 0;
    machine
        .call(
            [this](std::span<int> outer, long& sum) {
                std::vector<int> inner(200, 2);
                std::vector<Handle> children;
                std::array<std::vector<int>, 5> data;
                for (auto& d : data) {
                    d.assign(50, 5);
                    children.push_back(machine.call<count_up>(staged(out(d))));
                }
                machine.barrier();
                for (const auto& d : data) sum += std::accumulate(d.begin(), d.end(), 0L);
                sum += std::accumulate(outer.begin(), outer.end(), 0L);
            },
            staged(inout(x)), inout(total))
        .wait();
    EXPECT_EQ(total, 5 * 1275 + 100);
}

/// Random strided shapes: a kernel that mixes its input gives the same bits in place, gathered for a span, and staged.
TEST_P(Staging, gives_the_same_bits_as_working_in_place) {
    std::mt19937 random(11);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const auto mix_view = [](view<const float, 2> x, view<float, 2> y) {
        float carry = 0.1f;
        for (std::size_t i = 0; i < x.extent(0); ++i)
            for (std::size_t j = 0; j < x.extent(1); ++j)
                y(i, j) = carry = carry * 0.75f + x(i, j) / 3.0f + y(i, j) * 0.01f;
    };
    const auto mix_span = [](std::span<const float> x, std::span<float> y) {
        float carry = 0.1f;
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = carry = carry * 0.75f + x[i] / 3.0f + y[i] * 0.01f;
    };
    for (int round = 0; round < scaled(300, 60); ++round) {
        const auto rows = static_cast<std::size_t>(pick(0, 9)), columns = static_cast<std::size_t>(pick(0, 9));
        const int pitch = static_cast<int>(columns) * 2 + pick(0, 5), step = pick(1, 2);
        std::vector<float> x(2000), y(2000);
        for (auto& v : x) v = static_cast<float>(pick(-1000, 1000)) / 7.0f;
        for (auto& v : y) v = static_cast<float>(pick(-1000, 1000)) / 7.0f;
        auto staged_y = y, gathered_y = y, serial = y;
        const bool backwards = pick(0, 1) == 1;
        const auto shape = [&](auto* p) {
            using T = std::remove_pointer_t<decltype(p)>;
            return view<T, 2>(p + 1000, {rows, columns}, {backwards ? -pitch : pitch, backwards ? -step : step});
        };
        mix_view(shape(static_cast<const float*>(x.data())), shape(serial.data()));
        machine.call(mix_view, in(shape(x.data())), inout(shape(y.data())));
        machine.call(mix_view, staged(in(shape(x.data()))), staged(inout(shape(staged_y.data()))));
        machine.call(mix_span, in(shape(x.data())), inout(shape(gathered_y.data())));
        machine.barrier();
        ASSERT_EQ(y, serial);
        ASSERT_EQ(staged_y, serial);
        ASSERT_EQ(gathered_y, serial);
    }
}

}  // namespace
