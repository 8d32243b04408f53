#include "penstock/detail/machine/memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "child_process.hpp"
#include "penstock/topology.hpp"

namespace {

using namespace penstock;

constexpr std::size_t mib = 1 << 20;

bool all_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

int copy_of(const SharedMemory& memory) { return fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 0); }

// A memfd as another program might make one, not by our rules.
int foreign_memory(std::size_t bytes, int seals) {
    const int descriptor = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(descriptor, static_cast<off_t>(bytes)), 0);
    if (seals != 0) {
        EXPECT_EQ(fcntl(descriptor, F_ADD_SEALS, seals), 0);
    }
    return descriptor;
}

TEST(LocalMemory, is_zeroed_aligned_to_a_page_and_present) {
    const LocalMemory memory(100'000);
    EXPECT_EQ(memory.size(), 100'000u);
    EXPECT_EQ(address(memory.data()) % static_cast<std::uintptr_t>(getpagesize()), 0u);
    EXPECT_TRUE(all_zero(memory.bytes()));
    std::vector<unsigned char> present(100'000 / static_cast<std::size_t>(getpagesize()) + 1);
    ASSERT_EQ(mincore(memory.data(), memory.size(), present.data()), 0);
    for (const auto page : present) EXPECT_EQ(page & 1, 1);
}

TEST(LocalMemory, of_nothing_is_nothing) {
    const LocalMemory memory(0);
    EXPECT_EQ(memory.data(), nullptr);
    EXPECT_TRUE(memory.bytes().empty());
}

TEST(LocalMemory, large_enough_is_aligned_to_a_huge_page_where_it_asks_for_them) {
    const LocalMemory memory(5 * mib + 1);
    if (memory.asks_for_huge_pages()) {
        EXPECT_EQ(address(memory.data()) % (2 * mib), 0u);
    }
    memory.bytes().back() = std::byte{1};
    EXPECT_FALSE(LocalMemory(4096).asks_for_huge_pages());
}

TEST(LocalMemory, can_be_wished_for_on_every_node) {
    for (const int node : Topology::here().nodes()) {
        const LocalMemory memory(mib, node);
        EXPECT_TRUE(all_zero(memory.bytes()));
        EXPECT_TRUE(memory.node() == node || memory.node() == LocalMemory::nearest_node);
    }
    const LocalMemory nowhere(4096, 1000);
    EXPECT_EQ(nowhere.node(), LocalMemory::nearest_node);
    EXPECT_TRUE(all_zero(nowhere.bytes()));
}

TEST(LocalMemory, that_is_not_there_is_refused_with_the_reason) {
    for (const std::size_t bytes : {std::size_t{1} << 46, std::numeric_limits<std::size_t>::max()}) {
        try {
            const LocalMemory memory(bytes);
            FAIL() << "got " << bytes << " bytes";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.number(), ENOMEM);
            EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos);
        }
    }
    EXPECT_THROW(LocalMemory(1, -2), UsageError);
}

TEST(LocalMemory, moves_and_leaves_nothing_behind) {
    LocalMemory first(4096);
    first.data()[5] = std::byte{42};
    LocalMemory second(std::move(first));
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(second.data()[5], std::byte{42});
    LocalMemory third(8192);
    third = std::move(second);
    EXPECT_EQ(third.size(), 4096u);
    EXPECT_EQ(second.size(), 0u);
}

TEST(SharedMemory, is_zeroed_and_allocated_for_real_at_creation) {
    const auto memory = SharedMemory::create("test", mib + 3);
    EXPECT_EQ(memory.size(), mib + 3);
    EXPECT_TRUE(all_zero(memory.bytes()));
    struct stat status{};
    ASSERT_EQ(fstat(memory.descriptor(), &status), 0);
    EXPECT_GE(static_cast<std::size_t>(status.st_blocks) * 512, mib + 3);
}

TEST(SharedMemory, comes_by_huge_pages_when_asked_or_says_that_it_did_not) {
    const auto small = SharedMemory::create("small", mib, Pages::huge);
    EXPECT_EQ(small.huge_bytes(), 0u);
    const auto plain = SharedMemory::create("plain", 8 * mib);
    const auto memory = SharedMemory::create("huge", 8 * mib + 5, Pages::huge);
    EXPECT_TRUE(all_zero(memory.bytes()));
    EXPECT_LE(memory.huge_bytes(), 8 * mib);
    EXPECT_GE(memory.huge_bytes(), plain.huge_bytes());
    RecordProperty("huge_bytes", static_cast<int>(memory.huge_bytes()));
    // Somebody else can map it in the same way.
    const auto peer = SharedMemory::adopt(copy_of(memory));
    EXPECT_EQ(address(peer.data()) % (2 * mib), address(memory.data()) % (2 * mib));
    memory.bytes().back() = std::byte{3};
    EXPECT_EQ(peer.bytes().back(), std::byte{3});
    EXPECT_EQ(ftruncate(memory.descriptor(), 4096), -1);
}

TEST(SharedMemory, can_neither_shrink_nor_grow) {
    const auto memory = SharedMemory::create("test", 8192);
    EXPECT_EQ(ftruncate(memory.descriptor(), 4096), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(ftruncate(memory.descriptor(), 16384), -1);
    EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, is_the_same_memory_where_it_is_adopted) {
    const auto owner = SharedMemory::create("test", 8192);
    const auto peer = SharedMemory::adopt(copy_of(owner), 8192);
    EXPECT_NE(owner.data(), peer.data());
    owner.data()[8000] = std::byte{9};
    EXPECT_EQ(peer.data()[8000], std::byte{9});
}

TEST(SharedMemory, is_shared_with_another_process_and_outlives_it) {
    const auto owner = SharedMemory::create("test", 4096);
    const int sent = copy_of(owner);
    ChildProcess child([&](auto) {
        const auto peer = SharedMemory::adopt(sent, 4096);
        peer.data()[1] = std::byte{77};
        return 0;
    });
    EXPECT_EQ(child.collect(), 0);
    EXPECT_EQ(owner.data()[1], std::byte{77});
    close(sent);
}

TEST(SharedMemory, that_is_not_sealed_is_not_adopted_and_its_descriptor_is_closed) {
    for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_GROW}) {
        const int descriptor = foreign_memory(4096, seals);
        EXPECT_THROW(SharedMemory::adopt(descriptor), InvalidSharedMemory);
        EXPECT_FALSE(is_open(descriptor));
    }
}

TEST(SharedMemory, that_is_too_small_is_not_adopted_and_the_error_has_both_sizes) {
    const int descriptor = foreign_memory(4096, F_SEAL_SHRINK | F_SEAL_GROW);
    try {
        SharedMemory::adopt(descriptor, 4097);
        FAIL() << "adopted";
    } catch (const InvalidSharedMemory& error) {
        EXPECT_EQ(error.expected(), 4097u);
        EXPECT_EQ(error.actual(), 4096u);
    }
    EXPECT_FALSE(is_open(descriptor));
    EXPECT_THROW(SharedMemory::adopt(foreign_memory(0, F_SEAL_SHRINK | F_SEAL_GROW)), InvalidSharedMemory);
}

TEST(SharedMemory, is_not_made_of_what_is_no_memory) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_THROW(SharedMemory::adopt(ends[0]), InvalidSharedMemory);
    EXPECT_THROW(SharedMemory::adopt(-1), SystemError);
    EXPECT_THROW(SharedMemory::adopt(ends[0]), SystemError);  // closed by the first
    close(ends[1]);
}

TEST(SharedMemory, frozen_is_writable_for_who_has_it_and_read_only_for_newcomers) {
    auto owner = SharedMemory::create("test", 4096);
    EXPECT_FALSE(owner.frozen());
    owner.freeze();
    owner.freeze();
    EXPECT_TRUE(owner.frozen());
    owner.data()[0] = std::byte{1};
    EXPECT_THROW(SharedMemory::adopt(copy_of(owner)), SystemError);
    const auto reader = SharedMemory::adopt(copy_of(owner), 4096, SharedMemory::Access::read_only);
    EXPECT_EQ(reader.data()[0], std::byte{1});
}

TEST(SharedMemory, that_is_not_there_is_an_error_at_creation) {
    EXPECT_THROW(SharedMemory::create("test", std::size_t{1} << 46), SystemError);
    EXPECT_THROW(SharedMemory::create("test", std::numeric_limits<std::size_t>::max()), SystemError);
    EXPECT_THROW(SharedMemory::create("test", 0), UsageError);
}

TEST(SharedMemory, that_the_kernel_refuses_is_an_error_with_its_number) {
    ChildProcess child([](auto) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
        try {
            SharedMemory::create("test", 1 << 20);
        } catch (const SystemError& error) {
            return error.number() == EFBIG ? 0 : 3;
        }
        return 4;
    });
    EXPECT_EQ(child.collect(), 0);
}

TEST(SharedMemory, moves_and_closes_its_descriptor_once) {
    int descriptor = -1;
    {
        auto first = SharedMemory::create(std::string(1000, 'x'), 4096);
        descriptor = first.descriptor();
        SharedMemory second(std::move(first));
        EXPECT_EQ(first.descriptor(), -1);
        EXPECT_EQ(second.descriptor(), descriptor);
        SharedMemory third;
        third = std::move(second);
        EXPECT_TRUE(is_open(descriptor));
    }
    EXPECT_FALSE(is_open(descriptor));
}

}  // namespace
