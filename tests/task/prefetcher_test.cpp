// Which way of fetching ahead is chosen. Time is what the test says it is.
#include "task/calls/prefetcher.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "penstock/fetch_ahead.hpp"
#include "penstock/machine.hpp"
#include "penstock/view.hpp"
#include "task/calls/lines_ahead.hpp"
#include "task/support.hpp"

using namespace penstock;

namespace {

using Way = Prefetcher::Way;

std::uint64_t now = 0;
int described = 0;
ArgumentBlock argument{};

std::size_t describe(const PackedArguments&, ArgumentBlock* blocks) noexcept {
    ++described;
    blocks[0] = argument;
    return 1;
}
constexpr Entry entry_like(std::string_view name) {
    return {
        .run = nullptr, .discard = nullptr, .describe = &describe, .name = name, .has_blocks = true, .has_rows = true};
}
constexpr Entry one = entry_like("one"), other = entry_like("other");
const std::uint32_t number_of_one = register_entry(one), number_of_other = register_entry(other);

const ArgumentBlock rows{nullptr, 16, 64, 4096, Access::in};
const ArgumentBlock small_piece{nullptr, 1, 4096, 0, Access::in};
const ArgumentBlock long_piece{nullptr, 1, 1 << 20, 0, Access::in};
// Each window begins a task late.
constexpr int trial =
    static_cast<int>(Prefetcher::ways * BestWay<Prefetcher::ways>::samples * (Prefetcher::window + 1));

/// What a task takes, by the way in which its arguments were fetched.
using Times = std::array<std::uint64_t, Prefetcher::ways>;

/// Tasks that run one behind the other.
class Tasks {
  public:
    Tasks() { now = 0, described = 0, argument = rows; }
    void run(int count, const Times& times, std::uint32_t entry = number_of_one) {
        for (int i = 0; i < count; ++i) {
            auto way = Way::not_at_all;
            if (prefetcher.passes_over(entry, 1)) {
                ++passed;
            } else {
                TaskPayload payload{.entry = entry};
                std::byte extension[192];
                const auto bytes = prefetcher.next(payload, extension);
                way = prefetcher.way(entry);
                EXPECT_EQ(bytes != 0, way != Way::not_at_all);
            }
            ++ran[static_cast<std::size_t>(way)];
            now += times[static_cast<std::size_t>(way)];
        }
    }
    /// How many of them ran in this way since the last time that this was asked for any.
    int take(Way way) {
        const auto count = ran[static_cast<std::size_t>(way)];
        ran = {};
        return count;
    }

    Prefetcher prefetcher{Prefetch::measured, [] { return now; }};
    std::array<int, Prefetcher::ways> ran{};
    int passed = 0;
};

}  // namespace

TEST(Prefetcher, keeps_to_the_way_in_which_tasks_take_the_least_time) {
    for (const auto best : {Way::not_at_all, Way::into_first_cache, Way::into_second_cache}) {
        Tasks tasks;
        Times times{100, 100, 100};
        times[static_cast<std::size_t>(best)] = 90;
        tasks.run(trial, times);
        for (const auto way : {Way::not_at_all, Way::into_first_cache, Way::into_second_cache})
            EXPECT_EQ(tasks.ran[static_cast<std::size_t>(way)], trial / 3) << "each is tried as often as the others";
        tasks.ran = {};
        tasks.run(Prefetcher::least_held, times);
        EXPECT_EQ(tasks.take(best), static_cast<int>(Prefetcher::least_held));
    }
}

TEST(Prefetcher, soon_leaves_a_way_that_takes_more_than_twice_as_long) {
    for (const auto slow : {Way::not_at_all, Way::into_first_cache, Way::into_second_cache}) {
        Tasks tasks;
        Times times{100, 90, 90};
        times[static_cast<std::size_t>(slow)] = 250;
        tasks.run(trial, times);
        EXPECT_EQ(tasks.take(slow), static_cast<int>(2 * (Prefetcher::window + 1)));
    }
}

/// 40 is the fastest window of all, and says nothing: the same way took 100 in the others.
TEST(BestWay, leaves_none_because_of_one_lucky_window) {
    constexpr std::uint64_t times[3][5] = {{40, 100, 100, 100, 100}, {100, 120, 100, 100, 100}, {90, 110, 99, 98, 98}};
    BestWay<3> ways;
    std::array<std::size_t, 3> windows{};
    for (bool decided = false; !decided;) {
        const auto way = ways.way();
        decided = ways.add(times[way][windows[way]++]);
    }
    EXPECT_EQ(windows, (std::array<std::size_t, 3>{5, 5, 5}));
    EXPECT_EQ(ways.way(), 0u);
}

TEST(Prefetcher, fetches_nothing_where_that_gains_less_than_a_thirtieth) {
    Tasks tasks;
    tasks.run(trial, {100, 98, 97});
    tasks.ran = {};
    tasks.run(Prefetcher::least_held, {100, 98, 97});
    EXPECT_EQ(tasks.take(Way::not_at_all), static_cast<int>(Prefetcher::least_held));
}

TEST(Prefetcher, asks_again_and_changes_its_mind) {
    Tasks tasks;
    const int round = trial + static_cast<int>(Prefetcher::least_held);
    tasks.run(round, {100, 110, 120});
    tasks.run(trial, {100, 110, 60});
    tasks.ran = {};
    tasks.run(Prefetcher::least_held, {100, 110, 60});
    EXPECT_EQ(tasks.take(Way::into_second_cache), static_cast<int>(Prefetcher::least_held));
    tasks.run(trial, {100, 70, 120});
    tasks.ran = {};
    tasks.run(Prefetcher::least_held, {100, 70, 120});
    EXPECT_EQ(tasks.take(Way::into_first_cache), static_cast<int>(Prefetcher::least_held));
}

TEST(Prefetcher, hardly_looks_at_tasks_for_which_it_has_found_again_and_again_that_nothing_pays) {
    Tasks tasks;
    tasks.run(100'000, {100, 120, 130});
    tasks.ran = {};
    described = tasks.passed = 0;
    tasks.run(100'000, {100, 120, 130});
    EXPECT_GE(tasks.passed, 97'000);
    EXPECT_LE(described, 1'500);
    EXPECT_GE(tasks.take(Way::not_at_all), 99'000);
}

TEST(Prefetcher, remembers_what_is_best_for_each_shape) {
    Tasks tasks;
    const Times gains{100, 80, 60}, loses{100, 120, 110};
    tasks.run(trial, gains);
    argument = small_piece;
    // The first are still taken for the other shape.
    tasks.run(static_cast<int>(Prefetcher::window) + trial, loses);
    tasks.ran = {};
    tasks.run(1000, loses);
    EXPECT_EQ(tasks.take(Way::not_at_all), 1000);
    argument = rows;
    tasks.run(Prefetcher::unseen, gains);
    tasks.ran = {};
    tasks.run(1000, gains);
    EXPECT_EQ(tasks.take(Way::into_second_cache), 1000) << "without another trial";
}

TEST(Prefetcher, leaves_long_pieces_to_the_processor) {
    Tasks tasks;
    argument = long_piece;
    tasks.run(10'000, {100, 50, 50});
    EXPECT_EQ(tasks.take(Way::not_at_all), 10'000);
    EXPECT_GE(tasks.passed, 9'500);
}

TEST(Prefetcher, leaves_procedures_alone_that_never_run_back_to_back) {
    Tasks tasks;
    const auto in_turn = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
            tasks.run(1, {100, 50, 50}, number_of_one);
            tasks.run(1, {100, 50, 50}, number_of_other);
        }
    };
    in_turn(1000);
    tasks.ran = {};
    tasks.passed = 0;
    in_turn(1000);
    EXPECT_EQ(tasks.take(Way::not_at_all), 2000);
    EXPECT_EQ(tasks.passed, 0) << "but sees each of them, since another may follow";
}

/// Procedures whose numbers lie a multiple of this apart share what is known of them.
constexpr std::uint32_t places = 32;

TEST(Prefetcher, leaves_procedures_alone_that_share_a_place_and_run_in_turn) {
    static std::deque<Entry> entries;
    std::uint32_t sharing = 0;
    do sharing = register_entry(entries.emplace_back(entry_like("sharing")));
    while (sharing % places != number_of_one % places);
    for (const int in_a_row : {1, 10}) {
        Tasks tasks;
        const auto in_turn = [&](int rounds) {
            for (int i = 0; i < rounds; ++i) {
                tasks.run(in_a_row, {50, 100, 100}, number_of_one);
                tasks.run(in_a_row, {50, 100, 100}, sharing);
            }
        };
        in_turn(1000);
        tasks.ran = {};
        in_turn(1000);
        EXPECT_EQ(tasks.take(Way::not_at_all), 2000 * in_a_row) << in_a_row;
    }
}

TEST(Prefetcher, does_not_count_windows_in_which_there_was_nothing_to_do_for_a_while) {
    Tasks tasks;
    const Times times{100, 90, 50};
    for (int i = 0; i < trial; ++i) {
        // Whatever ran into the second cache seems to have taken long.
        if (i % 51 == 50) now += 1'000'000, tasks.prefetcher.interrupted();
        tasks.run(1, times);
    }
    tasks.run(trial, times);
    tasks.ran = {};
    tasks.run(500, times);
    EXPECT_EQ(tasks.take(Way::into_second_cache), 500);
}

TEST(LinesAhead, come_in_as_many_parts_as_the_body_before_asked_for) {
    alignas(64) static std::byte memory[16 * 4096];
    Tasks tasks;
    argument = {memory + 40, 16, 64, 4096, Access::inout};  // each row lies in two lines
    tasks.run(trial, {100, 80, 60});
    TaskPayload payload{.entry = number_of_one};
    std::byte extension[192];
    auto& lines = LinesAhead::here();
    EXPECT_EQ(tasks.prefetcher.next(payload, extension), 1024u);
    EXPECT_EQ(lines.left(), 0u) << "all at once, since nobody asked";
    for (int i = 0; i < 5; ++i) fetch_ahead();
    EXPECT_EQ(tasks.prefetcher.next(payload, extension), 1024u);
    EXPECT_EQ(lines.left(), 32u);
    for (const std::size_t left : {25u, 18u, 11u, 4u, 0u, 0u}) {
        fetch_ahead();
        EXPECT_EQ(lines.left(), left);
    }
    EXPECT_EQ(tasks.prefetcher.next(payload, extension), 1024u);
    EXPECT_EQ(lines.left(), 32u);
    for (int i = 0; i < 5; ++i) fetch_ahead();  // six would have been needed
    EXPECT_EQ(lines.left(), 2u);
    argument = {memory, 3, 6400, 8192, Access::in};  // rows longer than a part
    EXPECT_EQ(tasks.prefetcher.next(payload, extension), 19'200u);
    EXPECT_EQ(lines.left(), 300u);
    for (const std::size_t left : {240u, 180u, 120u, 60u, 0u}) {
        fetch_ahead();
        EXPECT_EQ(lines.left(), left);
    }
    lines.restart();
}

TEST(LinesAhead, stay_within_a_limit) {
    Tasks tasks;
    Prefetcher always(Prefetch::always);
    TaskPayload payload{.entry = number_of_one};
    std::byte extension[192];
    argument = long_piece;
    EXPECT_EQ(always.next(payload, extension), Prefetcher::most_bytes);
    argument = {nullptr, 1000, 128, 4096, Access::in};
    EXPECT_EQ(always.next(payload, extension), Prefetcher::most_bytes);
    argument = {nullptr, 2, 1 << 22, 1 << 23, Access::in};
    EXPECT_EQ(always.next(payload, extension), Prefetcher::most_bytes) << "rows longer than that";
    argument.staged = true;
    argument.rows = 1, argument.row_bytes = 4096;
    EXPECT_EQ(always.next(payload, extension), Prefetcher::most_staged);
}

TEST(FetchAhead, never_changes_results) {
    constexpr std::size_t columns = 1024, tile_rows = 16, tile_columns = 32;
    fetch_ahead();  // outside of tasks it does nothing
    for (const auto mode : {Prefetch::never, Prefetch::measured, Prefetch::always})
        for (const std::uint32_t in_flight : {1u, 2u, 4u}) {
            std::vector<int> matrix(64 * columns);
            for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<int>(i);
            {
                Machine machine{{.targets = 2, .prefetch = mode, .jobs_in_flight = in_flight}};
                for (int pass = 0; pass < 8; ++pass) {
                    for (std::size_t row = 0; row < 64; row += tile_rows)
                        for (std::size_t column = 0; column < columns; column += tile_columns)
                            machine.call(
                                [](view<int, 2> tile, int parts) {
                                    for (std::size_t i = 0; i < tile.extent(0); ++i) {
                                        if (parts != 0 && i % static_cast<std::size_t>(parts) == 0) fetch_ahead();
                                        for (int& each : tile.row(i)) each = each * 3 + 1;
                                    }
                                },
                                inout(view<int, 2>(matrix.data() + row * columns + column, tile_rows, tile_columns,
                                                   columns)),
                                pass % 3);
                    machine.barrier();
                }
            }
            for (std::size_t i = 0; i < matrix.size(); ++i) {
                int wanted = static_cast<int>(i);
                for (int pass = 0; pass < 8; ++pass) wanted = wanted * 3 + 1;
                ASSERT_EQ(matrix[i], wanted) << i;
            }
        }
}
