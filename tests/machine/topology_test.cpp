#include "penstock/topology.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "child_process.hpp"
#include "penstock/error.hpp"

namespace {

using namespace penstock;

bool built_with_hwloc() {
    try {
        Topology::detect({.synthetic = "core:1 pu:1"});
        return true;
    } catch (const UsageError&) {
        return false;
    }
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

// Two sockets, each a node with an L3; two cores share an L2; each core has two hardware threads.
const char* big = "pack:2 [numa] l3:1(size=33554432) l2:2(size=1048576) core:2 l1d:1(size=32768) pu:2";

TEST(Topology, here_holds_the_processors_of_the_affinity_mask) {
    const auto& here = Topology::here();
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(static_cast<int>(here.processors().size()), CPU_COUNT(&mask));
    for (const auto& processor : here.processors()) EXPECT_TRUE(CPU_ISSET(processor.index, &mask));
    EXPECT_GE(here.usable(), 1);
    EXPECT_LE(here.usable(), CPU_COUNT(&mask));
    EXPECT_EQ(&here, &Topology::here());
    EXPECT_FALSE(here.description().empty());
    EXPECT_EQ(here.line_size() & (here.line_size() - 1), 0u);
}

TEST(Topology, a_pinned_first_caller_does_not_hide_the_other_processors) {
    const auto all = Topology::here().processors().size();
    std::size_t seen = 0;
    std::thread([&] {
        ASSERT_TRUE(pin_this_thread(Topology::here().processors().front().index));
        seen = Topology::detect({.quiet = true}).processors().size();
    }).join();
    EXPECT_EQ(seen, all);
}

TEST(Topology, a_pinned_main_thread_that_is_alone_does_not_hide_the_other_processors) {
    const auto all = Topology::here().processors().size();
    // A forked child has one thread.
    ChildProcess child([&](auto) {
        if (!pin_this_thread(Topology::here().processors().front().index)) return 1;
        return Topology::detect({.quiet = true}).processors().size() == all ? 0 : 2;
    });
    EXPECT_EQ(child.collect(), 0);
}

TEST(Topology, features_are_those_that_the_kernel_lists) {
#if defined(__x86_64__)
    std::ifstream in("/proc/cpuinfo");
    std::string flags;
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("flags")) flags = " " + line + " ";
    ASSERT_FALSE(flags.empty());
    const auto has = [&](const char* flag) { return flags.find(std::string(" ") + flag + " ") != std::string::npos; };
    if (has("waitpkg")) {
        EXPECT_EQ(Topology::here().features().monitor_wait, MonitorWait::umwait);
    }
    if (has("mwaitx") && !has("waitpkg")) {
        EXPECT_EQ(Topology::here().features().monitor_wait, MonitorWait::mwaitx);
    }
    if (has("cldemote")) {
        EXPECT_TRUE(Topology::here().has_cldemote());
    }
#else
    EXPECT_EQ(Topology::here().features().monitor_wait, MonitorWait::none);
    EXPECT_FALSE(Topology::here().has_cldemote());
#endif
}

TEST(Topology, distances_follow_what_processors_share) {
    if (!built_with_hwloc()) GTEST_SKIP() << "built without hwloc";
    const auto topology = Topology::detect({.synthetic = big});
    ASSERT_EQ(topology.processors().size(), 16u);
    EXPECT_FALSE(topology.flat());
    EXPECT_EQ(topology.distance(0, 0), Distance::same_processor);
    EXPECT_EQ(topology.distance(0, 1), Distance::same_core);
    EXPECT_EQ(topology.distance(0, 2), Distance::shared_l2);
    EXPECT_EQ(topology.distance(0, 4), Distance::shared_l3);
    EXPECT_EQ(topology.distance(0, 8), Distance::other);
    EXPECT_EQ(topology.distance(8, 0), Distance::other);
    EXPECT_EQ(name(topology.distance(0, 2)), "shared L2");
    EXPECT_EQ(topology.nodes(), (std::vector{0, 1}));
    const auto* processor = topology.find(5);
    ASSERT_NE(processor, nullptr);
    EXPECT_EQ(processor->l1d.bytes, 32u << 10);
    EXPECT_EQ(processor->l2.bytes, 1u << 20);
    EXPECT_EQ(processor->l3.bytes, 32u << 20);
    EXPECT_EQ(topology.find(9)->package, 1);
}

TEST(Topology, processors_without_a_common_cache_are_near_by_their_node_only) {
    if (!built_with_hwloc()) GTEST_SKIP() << "built without hwloc";
    const auto topology = Topology::detect({.synthetic = "numa:2 core:2 pu:1"});
    EXPECT_EQ(topology.distance(0, 1), Distance::same_node);
    EXPECT_EQ(topology.distance(0, 2), Distance::other);
}

TEST(Topology, only_allowed_processors_are_seen) {
    if (!built_with_hwloc()) GTEST_SKIP() << "built without hwloc";
    const auto topology = Topology::detect({.synthetic = big, .allowed = std::vector{9, 3, 3}});
    ASSERT_EQ(topology.processors().size(), 2u);
    EXPECT_EQ(topology.processors()[0].index, 3);
    EXPECT_EQ(topology.processors()[1].index, 9);
    EXPECT_EQ(topology.find(4), nullptr);
    EXPECT_THROW(static_cast<void>(topology.distance(3, 4)), UsageError);
    EXPECT_EQ(topology.usable(), 2);
}

TEST(Topology, bad_options_are_refused) {
    EXPECT_THROW(Topology::detect({.synthetic = "no such thing:x"}), UsageError);
    EXPECT_THROW(Topology::detect({.allowed = std::vector<int>{}}), UsageError);
    EXPECT_THROW(Topology::detect({.allowed = std::vector{-1}}), UsageError);
}

TEST(Topology, a_flat_machine_has_every_processor_and_shares_nothing) {
    const auto topology = Topology::detect({.flat = true, .allowed = std::vector{2, 5, 700}, .quiet = true});
    EXPECT_TRUE(topology.flat());
    ASSERT_EQ(topology.processors().size(), 3u);
    EXPECT_EQ(topology.processors()[2].index, 700);
    EXPECT_EQ(topology.distance(2, 5), Distance::same_node);
    EXPECT_GE(topology.line_size(), 16u);
}

TEST(Topology, processors_that_hwloc_does_not_know_make_the_machine_flat) {
    const auto topology = Topology::detect({.allowed = std::vector{0, 1 << 18}, .quiet = true});
    EXPECT_TRUE(topology.flat());
    EXPECT_EQ(topology.processors().size(), 2u);
}

TEST(Topology, a_flat_machine_is_warned_of_exactly_once) {
    testing::internal::CaptureStderr();
    const bool flat_anyway = Topology::here().flat();  // then an earlier test in this process may have had the warning
    for (int i = 0; i < 3; ++i) Topology::detect({.flat = true});
    const auto warnings = occurrences(testing::internal::GetCapturedStderr(), "penstock:");
    EXPECT_LE(warnings, 1u);
    if (!flat_anyway) {
        EXPECT_EQ(warnings, 1u);
    }
}

TEST(ThisThread, runs_where_it_is_pinned) {
    for (const auto& processor : Topology::here().processors()) {
        std::thread([&] {
            ASSERT_TRUE(pin_this_thread(processor.index));
            EXPECT_EQ(current_processor(), processor.index);
        }).join();
    }
}

TEST(ThisThread, can_be_let_loose_again) {
    std::thread([] {
        ASSERT_TRUE(pin_this_thread(Topology::here().processors().front().index));
        ASSERT_TRUE(unpin_this_thread());
        cpu_set_t mask;
        ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
        EXPECT_EQ(CPU_COUNT(&mask), static_cast<int>(Topology::here().processors().size()));
    }).join();
}

TEST(ThisThread, pinning_to_what_is_not_there_is_refused) {
    EXPECT_FALSE(pin_this_thread(100'000));
    EXPECT_FALSE(pin_this_thread(2'000'000'000));
    EXPECT_THROW(static_cast<void>(pin_this_thread(-1)), UsageError);
}

TEST(ThisThread, has_the_name_that_it_was_given_cut_to_fifteen_bytes) {
    std::thread([] {
        char got[64] = {};
        name_this_thread("target 3");
        pthread_getname_np(pthread_self(), got, sizeof got);
        EXPECT_STREQ(got, "target 3");
        name_this_thread("a name that is much too long");
        pthread_getname_np(pthread_self(), got, sizeof got);
        EXPECT_STREQ(got, "a name that is ");
    }).join();
}

}  // namespace
