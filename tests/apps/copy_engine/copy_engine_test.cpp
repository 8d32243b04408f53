#include "apps/copy_engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "apps/exchange.hpp"
#include "penstock/barrier.hpp"
#include "penstock/spmd.hpp"

namespace {

using penstock::Rank;
using penstock::apps::CopyEngine;
using penstock::apps::Exchange;

TEST(CopyEngine, has_copied_when_it_says_so) {
    constexpr std::size_t rows = 200, columns = 3, pitch = 5;
    penstock::spmd(2, [](Rank me) {
        const Exchange<int> inbox{me, "inbox", rows * columns};
        penstock::Barrier barrier{me, "copied"};
        std::vector<int> source(rows * pitch);
        CopyEngine<int> engine;
        for (int round = 0; round < 20; ++round) {
            std::iota(source.begin(), source.end(), 1000 * round + me.index());
            for (std::size_t row = 0; row < rows; ++row)
                engine.copy(inbox.of(1 - static_cast<std::size_t>(me.index())), {row * columns, 1, columns, columns},
                            std::span<const int>{source}.subspan(row * pitch, columns), pitch);
            engine.finish();
            barrier.arrive_and_wait();
            for (std::size_t row = 0; row < rows; ++row)
                for (std::size_t column = 0; column < columns; ++column)
                    ASSERT_EQ(inbox.mine()[row * columns + column],
                              1000 * round + 1 - me.index() + static_cast<int>(row * pitch + column));
            barrier.arrive_and_wait();
        }
    });
}

TEST(CopyEngine, tells_what_a_copy_threw_and_goes_on_behind_it) {
    penstock::spmd(1, [](Rank me) {
        const Exchange<int> inbox{me, "inbox", 4};
        const std::vector<int> source{1, 2, 3, 4};
        CopyEngine<int> engine;
        engine.finish();  // of nothing
        engine.copy(inbox.of(0), {2, 1, 4, 4}, source, 4);
        EXPECT_THROW(engine.finish(), penstock::OutOfBounds);
        engine.copy(inbox.of(0), {0, 1, 4, 4}, source, 4);
        engine.finish();
        EXPECT_EQ(inbox.mine()[3], 4);
    });
}

TEST(CopyEngine, copies_what_was_asked_for_before_it_ends) {
    penstock::spmd(1, [](Rank me) {
        const Exchange<int> inbox{me, "inbox", 100};
        const std::vector<int> source(100, 7);
        {
            CopyEngine<int> engine;
            for (std::size_t i = 0; i < 100; ++i)
                engine.copy(inbox.of(0), {i, 1, 1, 1}, std::span<const int>{source}.subspan(i), 1);
        }
        for (const int each : inbox.mine()) EXPECT_EQ(each, 7);
    });
}

}  // namespace
