// The shared heap: arrays of a machine, what is told of their places, and what comes back when they go.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "penstock/error.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace task_tests;
using penstock::Machine;

void add_one(std::span<const int> from, std::span<int> to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + 1;
}

TEST(Heap, arrays_of_a_machine_are_arguments_like_any_others) {
    Machine machine(with_targets(1));
    auto from = machine.array<int>(1000);
    auto to = machine.array<int>(1000);
    EXPECT_EQ(std::accumulate(from.begin(), from.end(), 0), 0) << "elements begin as zeros";
    std::iota(from.begin(), from.end(), 5);
    machine.call<add_one>(penstock::in(from), penstock::out(to)).wait();
    for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], static_cast<int>(i) + 6);
}

TEST(Heap, another_mapping_of_the_descriptor_shows_the_array_at_its_place) {
    Machine machine(with_targets(0));
    auto values = machine.array<double>(3000);
    values[2999] = 0.25;
    const auto place = machine.heap()->place_of(values.data());
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto from = place.offset / page * page;
    const auto length = place.offset - from + values.size() * sizeof(double);
    void* const other = mmap(nullptr, length, PROT_READ, MAP_SHARED, machine.heap()->descriptor(place.segment),
                             static_cast<off_t>(from));
    ASSERT_NE(other, MAP_FAILED);
    double seen = 0;
    std::memcpy(&seen, static_cast<std::byte*>(other) + (place.offset - from) + 2999 * sizeof(double), sizeof seen);
    EXPECT_EQ(seen, 0.25);
    munmap(other, length);
    int outside = 0;
    EXPECT_THROW(machine.heap()->place_of(&outside), penstock::UsageError);
    EXPECT_THROW(machine.heap()->descriptor(1), penstock::UsageError);
}

TEST(Heap, a_forked_child_neither_frees_nor_takes_the_memory_of_its_parent) {
    Machine machine(with_targets(0));
    auto values = machine.array<char>(std::size_t{4} << 20);
    std::fill(values.begin(), values.end(), 'p');
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        bool refused = false;
        try {
            (void)machine.heap()->allocate(100);
        } catch (const penstock::MachineGone&) {
            refused = true;
        }
        {
            auto taken = std::move(values);
        }
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(std::count(values.begin(), values.end(), 'p'), static_cast<std::ptrdiff_t>(values.size()));
}

TEST(Heap, an_array_outlives_its_machine) {
    penstock::SharedArray<int> kept;
    {
        Machine machine(with_targets(0));
        kept = machine.array<int>(10);
        kept[9] = 7;
    }
    EXPECT_EQ(kept[9], 7);
}

TEST(Heap, more_than_there_is_is_refused_and_nothing_is_lost) {
    Machine machine(with_targets(0));
    EXPECT_EQ(machine.heap()->used(), 0u);
    try {
        machine.array<char>(machine.heap()->size());
        ADD_FAILURE() << "nothing was thrown";
    } catch (const penstock::SystemError& error) {
        EXPECT_EQ(error.number(), ENOMEM);
    }
    EXPECT_THROW(machine.array<double>(machine.heap()->size()), std::bad_array_new_length);
    EXPECT_EQ(machine.array<int>(0).size(), 0u);
    EXPECT_EQ(machine.heap()->used(), 0u);
}

TEST(Heap, blocks_never_overlap_and_all_come_back) {
    const auto heap = penstock::SharedHeap::create();
    std::mt19937 random(4);
    struct Block {
        std::byte* data;
        std::size_t bytes;
        std::byte mark;
    };
    std::vector<Block> blocks;
    const auto check_and_release = [&](std::size_t i) {
        for (std::size_t at = 0; at < blocks[i].bytes; at += 97) ASSERT_EQ(blocks[i].data[at], blocks[i].mark);
        heap->release(blocks[i].data);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
    };
    for (int turn = 0; turn < 3000; ++turn) {
        if (blocks.size() < 50 && random() % 5 < 3) {
            const std::size_t bytes = random() % 10 == 0 ? random() % 3'000'000 + 1 : random() % 5000 + 1;
            const auto mark = static_cast<std::byte>(turn);
            blocks.push_back({heap->allocate(bytes), bytes, mark});
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().data) % penstock::SharedHeap::alignment, 0u);
            std::memset(blocks.back().data, static_cast<int>(mark), bytes);
        } else if (!blocks.empty()) {
            check_and_release(random() % blocks.size());
        }
    }
    while (!blocks.empty()) check_and_release(0);
    EXPECT_EQ(heap->used(), 0u);
    EXPECT_EQ(heap->allocate(heap->size() / 1024), heap->base()) << "the free pieces have grown together again";
}

TEST(Heap, addresses_are_used_again) {
    const auto first = penstock::SharedHeap::create()->base();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(penstock::SharedHeap::create()->base(), first);
}

}  // namespace
