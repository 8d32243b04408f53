// What can be called, and with which arguments: contract 4 to 8.
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void scale(std::span<const float> x, std::span<float> y, float a) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = a * x[i];
}
void accumulate(std::span<const int> x, long& sum) {
    for (int v : x) sum += v;
}
void fixed(std::span<const int, 4> x, std::span<int, 2> y) {
    y[0] = x[0] + x[1];
    y[1] = x[2] + x[3];
}
void by_reference(const std::span<const int>& x, int& out_count) { out_count = static_cast<int>(x.size()); }
void nothing() {}
void quietly(int& x) noexcept { ++x; }
void rank_one(view<const int, 1> x, long& sum) {
    sum = 0;
    for (std::size_t i = 0; i < x.extent(0); ++i) sum = sum * 10 + x(i);
}
void add_one(view<int, 2> x) {
    for (std::size_t i = 0; i < x.extent(0); ++i)
        for (std::size_t j = 0; j < x.extent(1); ++j) x(i, j) += 1;
}
void weigh(view<const int, 3> x, long& sum) {
    sum = 0;
    for (std::size_t i = 0; i < x.extent(0); ++i)
        for (std::size_t j = 0; j < x.extent(1); ++j)
            for (std::size_t k = 0; k < x.extent(2); ++k)
                sum += x(i, j, k) * static_cast<long>(100 * i + 10 * j + k + 1);
}
void join(pieces<const int> x, std::span<int> y) {
    std::size_t n = 0;
    for (auto piece : x)
        for (int v : piece) y[n++] = v;
}
void spread(std::span<const int> x, pieces<int> y) {
    std::size_t n = 0;
    for (auto piece : y)
        for (int& v : piece) v = x[n++];
}
void flag_empty(std::span<const int> x, int& ran) { ran = x.empty() ? 1 : 2; }
template <class T>
void twice(std::span<const T> x, std::span<T> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = static_cast<T>(x[i] + x[i]);
}
constexpr auto increment = [](int& x) { ++x; };

/// Every call is tried on a machine without targets, with one and with two: inside the call, by push, and from the
/// deque.
class Calls : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, Calls, testing::Values(0, 1, 2));

TEST_P(Calls, take_vectors_and_scalars) {
    std::vector<float> x{1, 2, 3}, y(3);
    machine.call<scale>(in(x), out(y), 2.0f).wait();
    EXPECT_EQ(y, (std::vector<float>{2, 4, 6}));
}

TEST_P(Calls, take_arrays_of_both_kinds_and_spans) {
    std::array<float, 2> x{1, 2};
    float y[2]{};
    machine.call<scale>(in(x), out(y), 3.0f).wait();
    EXPECT_EQ(y[1], 6);
    float z[2]{};
    machine.call<scale>(in(std::span(x)), out(std::span(z)), 4.0f).wait();
    EXPECT_EQ(z[1], 8);
}

TEST_P(Calls, read_memory_that_is_const) {
    const std::vector<int> x{1, 2, 3};
    long sum = 10;
    machine.call<accumulate>(in(x), inout(sum)).wait();
    EXPECT_EQ(sum, 16);
}

TEST_P(Calls, bind_a_single_object_to_a_reference) {
    int x = 1;
    machine.call<quietly>(inout(x)).wait();
    EXPECT_EQ(x, 2);
}

TEST_P(Calls, without_arguments_only_run) {
    machine.call<nothing>().wait();
    machine.barrier();
}

TEST_P(Calls, keep_a_fixed_extent) {
    std::array<int, 4> x{1, 2, 3, 4};
    std::vector<int> y(2);
    machine.call<fixed>(in(x), out(y)).wait();
    EXPECT_EQ(y, (std::vector<int>{3, 7}));
    y.resize(3);
    EXPECT_THROW(machine.call<fixed>(in(x), out(y)), ArgumentError);
}

TEST_P(Calls, may_take_a_span_by_const_reference) {
    std::vector<int> x(5);
    int n = 0;
    machine.call<by_reference>(in(x), out(n)).wait();
    EXPECT_EQ(n, 5);
}

TEST_P(Calls, see_strided_views_of_one_dimension_in_order) {
    std::array<int, 9> x{1, 2, 3, 4, 5, 6, 7, 8, 9};
    long sum = 0;
    machine.call<rank_one>(in(view<const int, 1>(x.data(), {3}, {3})), out(sum)).wait();
    EXPECT_EQ(sum, 147);
    machine.call<rank_one>(in(view<int, 1>(x.data() + 8, {4}, {-2})), out(sum)).wait();
    EXPECT_EQ(sum, 9753);
    machine.call<rank_one>(in(view<int, 1>(x.data() + 4, {3}, {0})), out(sum)).wait();
    EXPECT_EQ(sum, 555) << "an in argument may reach the same element by several indices";
    machine.call<rank_one>(in(x), out(sum)).wait();
    EXPECT_EQ(sum, 123456789) << "a contiguous argument fits a view of one dimension";
}

TEST_P(Calls, write_through_strided_views_of_two_dimensions) {
    std::vector<int> x(20, 0);
    machine.call<add_one>(inout(view<int, 2>(x.data() + 1, 3, 2, 5))).wait();
    std::vector<int> expected(20, 0);
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 2; ++column) expected[static_cast<std::size_t>(1 + row * 5 + column)] = 1;
    EXPECT_EQ(x, expected);
    machine.call<add_one>(inout(view<int, 2>(x.data() + 19, {4, 5}, {-5, -1}))).wait();
    for (int& v : expected) ++v;
    EXPECT_EQ(x, expected) << "negative strides go backwards through all of it";
    machine.call<add_one>(inout(view<int, 2>(x.data(), {5, 4}, {1, 5}))).wait();
    for (int& v : expected) ++v;
    EXPECT_EQ(x, expected) << "a transposed view";
}

TEST_P(Calls, see_views_of_three_dimensions) {
    std::vector<int> x(24);
    std::iota(x.begin(), x.end(), 1);
    long sum = 0;
    const view<int, 3> all(x.data(), {2, 3, 4});
    long expected = 0;
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 3; ++j)
            for (std::size_t k = 0; k < 4; ++k)
                expected += x[i * 12 + j * 4 + k] * static_cast<long>(100 * i + 10 * j + k + 1);
    machine.call<weigh>(in(all), out(sum)).wait();
    EXPECT_EQ(sum, expected);
    machine.call<weigh>(in(all.part({1, 0, 2}, {1, 2, 2})), out(sum)).wait();
    EXPECT_EQ(sum, 15 * 1 + 16 * 2 + 19 * 11 + 20 * 12);
}

TEST_P(Calls, see_pieces_in_the_order_of_the_list) {
    std::vector<int> a{1, 2}, b{3}, c{4, 5, 6}, y(6);
    const std::vector<std::span<const int>> list{c, a, {}, b};
    machine.call<join>(in(pieces<const int>(list)), out(y)).wait();
    EXPECT_EQ(y, (std::vector<int>{4, 5, 6, 1, 2, 3}));
    const std::vector<std::span<int>> targets{b, c, a};
    machine.call<spread>(in(y), out(pieces<int>(targets))).wait();
    EXPECT_EQ(b[0], 4);
    EXPECT_EQ(c, (std::vector<int>{5, 6, 1}));
    EXPECT_EQ(a, (std::vector<int>{2, 3}));
}

TEST_P(Calls, with_empty_arguments_run_all_the_same) {  // contract 8
    int ran = 0;
    machine.call<flag_empty>(in(std::span<const int>()), out(ran)).wait();
    EXPECT_EQ(ran, 1);
    ran = 0;
    const std::vector<int> none;
    machine.call<flag_empty>(in(none), out(ran)).wait();
    EXPECT_EQ(ran, 1);
    long sum = 1;
    machine.call<weigh>(in(view<int, 3>(nullptr, {4, 0, 4})), out(sum)).wait();
    EXPECT_EQ(sum, 0);
    std::vector<int> y;
    machine.call<join>(in(pieces<const int>()), out(y)).wait();
}

TEST_P(Calls, take_functions_made_from_templates_pointers_and_closures) {
    std::vector<int> x{1, 2}, y(2);
    machine.call<twice<int>>(in(x), out(y)).wait();
    EXPECT_EQ(y[1], 4);
    int n = 0;
    machine.call<increment>(inout(n)).wait();
    machine.call(&quietly, inout(n)).wait();
    machine.call(quietly, inout(n)).wait();
    machine.call([](int& v) { v += 10; }, inout(n)).wait();
    int* const where = &n;
    machine.call([where] { *where += 100; }).wait();
    EXPECT_EQ(n, 113);
    machine.call([where, calls = 0]() mutable { *where += ++calls; }).wait();
    EXPECT_EQ(n, 114);
}

TEST_P(Calls, give_generic_closures_what_their_arguments_naturally_are) {
    std::vector<int> x{5, 6}, y(2);
    machine
        .call(
            [](auto from, auto to, auto add) {
                static_assert(std::is_same_v<decltype(from), std::span<const int>> &&
                              std::is_same_v<decltype(to), std::span<int>>);
                static_assert(std::is_same_v<decltype(add), int>);
                for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + add;
            },
            in(x), out(y), 1)
        .wait();
    EXPECT_EQ(y, (std::vector<int>{6, 7}));
}

TEST_P(Calls, box_closures_that_do_not_fit_and_destroy_them_once) {  // contract 4
    const auto counted = std::make_shared<int>(0);
    std::array<int, 100> large{};
    large[99] = 7;
    int seen = 0;
    machine.call(boxed([counted, large, &seen] { seen = large[99] + static_cast<int>(counted.use_count() > 1); }))
        .wait();
    EXPECT_EQ(seen, 8);
    EXPECT_TRUE(eventually([&] { return counted.use_count() == 1; })) << "the closure was not destroyed";
}

TEST_P(Calls, take_over_what_is_owned_and_destroy_it_before_completion) {  // contract 6
    const auto counted = std::make_shared<int>(3);
    int seen = 0;
    machine.call([](std::shared_ptr<int> mine, int& to) { to = *mine; }, own(std::shared_ptr(counted)), out(seen))
        .wait();
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(counted.use_count(), 1);
    std::vector<int> gone{1, 2, 3};
    long sum = 0;
    machine
        .call(
            [](std::span<const int> x, long& to) {
                for (int v : x) to += v;
            },
            own(std::move(gone)), inout(sum))
        .wait();
    EXPECT_EQ(sum, 6);
    machine.call([](std::unique_ptr<int>&& mine, int& to) { to = *mine; }, own(std::make_unique<int>(9)), out(seen))
        .wait();
    EXPECT_EQ(seen, 9);
}

TEST_P(Calls, lend_what_is_owned_by_reference_without_a_copy) {
    struct Uncopied {
        Uncopied() = default;
        Uncopied(const Uncopied&) = delete;
        Uncopied(Uncopied&&) = default;
        std::vector<int> v{1, 2};
    };
    std::size_t seen = 0;
    machine
        .call(
            [](Uncopied& mine, std::size_t& to) {
                mine.v.push_back(3);
                to = mine.v.size();
            },
            own(Uncopied{}), out(seen))
        .wait();
    EXPECT_EQ(seen, 3u);
    machine.call([](const Uncopied& mine, std::size_t& to) { to = mine.v.size(); }, own(Uncopied{}), out(seen)).wait();
    EXPECT_EQ(seen, 2u);
}

// checked, not touched: the task looks at the shape alone
TEST_P(Calls, box_arguments_of_more_than_32_bits_of_length) {
    const auto* const far = reinterpret_cast<const char*>(std::uintptr_t{1} << 40);
    const std::size_t huge = (std::size_t{1} << 33) + 5;
    std::size_t seen = 0;
    machine.call([](std::span<const char> x, std::size_t& n) { n = x.size(); }, in(std::span(far, huge)), out(seen))
        .wait();
    EXPECT_EQ(seen, huge);
    seen = 0;
    machine
        .call([](view<const char, 2> x, std::size_t& n) { n = x.extent(0) + static_cast<std::size_t>(x.stride(0)); },
              in(view<const char, 2>(far, {std::size_t{1} << 25, 3}, {std::ptrdiff_t{1} << 10, 1})), out(seen))
        .wait();
    EXPECT_EQ(seen, (std::size_t{1} << 25) + 1024);
    machine
        .call([](view<const char, 1> x, std::size_t& n) { n = static_cast<std::size_t>(x.stride(0)); },
              in(view<const char, 1>(far, {2}, {std::ptrdiff_t{1} << 35})), out(seen))
        .wait();
    EXPECT_EQ(seen, std::size_t{1} << 35);
}

TEST_P(Calls, go_to_the_target_that_is_named) {
    for (int target = 0; target < machine.targets(); ++target) {
        int x = 0;
        machine.on(target).call<quietly>(inout(x)).wait();
        machine.on(target).call([](int& v) { v += 5; }, inout(x)).wait();
        EXPECT_EQ(x, 6);
    }
    EXPECT_THROW(machine.on(machine.targets()), UsageError);
    EXPECT_THROW(machine.on(-1), UsageError);
}

TEST_P(Calls, that_fail_name_their_task) {  // errors carry facts: the function's name, as the source has it
    std::vector<float> x(3);
    const auto message = message_of<ArgumentError>([&] { machine.call<scale>(in(x), out(x), 1.0f); });
    EXPECT_NE(message.find("scale"), std::string::npos) << message;
    try {
        machine.call<scale>(in(x), out(x), 1.0f);
    } catch (const ArgumentError& error) {
        EXPECT_EQ(error.argument(), 2);
        EXPECT_NE(error.task().find("scale"), std::string::npos);
        EXPECT_EQ(error.task().find('('), std::string::npos) << error.task();
    }
}

}  // namespace
