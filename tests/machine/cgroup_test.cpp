#include "machine/cgroup.hpp"

#include <gtest/gtest.h>

#include "penstock/topology.hpp"
#include "temporary_folder.hpp"

namespace {

using penstock::DetectOptions;
using penstock::Topology;
namespace cgroup = penstock::cgroup;

constexpr const char* version_2_mount =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroup, a_quota_of_version_2_is_read_from_the_own_group) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/user/job\n");
    root.write("proc/self/mountinfo", version_2_mount);
    root.write("sys/fs/cgroup/user/job/cpu.max", "150000 100000\n");
    EXPECT_DOUBLE_EQ(cgroup::processor_quota(root.path()).value(), 1.5);
}

TEST(Cgroup, the_tightest_quota_of_all_parents_counts) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/user/job\n");
    root.write("proc/self/mountinfo", version_2_mount);
    root.write("sys/fs/cgroup/user/job/cpu.max", "400000 100000\n");
    root.write("sys/fs/cgroup/user/cpu.max", "25000 50000\n");
    EXPECT_DOUBLE_EQ(cgroup::processor_quota(root.path()).value(), 0.5);
}

TEST(Cgroup, max_means_no_quota) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/\n");
    root.write("proc/self/mountinfo", version_2_mount);
    root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
    EXPECT_FALSE(cgroup::processor_quota(root.path()).has_value());
}

TEST(Cgroup, a_quota_of_version_1_is_found_beside_other_controllers) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "9:cpuset:/elsewhere\n4:cpuacct,cpu:/job\n0::/\n");
    root.write("proc/self/mountinfo",
               "30 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
               "32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    EXPECT_DOUBLE_EQ(cgroup::processor_quota(root.path()).value(), 3.0);
}

TEST(Cgroup, a_container_sees_its_group_as_the_root_of_the_mount) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "4:cpu:/docker/abc/inner\n");
    root.write("proc/self/mountinfo", "32 30 0:29 /docker/abc /groups\\040here rw - cgroup cgroup rw,cpu\n");
    root.write("groups here/inner/cpu.cfs_quota_us", "50000\n");
    root.write("groups here/inner/cpu.cfs_period_us", "100000\n");
    EXPECT_DOUBLE_EQ(cgroup::processor_quota(root.path()).value(), 0.5);
}

TEST(Cgroup, nonsense_and_absence_mean_no_quota) {
    TemporaryFolder root;
    EXPECT_FALSE(cgroup::processor_quota(root.path()).has_value());
    root.write("proc/self/cgroup", "0::/../..\nnot a line\n::\n");
    root.write("proc/self/mountinfo", "garbage\n" + std::string(version_2_mount));
    root.write("sys/fs/cgroup/cpu.max", "much 0\n");
    EXPECT_FALSE(cgroup::processor_quota(root.path()).has_value());
}

TEST(Cgroup, memory_left_counts_page_cache_as_free) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/job\n");
    root.write("proc/self/mountinfo", version_2_mount);
    root.write("sys/fs/cgroup/job/memory.max", "1000000\n");
    root.write("sys/fs/cgroup/job/memory.current", "700000\n");
    root.write("sys/fs/cgroup/job/memory.stat", "anon 500000\ninactive_file 150000\nactive_file 50000\n");
    EXPECT_EQ(cgroup::memory_left(root.path()).value(), 500000u);
}

TEST(Topology, a_quota_limits_how_many_threads_are_usable_rounded_up) {
    TemporaryFolder root;
    root.write("proc/self/cgroup", "0::/\n");
    root.write("proc/self/mountinfo", version_2_mount);
    DetectOptions options{.flat = true, .allowed = std::vector{0, 1, 2, 3}, .root = root.path(), .quiet = true};
    EXPECT_EQ(Topology::detect(options).usable(), 4);
    root.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    const auto limited = Topology::detect(options);
    EXPECT_EQ(limited.usable(), 2);
    EXPECT_DOUBLE_EQ(limited.quota().value(), 1.5);
    EXPECT_NE(limited.description().find("quota of 1.50 processors"), std::string::npos);
    root.write("sys/fs/cgroup/cpu.max", "100 100000\n");
    EXPECT_EQ(Topology::detect(options).usable(), 1);
    root.write("sys/fs/cgroup/cpu.max", "900000 100000\n");
    EXPECT_EQ(Topology::detect(options).usable(), 4);
}

}  // namespace
