// Regions and remotes: what is stored arrives as it was, where it was meant to, and nowhere else.
#include "penstock/region.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "penstock/barrier.hpp"
#include "penstock/remote.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using penstock::Barrier;
using penstock::Block;
using penstock::Flag;
using penstock::Multicast;
using penstock::Region;
using penstock::Remote;
using penstock::RemoteFlag;
using penstock::StoreWay;

// Loading through a remote does not compile (tests/compile_fail shows the message).
template <class R>
concept converts = requires(R remote) { static_cast<float>(remote[0]); };
template <class R>
concept stores = requires(R remote) { remote[0] = 1.0f; };
template <class R>
concept copies_elements = requires(R remote) { remote[0] = remote[1]; };
template <class R>
concept gives_memory = requires(R remote) { remote.data(); };
static_assert(stores<Remote<float>> && !converts<Remote<float>>);
static_assert(!copies_elements<Remote<float>> && !gives_memory<Remote<float>>);
static_assert(gives_memory<Region<float>>);

class RegionTest : public TeamTest {
  protected:
    /// Rank 1 stores into the region of `size` floats that rank 0 owns; then rank 0 compares with `expected`.
    template <class Store>
    void expect_stored(std::size_t size, Store store, const std::vector<float>& expected) {
        run(2, [&](Rank me) {
            if (me.index() == 0) {
                Region<float> region(me, "inbox", size);
                Flag ready(me, "ready");
                region.grant(1);
                ready.grant(1);
                ready.wait();
                require(std::ranges::equal(region.elements(), expected), "everything arrives where it was meant to");
            } else {
                auto remote = Remote<float>::accept(me, 0, "inbox");
                auto ready = RemoteFlag::accept(me, 0, "ready");
                store(remote);
                remote.publish(ready);
            }
        });
    }
};

std::vector<float> numbered(std::size_t size) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

TEST_P(RegionTest, elements_arrive_where_they_were_stored) {
    expect_stored(5,
                  [](auto& remote) {
                      require(remote.size() == 5 && remote.owner() == 0 && remote.name() == "inbox",
                              "it says what it is");
                      remote[1] = 7.0f;
                      remote.store(4, 8.0f);
                      const auto& constant = remote;
                      constant[0] = 9.0f;
                  },
                  {9, 7, 0, 0, 8});
}

TEST_P(RegionTest, spans_of_all_lengths_and_places_arrive_by_every_way) {
    run(2, [](Rank me) {
        constexpr std::size_t size = 1'000;
        Barrier barrier(me, "steps");
        const auto from = [](unsigned seed) {
            std::mt19937 random(seed);
            std::array<std::size_t, 2> place{random() % size, 0};
            place[1] = random() % (std::min<std::size_t>(size - place[0], 1u << random() % 11) + 1);
            return place;
        };
        constexpr unsigned steps = 300;
        std::vector<unsigned char> expected(size);
        std::vector<unsigned char> values(size);
        std::optional<Region<unsigned char>> region;
        std::optional<Remote<unsigned char>> remote;
        if (me.index() == 0) {
            region.emplace(me, "bytes", size);
            region->grant(1);
        } else {
            remote.emplace(Remote<unsigned char>::accept(me, 0, "bytes"));
        }
        for (unsigned step = 0; step < steps; ++step) {
            const auto [offset, count] = from(step);
            std::ranges::fill(values, static_cast<unsigned char>(step + 1));
            std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), count, values[0]);
            if (remote) {
                remote->set_way(static_cast<StoreWay>(step % 3));
                if (step % 2 == 0) remote->store(offset, std::span<const unsigned char>(values).first(count));
                else remote->fill(offset, count, values[0]);
            }
            barrier.arrive_and_wait();
            if (region) require(std::ranges::equal(region->elements(), expected), "nothing else is touched");
            barrier.arrive_and_wait();
        }
    });
}

TEST_P(RegionTest, a_large_span_arrives_whole_the_way_that_was_measured) {
    const auto values = numbered(1u << 20);
    expect_stored(values.size(), [&](auto& remote) { remote.store(0, std::span(values)); }, values);
}

TEST_P(RegionTest, a_rectangle_arrives_row_by_row) {
    const auto source = numbered(5 * 7);
    std::vector<float> expected(4 * 10);
    for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 4; ++column)
            expected[11 + row * 10 + column] = source[2 + row * 7 + column];
    expect_stored(
        40, [&](auto& remote) { remote.store_strided(Block{11, 3, 4, 10}, std::span(source).subspan(2), 7); },
        expected);
}

TEST_P(RegionTest, a_transposed_rectangle_arrives_transposed) {
    for (const auto& [rows, columns] : {std::pair{1u, 1u}, {3u, 50u}, {16u, 16u}, {40u, 33u}, {17u, 64u}}) {
        const std::size_t source_pitch = rows + 3;
        const std::size_t pitch = columns + 5;
        const auto source = numbered(columns * source_pitch);
        std::vector<float> expected(2 + rows * pitch);
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t column = 0; column < columns; ++column)
                expected[2 + row * pitch + column] = source[column * source_pitch + row];
        expect_stored(
            expected.size(),
            [&](auto& remote) {
                remote.store_transposed(Block{2, rows, columns, pitch}, std::span(source), source_pitch);
            },
            expected);
    }
}

TEST_P(RegionTest, several_consumers_get_what_is_multicast) {
    run(4, [](Rank me) {
        constexpr std::size_t size = 10'000;
        if (me.index() == 0) {
            std::vector<Remote<int>> remotes;
            std::vector<RemoteFlag> flags;
            for (int rank = 1; rank < 4; ++rank) {
                remotes.push_back(Remote<int>::accept(me, rank, "frame"));
                flags.push_back(RemoteFlag::accept(me, rank, "ready"));
            }
            const Multicast<int> all(std::move(remotes));
            std::vector<int> values(size);
            std::iota(values.begin(), values.end(), 0);
            all.store(0, values);
            all.store(3, -3);
            all.fill(10, 5, 77);
            all.publish(flags);
        } else {
            Region<int> frame(me, "frame", size);
            Flag ready(me, "ready");
            frame.grant(0);
            ready.grant(0);
            ready.wait(penstock::Awaited::rank(0));
            for (std::size_t i = 0; i < size; ++i)
                require(frame[i] == (i == 3 ? -3 : i >= 10 && i < 15 ? 77 : static_cast<int>(i)), "all get the same");
        }
    });
}

TEST_P(RegionTest, everything_out_of_bounds_is_refused_with_what_and_where) {
    run(2, [](Rank me) {
        if (me.index() == 0) {
            Region<int> region(me, "ten", 10);
            Flag done(me, "done");
            region.grant(1);
            done.grant(1);
            done.wait();
            for (const int value : region) require(value == 0, "nothing was stored");
            try {
                region.at(10);
                require(false, "the owner is told too");
            } catch (const penstock::OutOfBounds&) {
            }
            return;
        }
        auto remote = Remote<int>::accept(me, 0, "ten");
        auto done = RemoteFlag::accept(me, 0, "done");
        constexpr auto huge = std::numeric_limits<std::size_t>::max();
        const std::vector<int> values(20, 1);
        const std::span<const int> source(values);
        const auto refuses = [](std::size_t index, std::size_t count, auto&& action) {
            try {
                action();
            } catch (const penstock::OutOfBounds& error) {
                require(error.region() == "ten" && error.size() == 10, "the region is named");
                require(error.index() == index && error.count() == count, "the place is named");
                return;
            }
            require(false, "it is refused");
        };
        refuses(10, 1, [&] { remote[10] = 1; });
        refuses(huge, 1, [&] { remote.store(huge, 1); });
        refuses(0, 11, [&] { remote.store(0, source.first(11)); });
        refuses(9, 2, [&] { remote.store(9, source.first(2)); });
        refuses(huge, 2, [&] { remote.store(huge, source.first(2)); });
        refuses(11, 0, [&] { remote.store(11, source.first(0)); });
        refuses(1, huge, [&] { remote.fill(1, huge, 1); });
        refuses(5, 6, [&] { remote.store_strided(Block{5, 2, 1, 5}, source, 10); });
        refuses(0, huge, [&] { remote.store_strided(Block{0, 3, 1, huge / 2 + 1}, source, 10); });
        refuses(0, huge, [&] { remote.store_transposed(Block{0, huge, 2, huge}, source, 10); });
        remote.store(10, source.first(0));
        remote.store_strided(Block{10, 0, 7, 7}, source, 7);
        done.set();
    });
}

TEST_P(RegionTest, rows_that_overlap_and_sources_that_are_too_small_are_refused) {
    run(2, [](Rank me) {
        Region<int> region(me, "mine", 100);
        region.grant(1 - me.index());
        auto remote = Remote<int>::accept(me, 1 - me.index(), "mine");
        const std::vector<int> values(20, 1);
        const auto refuses = [](auto&& action) {
            try {
                action();
            } catch (const penstock::UsageError&) {
                return;
            }
            require(false, "it is refused");
        };
        refuses([&] { remote.store_strided(Block{0, 2, 5, 4}, values, 5); });
        refuses([&] { remote.store_strided(Block{0, 2, 5, 5}, values, 4); });
        refuses([&] { remote.store_strided(Block{0, 3, 5, 5}, values, 8); });
        refuses([&] { remote.store_transposed(Block{0, 3, 8, 8}, values, 3); });
        for (const int value : region) require(value == 0, "nothing was stored");
        Barrier(me, "end").arrive_and_wait();
    });
}

TEST_P(RegionTest, a_region_of_huge_pages_is_a_region_like_all_others) {
    run(2, [](Rank me) {
        constexpr std::size_t size = std::size_t{5} << 20;
        Region<unsigned char> region(me, "large", size, {.pages = penstock::Pages::huge});
        require(region.huge_bytes() <= size + 4096 && region.huge_bytes() % 4096 == 0, "it says what it came by");
        region.grant(1 - me.index());
        auto remote = Remote<unsigned char>::accept(me, 1 - me.index(), "large");
        Barrier end(me, "end");
        remote.fill(0, size, 7);
        end.arrive_and_wait();
        require(std::ranges::count(region, 7) == static_cast<std::ptrdiff_t>(size), "everything arrives");
        end.arrive_and_wait();
    });
}

TEST_P(RegionTest, no_region_is_empty_or_larger_than_memory) {
    run(1, [](Rank me) {
        try {
            Region<int>(me, "empty", 0);
            require(false, "no elements are refused");
        } catch (const penstock::UsageError&) {
        }
        for (const auto size : {std::size_t{1} << 50, std::numeric_limits<std::size_t>::max()}) {
            try {
                Region<double>(me, "huge", size);
                require(false, "too much is refused");
            } catch (const penstock::SystemError& error) {
                require(error.number() == ENOMEM, "for a lack of memory");
            }
        }
    });
}

TEST_P(RegionTest, a_region_of_other_elements_is_refused) {
    run(2, [](Rank me) {
        Region<float> region(me, "floats", 8);
        region.grant(1 - me.index());
        try {
            Remote<double>::accept(me, 1 - me.index(), "floats");
            require(false, "it is refused");
        } catch (const penstock::InvalidGrant&) {
        }
        Barrier(me, "end").arrive_and_wait();
    });
}

TEST_P(RegionTest, a_region_that_was_not_granted_cannot_be_accepted) {
    run(3, [](Rank me) {
        Barrier end(me, "end");
        Region<int> region(me, "private", 8);
        if (me.index() == 0) region.grant(1);
        if (me.index() == 1) Remote<int>::accept(me, 0, "private");
        if (me.index() == 2) {
            try {
                Remote<int>::accept(me, 0, "private", 50ms);
                require(false, "it has no grant");
            } catch (const penstock::GrantMissing&) {
            }
        }
        end.arrive_and_wait();
    });
}

TEST_P(RegionTest, what_is_stored_after_the_owner_has_gone_harms_nobody) {
    run(2, [](Rank me) {
        if (me.index() == 0) {
            Region<int> region(me, "short-lived", 1000);
            region.grant(1);
            return;
        }
        auto remote = Remote<int>::accept(me, 0, "short-lived");
        me.wait_unless([&] { return me.gone(0); }, [] { return -1; });
        remote.fill(0, 1000, 3);
    });
}

TEST(Region, a_frozen_region_cannot_be_mapped_for_writing_by_anybody_else) {
    SKIP_UNDER_THREAD_SANITIZER();
    // Whoever gets hold of the descriptor, through /proc, finds the kernel in the way; and nobody can change its size.
    const auto program = [](Rank me) {
        Barrier barrier(me, "steps");
        Region<int> region(me, "final", 1000);
        Region<int> open(me, "open", 1000);
        region.grant(1 - me.index());
        auto remote = Remote<int>::accept(me, 1 - me.index(), "final");
        region.freeze();
        barrier.arrive_and_wait();
        int frozen = 0;
        int writable = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code ignored;
            const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
            const bool is_final = target.find("penstock-final") != std::string::npos;
            if (!is_final && target.find("penstock-open") == std::string::npos) continue;
            const int number = std::stoi(entry.path().filename().string());
            require(ftruncate(number, 1) != 0 && ftruncate(number, 1 << 20) != 0, "its size is fixed");
            void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
            (is_final ? frozen : writable) += (mapped == MAP_FAILED) == is_final;
            if (mapped != MAP_FAILED) munmap(mapped, 4096);
        }
        require(frozen == 2 && writable == 1, "both frozen ones are closed, the other one is open to its owner");
        barrier.arrive_and_wait();
        remote[7] = 7;  // who had it before still stores
        barrier.arrive_and_wait();
        require(region[7] == 7, "and it arrives");
        barrier.arrive_and_wait();
    };
    penstock::spmd(2, program, {.substrate = Substrate::processes});
}

TEST(StoreWays, each_way_has_a_name_and_a_name_has_its_way) {
    for (const auto way : {StoreWay::plain, StoreWay::demote, StoreWay::stream}) {
        EXPECT_EQ(penstock::store_way_of(penstock::name(way)), way);
        for (const std::size_t bytes : {1u, 4096u, 1u << 30}) EXPECT_EQ(penstock::StoreWays(way).of(bytes), way);
    }
    EXPECT_FALSE(penstock::store_way_of("sideways"));
}

TEST(StoreWays, what_was_measured_is_told) {
    const auto ways = penstock::StoreWays::measure(std::chrono::minutes(5)).value();  // however busy it is here
    EXPECT_EQ(ways.of(1), StoreWay::plain);
    for (const auto bytes : penstock::StoreWays::sizes)
        EXPECT_NE(ways.description().find(penstock::name(ways.of(bytes))), std::string::npos) << ways.description();
    RecordProperty("ways", ways.description());
}

TEST(StoreWays, measuring_gives_up_where_it_takes_too_long) {
    const auto ways = penstock::StoreWays::measure(std::chrono::minutes(5));
    ASSERT_TRUE(ways);
    if (ways->line_time() == 0) GTEST_SKIP() << "there is nothing to measure here";
    EXPECT_FALSE(penstock::StoreWays::measure(std::chrono::milliseconds(0)));
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(RegionTest);

}  // namespace
