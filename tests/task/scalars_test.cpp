// Scalars travel in the descriptor, in the parameter's own type, without narrowing (contract 7).
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

enum class Colour : std::uint8_t { red, green };
struct Point {
    double x, y;
    friend bool operator==(const Point&, const Point&) = default;
};
struct alignas(32) Wide {
    std::array<std::uint64_t, 8> words;
};

/// Sends `value` and brings back what the task received.
template <class Parameter, class Argument>
Parameter sent(Machine& machine, const Argument& value) {
    Parameter seen{};
    machine.call([](Parameter p, Parameter& to) { to = p; }, value, out(std::span(&seen, 1))).wait();
    return seen;
}

TEST(Scalars, of_all_kinds_arrive_as_they_were) {
    Machine machine(with_targets(1));
    EXPECT_EQ(sent<bool>(machine, true), true);
    EXPECT_EQ(sent<char>(machine, 'x'), 'x');
    EXPECT_EQ(sent<std::int8_t>(machine, std::int8_t{-5}), -5);
    EXPECT_EQ(sent<std::int64_t>(machine, std::numeric_limits<std::int64_t>::min()),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(sent<std::uint64_t>(machine, ~std::uint64_t{0}), ~std::uint64_t{0});
    EXPECT_EQ(sent<float>(machine, 1.5f), 1.5f);
    EXPECT_EQ(sent<double>(machine, 1.5f), 1.5);
    EXPECT_EQ(sent<double>(machine, 1e300), 1e300);
    EXPECT_EQ(sent<Colour>(machine, Colour::green), Colour::green);
    EXPECT_EQ(sent<Point>(machine, Point{1, 2}), (Point{1, 2}));
    int x = 0;
    EXPECT_EQ(sent<int*>(machine, &x), &x);
    EXPECT_EQ(sent<const int*>(machine, &x), &x);
    Wide wide{{1, 2, 3, 4, 5, 6, 7, 8}};
    EXPECT_EQ(sent<Wide>(machine, wide).words, wide.words);
}

TEST(Scalars, widen_silently_and_are_refused_when_they_do_not_fit) {
    Machine machine(with_targets(1));
    EXPECT_EQ(sent<std::int64_t>(machine, -7), -7);
    EXPECT_EQ(sent<std::uint8_t>(machine, 255), 255);
    EXPECT_EQ(sent<std::int8_t>(machine, -128L), -128);
    EXPECT_THROW(sent<std::uint8_t>(machine, 256), ArgumentError);
    EXPECT_THROW(sent<std::uint8_t>(machine, -1), ArgumentError);
    EXPECT_THROW(sent<std::int8_t>(machine, 128u), ArgumentError);
    EXPECT_THROW(sent<unsigned>(machine, -1), ArgumentError);
    EXPECT_THROW(sent<std::uint64_t>(machine, std::int64_t{-1}), ArgumentError);
    EXPECT_THROW(sent<std::int64_t>(machine, ~std::uint64_t{0}), ArgumentError);
    EXPECT_THROW(sent<int>(machine, std::size_t{1} << 40), ArgumentError);
    EXPECT_EQ(sent<float>(machine, 1 << 24), 16777216.0f);
    EXPECT_THROW(sent<float>(machine, (1 << 24) + 1), ArgumentError);
    EXPECT_THROW(sent<float>(machine, -(1 << 24) - 1), ArgumentError);
    EXPECT_THROW(sent<double>(machine, (std::int64_t{1} << 53) + 1), ArgumentError);
    EXPECT_EQ(sent<float>(machine, std::uint16_t{65535}), 65535.0f);
    EXPECT_EQ(sent<int>(machine, true), 1);
    EXPECT_EQ(sent<int>(machine, 'A'), 65);
}

TEST(Scalars, that_were_refused_leave_the_machine_usable) {
    Machine machine(with_targets(1));
    for (int i = 0; i < 200; ++i) {
        EXPECT_THROW(sent<std::uint8_t>(machine, 1000 + i), ArgumentError);
        EXPECT_EQ(sent<std::uint8_t>(machine, i), i);
    }
    machine.finish();
}

// ---- many arguments: the line (40 bytes), the extension (192), the box (contract: no limit that a user meets by
// accident) ----

template <std::size_t... I>
void call_with_scalars(Machine& machine, std::index_sequence<I...>) {
    std::uint64_t sum = 0;
    const auto add = [](decltype(std::uint64_t(I))... values, std::uint64_t& to) {
        to = ((values * (I + 1)) + ... + 0);
    };
    machine.call(add, (std::uint64_t{I} << 33 | (I + 3))..., out(sum)).wait();
    EXPECT_EQ(sum, ((((std::uint64_t{I} << 33) | (I + 3)) * (I + 1)) + ... + 0)) << sizeof...(I) << " scalars";
}

template <std::size_t>
using ConstInts = std::span<const int>;
template <std::size_t>
using ConstView = view<const int, 2>;

template <std::size_t... I>
void call_with_spans(Machine& machine, std::index_sequence<I...>) {
    std::array<std::vector<int>, sizeof...(I) + 1> data;
    for (std::size_t i = 0; i < data.size(); ++i) data[i].assign(i + 1, static_cast<int>(i + 1));
    long sum = 0;
    const auto add = [](ConstInts<I>... spans, long& to) {
        to = (0L + ... + (spans.back() * static_cast<long>(spans.size())));
    };
    machine.call(add, in(data[I])..., out(sum)).wait();
    EXPECT_EQ(sum, (0L + ... + static_cast<long>((I + 1) * (I + 1)))) << sizeof...(I) << " spans";
}

template <std::size_t... I>
void call_with_views(Machine& machine, std::index_sequence<I...>) {
    std::vector<int> data(400);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
    long sum = 0;
    const auto add = [](ConstView<I>... views, long& to) {
        to = (0L + ... + static_cast<long>(views(1, 1) * 2 + views(0, 0)));
    };
    machine.call(add, in(view<const int, 2>(data.data() + I, 2, 2, static_cast<std::ptrdiff_t>(10 + I)))..., out(sum))
        .wait();
    EXPECT_EQ(sum, (0L + ... + static_cast<long>((I + 10 + I + 1) * 2 + I))) << sizeof...(I) << " views";
}

template <std::size_t... N>
void for_each_count(Machine& machine, std::index_sequence<N...>) {
    (call_with_scalars(machine, std::make_index_sequence<N>{}), ...);
    (call_with_spans(machine, std::make_index_sequence<N>{}), ...);
    (call_with_views(machine, std::make_index_sequence<N>{}), ...);
}

TEST(ManyArguments, from_none_to_thirty_arrive_whole) {
    Machine machine(with_targets(1));
    // Every pair of arguments is looked at, so the many cost a compiler a minute: some of each kind of place.
    using All = std::index_sequence<0, 1, 4, 5, 8, 20, 30>;
    using Few = std::index_sequence<0, 4, 5, 20>;
    for_each_count(machine, std::conditional_t < under_tsan || under_asan, Few, All > {});
}

TEST(ManyArguments, keep_their_own_slots_when_many_tasks_wait) {
    Machine machine(with_targets(1));
    constexpr int tasks = 3000;
    std::vector<std::uint64_t> sums(tasks);
    using U = std::uint64_t;
    const auto add = [](U a, U b, U c, U d, U e, U f, U g, U h, U& to) {
        to = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
    };
    for (int t = 0; t < tasks; ++t) {
        const auto n = static_cast<U>(t);
        machine.call(add, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, out(sums[static_cast<std::size_t>(t)]));
    }
    machine.barrier();
    for (int t = 0; t < tasks; ++t) EXPECT_EQ(sums[static_cast<std::size_t>(t)], static_cast<U>(t) * 36 + 168);
}

}  // namespace
