// Many small stores that are published together.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "penstock/flag.hpp"
#include "penstock/remote.hpp"
#include "store/support.hpp"

namespace {

using penstock::Rank;
using penstock::StoreWay;
using store_tests::require;

constexpr std::size_t piece = 24, pieces = 1000;  // not whole lines, so that head, lines and tail occur

/// Pieces in another order than they lie in, by every way; all of them are there when the counter says so.
void scatter(Rank me) {
    if (me.index() == 0) {
        penstock::Region<std::uint32_t> inbox(me, "inbox", piece * pieces);
        penstock::Counter rounds(me, "rounds");
        inbox.grant(1);
        rounds.grant(1);
        auto taken = penstock::RemoteCounter::accept(me, 1, "taken");
        for (std::uint32_t round = 1; round <= 6; ++round) {
            rounds.wait_until(round);
            for (std::uint32_t i = 0; i < piece * pieces; ++i)
                require(inbox[i] == round * 1'000'000 + i, "each element arrived");
            taken.store(round);
        }
        return;
    }
    penstock::Counter taken(me, "taken");
    taken.grant(0);
    auto outbox = penstock::Remote<std::uint32_t>::accept(me, 0, "inbox");
    auto rounds = penstock::RemoteCounter::accept(me, 0, "rounds");
    std::uint32_t round = 0;
    for (int turn = 0; turn < 2; ++turn)
        for (const StoreWay way : {StoreWay::plain, StoreWay::demote, StoreWay::stream}) {
            ++round;
            outbox.set_way(way);
            {
                const auto batch = outbox.batch(piece * pieces);
                for (std::size_t step = 0; step < pieces; ++step) {
                    const std::size_t at = step * 77 % pieces * piece;  // 77 and 1000 have no common divisor: each once
                    std::array<std::uint32_t, piece> values;
                    for (std::size_t i = 0; i < piece; ++i)
                        values[i] = static_cast<std::uint32_t>(round * 1'000'000 + at + i);
                    batch.store(at, values);
                }
            }
            outbox.publish(rounds, round);
            taken.wait_until(round);
        }
}

TEST(Batch, all_that_was_stored_is_visible_to_whoever_sees_what_is_published_behind_it) {
    penstock::spmd(2, scatter);
    if (!store_tests::thread_sanitizer) penstock::spmd(2, scatter, {.substrate = penstock::Substrate::processes});
}

TEST(Batch, stores_beyond_the_end_are_refused) {
    penstock::spmd(2, [](Rank me) {
        if (me.index() == 0) {
            penstock::Region<int> inbox(me, "inbox", 10);
            penstock::Flag done(me, "done");
            inbox.grant(1);
            done.grant(1);
            done.wait();
            for (const int value : inbox) require(value == 0, "nothing was stored");
            return;
        }
        auto outbox = penstock::Remote<int>::accept(me, 0, "inbox");
        auto done = penstock::RemoteFlag::accept(me, 0, "done");
        const std::array<int, 4> values{1, 2, 3, 4};
        int refused = 0;
        for (const std::size_t offset : {std::size_t{7}, std::size_t{10}, ~std::size_t{0}}) {
            try {
                outbox.batch(4).store(offset, values);
            } catch (const penstock::OutOfBounds& error) {
                require(error.index() == offset && error.count() == 4, "it says what was to be stored");
                ++refused;
            }
        }
        require(refused == 3, "each one");
        done.set();
    });
}

}  // namespace
