// What the tests of harm done by worker processes share: a worker writes over the memory that it shares with the
// program, anyhow and anywhere.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/bounded_child.hpp"
#include "tests/task/support.hpp"

namespace corruption {

inline constexpr std::size_t page = 4096;

/// The pages in use of all shared mappings that this process may write. In a worker: the control memory and the arrays.
inline std::vector<char*> shared_pages() {
    std::vector<char*> pages;
    FILE* const maps = std::fopen("/proc/self/maps", "r");
    if (maps == nullptr) return pages;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long begin = 0;
        unsigned long end = 0;
        char access[8];
        if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3) continue;
        if (access[1] != 'w' || access[3] != 's' || std::strstr(line, "memfd") == nullptr) continue;
        std::vector<unsigned char> there(65536);
        // What a machine has taken lies at the front of its heaps.
        for (auto at = begin; at < end && at < begin + (1ul << 30); at += there.size() * page) {
            const auto bytes = std::min<std::size_t>(end - at, there.size() * page);
            if (mincore(reinterpret_cast<void*>(at), bytes, there.data()) != 0) continue;
            for (std::size_t i = 0; i < bytes / page; ++i)
                if ((there[i] & 1) != 0) pages.push_back(reinterpret_cast<char*>(at + i * page));
        }
    }
    std::fclose(maps);
    return pages;
}

/// One of four kinds of harm, by the seed.
inline void write_over(unsigned seed) {
    std::mt19937 random(seed);
    const auto pages = shared_pages();
    if (pages.empty()) return;
    const auto any_page = [&] { return pages[random() % pages.size()]; };
    switch (seed % 4) {
        case 0:  // some words
            for (unsigned i = 0, words = 1 + random() % 300; i < words; ++i) {
                auto* const word = reinterpret_cast<volatile std::uint64_t*>(any_page()) + random() % (page / 8);
                *word = random() % 3 == 0   ? std::uint64_t{random()} << 32 | random()
                        : random() % 3 == 0 ? ~std::uint64_t{0}
                                            : random() % 16;
            }
            return;
        case 1: {  // a whole page
            char* const at = any_page();
            for (std::size_t i = 0; i < page; ++i) at[i] = static_cast<char>(random());
            return;
        }
        case 2:  // zeros and ones
            for (char* const at : pages)
                if (random() % 4 == 0) std::memset(at, random() % 2 == 0 ? 0 : 0xff, page);
            return;
        default:  // single bits, up or down
            for (char* const at : pages)
                for (std::size_t i = 0; i < page / 4; ++i) {
                    auto* const word = reinterpret_cast<volatile std::uint32_t*>(at) + i;
                    if (*word != 0 && random() % 16 == 0)
                        *word = *word + (random() % 2 == 0 ? 1u : ~0u) * (1u << random() % 31);
                }
    }
}

/// Several at once: most of a round's time goes by while the supervisor is patient.
template <class Live>
void rounds(unsigned count, Live live) {
    std::atomic<unsigned> next{1};
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> threads;
    // The address sanitizer's allocator is not free in the child of a process whose other threads use it.
    for (int i = 0; i < (task_tests::under_asan ? 1 : 6); ++i)
        threads.emplace_back([&] {
            for (unsigned seed; (seed = next.fetch_add(1)) <= count;) {
                const auto ending = penstock_tests::ending_of([&live, seed] { return live(seed); },
                                                              std::chrono::seconds(task_tests::under_asan ? 60 : 30));
                if (ending.good()) continue;
                const std::lock_guard lock(mutex);
                wrong += "seed " + std::to_string(seed) + ": " + ending.text() + "\n";
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, "");
}

}  // namespace corruption
