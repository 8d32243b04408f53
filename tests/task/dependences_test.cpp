// The order that follows from the tags: whoever reads waits for who writes, whoever writes waits for who reads, and
// nobody for more.
#include "penstock/dependences.hpp"

#include <array>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "penstock/error.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace penstock;
using task_tests::eventually;
using task_tests::Gate;
using task_tests::message_of;
using task_tests::scaled;
using task_tests::with_targets;

void add_one(std::span<const int> from, std::span<int> to) { to[0] = from[0] + 1; }
void append_digit(std::span<std::int64_t> number, std::int32_t digit) { number[0] = number[0] * 10 + digit; }
void wait_at(const Gate* gate, std::span<int> block) {
    gate->wait();
    block[0] += 1;
}
void read_and_meet(std::span<const int>, std::atomic<int>* met) {
    met->fetch_add(1);
    eventually([met] { return met->load() >= 2; }, std::chrono::seconds(60));
}
void mark(std::span<int> block, std::atomic<int>* marks) {
    block[0] = 7;
    marks->fetch_add(1);
}
void always_fails(std::span<int>) { throw std::runtime_error("the oven is cold"); }

TEST(Dependences, a_task_that_reads_waits_for_the_one_that_writes) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    std::vector<int> chain(200);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i)
        order.call<add_one>(in(std::span(chain).subspan(i, 1)), out(std::span(chain).subspan(i + 1, 1)));
    order.wait();
    for (std::size_t i = 0; i < chain.size(); ++i) EXPECT_EQ(chain[i], static_cast<int>(i));
}

TEST(Dependences, tasks_that_write_the_same_block_run_in_the_order_in_which_they_were_issued) {
    for (const int targets : {0, 1, 3}) {
        Machine machine(with_targets(targets));
        Dependences order(machine);
        std::int64_t number = 0;
        for (std::int32_t digit = 1; digit <= 9; ++digit) order.call<append_digit>(inout(number), digit);
        order.wait();
        EXPECT_EQ(number, 123'456'789);
    }
}

TEST(Dependences, a_task_that_writes_waits_for_those_that_read) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    Gate gate;
    int block = 1, seen = 0;
    order.call(
        [](const Gate* g, std::span<const int> from, std::span<int> to) {
            g->wait();
            to[0] = from[0];
        },
        &gate, in(block), out(seen));
    std::atomic<int> marks{0};
    const Handle writer = order.call<mark>(out(block), &marks);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(writer.ready());
    gate.open();
    order.wait();
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(block, 7);
}

TEST(Dependences, readers_of_one_block_run_beside_one_another) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    int block = 0;
    std::atomic<int> met{0}, marks{0};
    order.call<mark>(out(block), &marks);
    order.call<read_and_meet>(in(block), &met);
    order.call<read_and_meet>(in(block), &met);
    order.wait();
    EXPECT_EQ(met.load(), 2);
}

TEST(Dependences, tasks_on_different_blocks_do_not_wait_for_one_another) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    Gate gate;
    std::array<int, 2> blocks{};
    std::atomic<int> marks{0};
    order.call<wait_at>(&gate, inout(std::span(blocks).first(1)));
    const Handle free = order.call<mark>(out(std::span(blocks).last(1)), &marks);
    EXPECT_TRUE(eventually([&] { return free.ready(); }));
    gate.open();
    order.wait();
}

TEST(Dependences, ranges_that_share_some_of_their_bytes_are_ordered_and_those_that_only_touch_are_not) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    Gate gate;
    std::array<int, 8> cells{};
    std::atomic<int> marks{0};
    order.call<wait_at>(&gate, inout(std::span(cells).subspan(2, 3)));
    const Handle shares = order.call<mark>(out(std::span(cells).subspan(4, 2)), &marks);
    const Handle touches = order.call<mark>(out(std::span(cells).subspan(6, 2)), &marks);
    EXPECT_TRUE(eventually([&] { return touches.ready(); }));
    EXPECT_FALSE(shares.ready());
    gate.open();
    order.wait();
    EXPECT_EQ(marks.load(), 2);
}

TEST(Dependences, tiles_of_one_matrix_are_told_apart_although_their_rows_alternate_in_memory) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    Gate gate;
    std::vector<int> matrix(64 * 64);
    const auto tile = [&](std::size_t i, std::size_t j) {
        return view<int, 2>(matrix.data() + i * 64 + j, {16, 16}, {64, 1});
    };
    std::atomic<int> marks{0};
    const auto hold = [](const Gate* g, view<int, 2>) { g->wait(); };
    const auto count = [](std::atomic<int>* m, view<int, 2>) { m->fetch_add(1); };
    order.call(hold, &gate, inout(tile(16, 16)));
    const Handle beside = order.call(count, &marks, inout(tile(16, 32)));
    const Handle below = order.call(count, &marks, inout(tile(32, 16)));
    const Handle askew = order.call(count, &marks, inout(tile(24, 24)));
    EXPECT_TRUE(eventually([&] { return beside.ready() && below.ready(); }));
    EXPECT_FALSE(askew.ready());
    gate.open();
    order.wait();
    EXPECT_EQ(marks.load(), 3);
}

TEST(Dependences, a_block_is_found_again_however_often_it_is_given) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    std::array<int, 2> cells{};
    for (int i = 0; i < 1000; ++i)
        order.call<add_one>(in(std::span(cells).subspan(i % 2u, 1)), out(std::span(cells).subspan((i + 1) % 2u, 1)));
    order.wait();
    EXPECT_EQ(order.blocks(), 2u);
    EXPECT_EQ(cells[0], 1000);
}

// ---- every shape against a serial run ----

std::uint64_t scramble(std::uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}
void blend(view<const std::uint64_t, 2> from, view<std::uint64_t, 2> to, std::uint64_t seed) {
    std::uint64_t sum = seed;
    for (std::size_t i = 0; i < from.extent(0); ++i)
        for (std::size_t j = 0; j < from.extent(1); ++j) sum = scramble(sum + from(i, j));
    for (std::size_t i = 0; i < to.extent(0); ++i)
        for (std::size_t j = 0; j < to.extent(1); ++j) to(i, j) = scramble(to(i, j) + sum + i * 7 + j);
}
void blend_line(std::span<const std::uint64_t> from, std::span<std::uint64_t> to, std::uint64_t seed) {
    std::uint64_t sum = seed;
    for (const auto x : from) sum = scramble(sum + x);
    for (auto& x : to) x = scramble(x + sum);
}
void blend_pieces(pieces<std::uint64_t> all, std::uint64_t seed) {
    for (auto piece : all)
        for (auto& x : piece) seed = x = scramble(x + seed);
}

constexpr std::size_t side = 12;

view<std::uint64_t, 2> some_tile(std::uint64_t* base, std::mt19937& random) {
    const auto below = [&](std::size_t n) { return random() % n; };
    const std::size_t rows = 1 + below(4), columns = 1 + below(4), step = 1 + below(3), across = 1 + below(2);
    const std::size_t i = below(side - (rows - 1) * step), j = below(side - (columns - 1) * across);
    return {base + i * side + j,
            {rows, columns},
            {static_cast<std::ptrdiff_t>(step * side), static_cast<std::ptrdiff_t>(across)}};
}
std::span<std::uint64_t> some_line(std::uint64_t* base, std::mt19937& random) {
    const std::size_t n = 1 + random() % 20;
    return {base + random() % (side * side - n), n};
}

/// Issues `tasks` random calls to `issue`, which gets a callable and its tagged arguments. Overlapping ones are left
/// out.
template <class Issue>
void random_calls(std::uint64_t* base, unsigned seed, int tasks,
                  std::vector<std::array<std::span<std::uint64_t>, 2>>& lists, Issue&& issue) {
    std::mt19937 random(seed);
    lists.resize(static_cast<std::size_t>(tasks));
    for (int t = 0; t < tasks; ++t) {
        const auto salt = std::uint64_t{random()};
        const auto kind = random() % 8;
        if (kind == 0) {
            auto& list = lists[static_cast<std::size_t>(t)];
            list = {std::span{base + random() % 60, 3}, std::span{base + 70 + random() % 60, 5}};
            issue(blend_pieces, inout(pieces<std::uint64_t>{list}), salt);
        } else if (kind < 4) {
            const auto from = some_line(base, random);
            const auto to = some_line(base, random);
            if (overlap(footprint::of(from), footprint::of(to))) continue;
            issue(blend_line, in(std::span<const std::uint64_t>(from)), inout(to), salt);
        } else {
            const auto from = some_tile(base, random);
            const auto to = some_tile(base, random);
            if (overlap(footprint::of(from), footprint::of(to)) || overlaps_itself(footprint::of(to))) continue;
            issue(blend, in(from), inout(to), salt);
        }
    }
}

TEST(Dependences, random_tasks_on_random_shapes_give_what_a_serial_run_gives) {
    for (unsigned seed = 1; seed <= static_cast<unsigned>(scaled(12, 4)); ++seed) {
        Machine machine(with_targets(static_cast<int>(seed % 4)));
        const int tasks = scaled(600, 150);
        std::vector<std::uint64_t> expected(side * side), got(side * side);
        std::iota(expected.begin(), expected.end(), 1u);
        got = expected;
        std::vector<std::array<std::span<std::uint64_t>, 2>> lists, same_lists;
        random_calls(expected.data(), seed, tasks, lists, [](auto* f, auto... arguments) {
            const auto plain = [](auto argument) {
                if constexpr (requires { argument.value; }) return argument.value;
                else return argument;
            };
            f(plain(arguments)...);
        });
        Dependences order(machine);
        random_calls(got.data(), seed, tasks, same_lists,
                     [&](auto* f, auto... arguments) { order.call(f, arguments...); });
        if (seed % 2 == 0) order.wait();
        else machine.barrier();
        ASSERT_EQ(got, expected) << "seed " << seed;
    }
}

TEST(Dependences, a_block_made_up_of_smaller_ones_is_ordered_with_each_of_them) {
    Machine machine(with_targets(2));
    std::array<std::uint64_t, 6> expected{1, 2, 3, 4, 5, 6}, got = expected;
    const auto run = [](std::array<std::uint64_t, 6>& cells, auto&& issue) {
        const std::span all(cells);
        for (std::uint64_t step = 0; step < 200; ++step) {
            for (std::size_t i = 0; i < 6; i += 2) issue(all.subspan((i + 2) % 6, 2), all.subspan(i, 1), step);
            issue(all.subspan(4, 2), all.first(4), step);
            for (std::size_t i = 1; i < 6; i += 2) issue(all.subspan((i + 1) % 6, 2), all.subspan(i, 1), step);
            issue(all.subspan(5, 1), all.subspan(1, 3), step);
        }
    };
    run(expected, [](auto from, auto to, std::uint64_t step) { blend_line(from, to, step); });
    Dependences order(machine);
    run(got, [&](auto from, auto to, std::uint64_t step) {
        order.call<blend_line>(in(std::span<const std::uint64_t>(from)), inout(to), step);
    });
    order.wait();
    EXPECT_EQ(got, expected);
}

TEST(Dependences, a_part_is_written_after_its_last_writer_though_the_whole_was_read_before_that) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    Gate gate;
    std::vector<int> whole(100, 1);
    const auto read = [](std::span<const int>) {};
    const auto half = std::span(whole).first(50);
    order.call(read, in(whole));
    order.call<wait_at>(&gate, inout(half));
    order.call(read, in(std::span(whole).subspan(50)));
    const auto last = order.call([](std::span<int> block) { block[0] *= 10; }, inout(half));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(last.ready());
    gate.open();
    order.wait();
    EXPECT_EQ(whole[0], 20);
}

TEST(Dependences, more_readers_than_one_task_may_wait_for_are_joined) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    Gate gate;
    int block = 0;
    std::atomic<int> read{0}, marks{0};
    order.call<wait_at>(&gate, inout(block));
    constexpr int readers = 40'000;
    for (int i = 0; i < readers; ++i)
        order.call([](std::span<const int>, std::atomic<int>* r) { r->fetch_add(1, std::memory_order_relaxed); },
                   in(block), &read);
    int at_write = 0;
    order.call([](std::span<int>, const std::atomic<int>* r, std::span<int> seen) { seen[0] = r->load(); },
               inout(block), &read, out(at_write));
    gate.open();
    order.wait();
    EXPECT_EQ(at_write, readers);
}

// ---- what goes wrong ----

TEST(Dependences, what_comes_after_a_failed_task_does_not_run_and_says_why) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    int first = 0, second = 0, other = 0;
    std::atomic<int> marks{0};
    order.call<always_fails>(inout(first));
    const Handle next = order.call<add_one>(in(first), out(second));
    const Handle last = order.call<add_one>(in(second), out(first));
    order.call<mark>(out(other), &marks);
    const auto text = message_of<PredecessorFailed>([&] { last.wait(); });
    EXPECT_NE(text.find("always_fails"), std::string::npos) << text;
    EXPECT_NE(text.find("the oven is cold"), std::string::npos) << text;
    EXPECT_THROW(next.wait(), TaskCancelled);
    EXPECT_THROW(order.wait(), TaskFailed);
    EXPECT_EQ(second, 0);
    EXPECT_EQ(marks.load(), 1);
    order.call<mark>(out(first), &marks);  // the failure has been delivered: what follows runs
    order.call<add_one>(in(first), out(second));
    order.wait();
    EXPECT_EQ(second, 8);
}

TEST(Dependences, a_refused_call_leaves_the_others_as_they_were) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    int block = 0;
    EXPECT_THROW(order.call<add_one>(in(block), out(block)), ArgumentError);
    std::atomic<int> marks{0};
    order.call<mark>(inout(block), &marks);
    order.wait();
    EXPECT_EQ(block, 7);
}

TEST(Dependences, another_thread_is_refused) {
    Machine machine(with_targets(1));
    Dependences order(machine);
    int block = 0;
    std::atomic<int> marks{0};
    std::thread([&] { EXPECT_THROW(order.call<mark>(inout(block), &marks), UsageError); }).join();
}

TEST(Dependences, a_task_orders_its_own_children) {
    Machine machine(with_targets(2));
    std::array<std::int64_t, 8> numbers{};
    for (auto& number : numbers) {
        machine.call(
            [](Machine* m, std::span<std::int64_t> mine) {
                Dependences order(*m);
                for (std::int32_t digit = 1; digit <= 9; ++digit) order.call<append_digit>(inout(mine), digit);
                order.wait();
                mine[0] *= 10;
            },
            &machine, inout(number));
    }
    machine.barrier();
    for (const auto number : numbers) EXPECT_EQ(number, 1'234'567'890);
}

TEST(Dependences, the_machine_finishes_what_is_outstanding_when_it_goes) {
    std::int64_t number = 0;
    {
        Machine machine(with_targets(1));
        Dependences order(machine);
        for (std::int32_t digit = 1; digit <= 9; ++digit) order.call<append_digit>(inout(number), digit);
    }
    EXPECT_EQ(number, 123'456'789);
}

TEST(Dependences, an_ordered_task_may_be_for_one_target_alone) {
    Machine machine(with_targets(2));
    Dependences order(machine);
    std::array<std::thread::id, 6> ran{};
    int block = 0;
    for (std::size_t i = 0; i < 6; ++i)
        order.call_on(
            static_cast<int>(i % 2),
            [](std::span<int>, std::span<std::thread::id> where) { where[0] = std::this_thread::get_id(); },
            inout(block), out(ran[i]));
    order.wait();
    for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(ran[i], ran[i - 2]);
    EXPECT_NE(ran[0], ran[1]);
}

}  // namespace
