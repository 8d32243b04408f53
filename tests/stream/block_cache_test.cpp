// The memory of blocks that have gone is kept for those that come, up to a bound.
#include "stream/buffers/block_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "sanitizers.hpp"

using namespace penstock;
using streaming::BlockCache;

namespace {

constexpr std::size_t kib = 1024;

struct Taken {
    std::byte* values;
    std::size_t bytes;
};

Taken take(BlockCache& cache, std::size_t bytes) {
    auto* const values = cache.take(bytes);
    return {values, bytes};
}

class BlockCacheTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!BlockCache::keeps) GTEST_SKIP() << "under the address sanitizer each block ends when it is given back";
    }
    void TearDown() override { cache->clear(); }
    std::unique_ptr<BlockCache> cache = std::make_unique<BlockCache>();
};

TEST_F(BlockCacheTest, what_is_given_back_is_taken_again_by_one_of_about_the_same_length) {
    const auto first = take(*cache, 60'000);
    EXPECT_GE(first.bytes, 60'000u);
    EXPECT_LE(first.bytes, 75'000u);
    cache->give(first.values, first.bytes);
    EXPECT_EQ(cache->kept(), first.bytes);
    const auto shorter = take(*cache, 10'000);
    EXPECT_NE(shorter.values, first.values);
    const auto again = take(*cache, 61'000);
    EXPECT_EQ(again.values, first.values);
    EXPECT_EQ(again.bytes, first.bytes);
    EXPECT_EQ(cache->kept(), 0u);
    for (const auto& each : {shorter, again}) cache->give(each.values, each.bytes);
}

TEST_F(BlockCacheTest, it_never_keeps_more_than_its_bounds_and_gives_up_the_oldest_first) {
    const auto all_of = [&](std::size_t bytes, std::size_t count) {
        std::vector<Taken> all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(take(*cache, bytes));
        for (const auto& each : all) {
            cache->give(each.values, each.bytes);
            EXPECT_LE(cache->kept(), BlockCache::most_kept);
        }
        return all.front().bytes;
    };
    EXPECT_EQ(all_of(4 * kib, 2 * BlockCache::most_blocks), 4 * kib);
    EXPECT_EQ(cache->kept(), BlockCache::most_blocks * 4 * kib);
    EXPECT_EQ(all_of(1024 * kib, 40), 1024 * kib);
    EXPECT_EQ(cache->kept(), BlockCache::most_kept);  // none of the short ones is left
    const auto before = cache->kept();
    const auto one = take(*cache, 4 * kib);
    EXPECT_EQ(cache->kept(), before);
    cache->give(one.values, one.bytes);
}

TEST_F(BlockCacheTest, short_and_very_long_blocks_are_left_to_malloc) {
    for (const std::size_t bytes :
         {std::size_t{1}, BlockCache::least_bytes - BlockCache::alignment, BlockCache::most_bytes + 1}) {
        const auto taken = take(*cache, bytes);
        EXPECT_LT(taken.bytes - bytes, BlockCache::alignment);
        cache->give(taken.values, taken.bytes);
        EXPECT_EQ(cache->kept(), 0u);
    }
    EXPECT_EQ(take(*cache, 0).values, nullptr);
    EXPECT_THROW(take(*cache, ~std::size_t{0}), std::bad_alloc);
}

TEST_F(BlockCacheTest, threads_never_get_the_same_block) {
    const auto work = [&](unsigned char mark) {
        for (int i = 0; i < 20'000; ++i) {
            const auto mine = take(*cache, 4 * kib);
            std::memset(mine.values, mark, 256);
            for (std::size_t at = 0; at < 256; ++at) ASSERT_EQ(static_cast<unsigned char>(mine.values[at]), mark);
            cache->give(mine.values, mine.bytes);
        }
    };
    std::thread other(work, static_cast<unsigned char>(1));
    work(2);
    other.join();
    // Who finds the lock taken uses malloc, so that more than two may be kept: never one of them twice.
    std::vector<Taken> kept;
    for (std::size_t i = 0; i < BlockCache::most_blocks && cache->kept() != 0; ++i)
        kept.push_back(take(*cache, 4 * kib));
    EXPECT_EQ(cache->kept(), 0u);
    std::set<std::byte*> different;
    for (const auto& each : kept) different.insert(each.values);
    EXPECT_EQ(different.size(), kept.size());
    for (const auto& each : kept) cache->give(each.values, each.bytes);
}

/// Buffers of 64 KiB.
struct Long {
    Output<std::byte> out{"out"};
    int left = 8;
    std::size_t kept = 0;  ///< once it has its first buffer
    bool operator()() {
        out.write(out.make(64 * kib));
        if (left == 8) kept = BlockCache::of_program().kept();
        return --left != 0;
    }
};

struct Drop {
    Input<std::byte> in{"in"};
    int got = 0;
    void operator()() {
        const auto buffer = in.read();
        ++got;
    }
};

TEST(BlockCacheOfRuns, a_run_leaves_its_memory_to_the_next) {
    if (!BlockCache::keeps) GTEST_SKIP();
    auto& cache = BlockCache::of_program();
    Machine machine({.targets = 0});
    cache.clear();
    std::size_t kept = 0;
    for (int i = 0; i < 3; ++i) {
        Graph graph;
        auto& source = graph.add<Long>("source");
        auto& drop = graph.add<Drop>("drop");
        graph.connect(source.out, drop.in);
        {
            auto run = graph.start(machine);
            run.finish();
        }
        EXPECT_EQ(drop.got, 8);
        EXPECT_EQ(source.kept, i == 0 ? 0 : kept - 64 * kib);
        kept = cache.kept();
        EXPECT_GE(kept, 64 * kib);
    }
}

TEST(BlockCacheOfRunsDeathTest, the_address_sanitizer_finds_who_uses_a_buffer_that_has_gone) {
    if (!penstock_tests::address_sanitizer) GTEST_SKIP();
    EXPECT_DEATH(
        {
            const std::byte* gone = nullptr;
            {
                const Buffer<std::byte> buffer(64 * kib);
                gone = buffer.span().data();
            }
            volatile std::byte read = *gone;
            (void)read;
        },
        "heap-use-after-free");
}

}  // namespace
