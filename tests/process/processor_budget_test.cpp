#include "process/processor_budget.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "child_process.hpp"
#include "penstock/detail/process/identity.hpp"
#include "penstock/error.hpp"
#include "process/budget_table.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace penstock;
namespace fs = std::filesystem;

Topology flat(int processors) {
    std::vector<int> allowed;
    for (int i = 0; i < processors; ++i) allowed.push_back(i);
    return Topology::detect({.flat = true, .allowed = allowed, .quiet = true});
}

std::set<int> set_of(std::span<const int> processors) { return {processors.begin(), processors.end()}; }

// Budgets over a made-up machine of eight processors, with the table in a folder of the test's own.
class ProcessorBudgetTest : public testing::Test {
  protected:
    ProcessorBudget join(const std::string& name) const {
        return ProcessorBudget::join(name, {.directory = folder.path(), .topology = &topology});
    }
    std::vector<fs::path> files() const { return {fs::directory_iterator(folder.path()), fs::directory_iterator()}; }

    TemporaryFolder folder;
    Topology topology = flat(8);
};

TEST_F(ProcessorBudgetTest, machines_of_one_process_get_different_processors) {
    auto budget = join("");
    const auto first = budget.claim(3);
    const auto second = join("").claim(5);
    auto all = set_of(first.processors());
    all.merge(set_of(second.processors()));
    EXPECT_EQ(all.size(), 8u);
    EXPECT_EQ(first.shared(), 0);
    EXPECT_EQ(second.shared(), 0);
    EXPECT_EQ(budget.members().size(), 2u);
    EXPECT_TRUE(files().empty());
}

TEST_F(ProcessorBudgetTest, says_how_many_had_to_be_shared) {
    auto budget = join("");
    const auto first = budget.claim(6);
    const auto second = budget.claim(4);
    EXPECT_EQ(second.processors().size(), 4u);
    EXPECT_EQ(second.shared(), 2);
    // The two that were free are first, so that they are used first.
    EXPECT_FALSE(set_of(first.processors()).contains(second.processors()[0]));
    EXPECT_FALSE(set_of(first.processors()).contains(second.processors()[1]));
}

TEST_F(ProcessorBudgetTest, the_least_claimed_are_shared) {
    auto budget = join("");
    const auto everything = budget.claim(8);
    const auto half = budget.claim(4);
    const auto rest = budget.claim(4);
    auto shared_twice = set_of(half.processors());
    for (const int processor : rest.processors()) EXPECT_FALSE(shared_twice.contains(processor));
}

TEST_F(ProcessorBudgetTest, a_released_claim_is_free_again) {
    auto budget = join("");
    std::set<int> first;
    {
        const auto claim = budget.claim(8);
        first = set_of(claim.processors());
    }
    auto again = budget.claim(8);
    EXPECT_EQ(again.shared(), 0);
    again.release();
    again.release();
    EXPECT_TRUE(again.processors().empty());
    EXPECT_TRUE(budget.members().empty());
}

TEST_F(ProcessorBudgetTest, a_claim_moves_without_being_released) {
    auto budget = join("");
    auto first = budget.claim(2);
    auto second = std::move(first);
    EXPECT_EQ(budget.members().size(), 1u);
    second = budget.claim(3);
    ASSERT_EQ(budget.members().size(), 1u);
    EXPECT_EQ(budget.members()[0].processors.size(), 3u);
}

TEST_F(ProcessorBudgetTest, more_than_there_are_gives_all_that_there_are) {
    const auto claim = join("").claim(10'000);
    EXPECT_EQ(set_of(claim.processors()).size(), 8u);
    EXPECT_EQ(claim.shared(), 0);
}

TEST_F(ProcessorBudgetTest, a_wish_for_nearness_is_granted_while_it_is_free) {
    auto budget = join("");
    const auto first = budget.claim(1, 6);
    EXPECT_EQ(first.processors()[0], 6);
    const auto second = budget.claim(1, 6);
    EXPECT_NE(second.processors()[0], 6);
    EXPECT_EQ(budget.claim(1, 12345).processors().size(), 1u);
}

TEST_F(ProcessorBudgetTest, bad_requests_are_refused) {
    EXPECT_THROW(join("").claim(0), UsageError);
    EXPECT_THROW(join("").claim(-3), UsageError);
    for (const auto* name : {"../etc", "a/b", ".hidden", "white space", "-x", "\xc3\xa4"})
        EXPECT_THROW(join(name), UsageError);
    EXPECT_THROW(join(std::string(65, 'a')), UsageError);
    EXPECT_NO_THROW(join(std::string(64, 'a')));
}

TEST_F(ProcessorBudgetTest, processes_that_join_one_name_get_different_processors) {
    const auto mine = join("job").claim(3);
    ChildProcess child([&](auto say) {
        auto claim = join("job").claim(5);
        say(claim.shared() == 0 ? 'd' : 's');
        pause();
        return 0;
    });
    ASSERT_EQ(child.heard(), 'd');
    const auto members = join("job").members();
    ASSERT_EQ(members.size(), 2u);
    std::set<int> all;
    for (const auto& member : members) all.insert(member.processors.begin(), member.processors.end());
    EXPECT_EQ(all.size(), 8u);
    EXPECT_EQ(members[1].process.pid, child.number());
    EXPECT_EQ(join("job").claim(1).shared(), 1);
}

TEST_F(ProcessorBudgetTest, another_name_is_another_budget) {
    const auto mine = join("one").claim(8);
    ChildProcess child([&](auto) { return join("two").claim(8).shared(); });
    EXPECT_EQ(child.collect(), 0);
}

TEST_F(ProcessorBudgetTest, machines_of_one_process_avoid_each_other_across_budgets) {
    const auto named = join("job").claim(4);
    const auto plain = join("").claim(4);
    EXPECT_EQ(plain.shared(), 0);
    EXPECT_EQ(join("other").claim(1).shared(), 1);
}

TEST_F(ProcessorBudgetTest, what_a_killed_process_claimed_is_recovered) {
    for (const bool collected : {false, true}) {
        ChildProcess child([&](auto say) {
            auto claim = join("job").claim(8);
            say('c');
            pause();
            return 0;
        });
        ASSERT_EQ(child.heard(), 'c');
        EXPECT_EQ(join("job").claim(1).shared(), 1);
        child.kill_now();
        child.wait_until_dead();
        if (collected) child.collect();
        EXPECT_EQ(join("job").claim(8).shared(), 0);
    }
    EXPECT_TRUE(files().empty());
}

TEST_F(ProcessorBudgetTest, processes_killed_at_any_moment_leave_a_table_that_works) {
    auto budget = join("job");
    for (int round = 0; round < 40; ++round) {
        ChildProcess child([&](auto say) -> int {
            say('b');
            for (;;) auto claim = join("job").claim(1 + round % 8);
        });
        ASSERT_EQ(child.heard(), 'b');
        usleep(static_cast<useconds_t>(round * 61 % 1500));
        child.kill_now();
        child.wait_until_dead();
        const auto claim = budget.claim(8);
        ASSERT_EQ(claim.shared(), 0) << "round " << round;
    }
    EXPECT_TRUE(budget.members().empty());
    EXPECT_TRUE(files().empty());
}

TEST_F(ProcessorBudgetTest, processes_that_claim_at_once_never_get_the_same_processor) {
    constexpr int processes = 4;
    std::vector<std::unique_ptr<ChildProcess>> children;
    for (int i = 0; i < processes; ++i)
        children.push_back(std::make_unique<ChildProcess>([&](auto) {
            for (int round = 0; round < 100; ++round)
                if (join("job").claim(2).shared() != 0) return 1;
            return 0;
        }));
    for (auto& child : children) EXPECT_EQ(child->collect(), 0);
    EXPECT_TRUE(files().empty());
}

TEST_F(ProcessorBudgetTest, threads_that_claim_at_once_never_get_the_same_processor) {
    std::vector<std::thread> threads;
    std::atomic<int> shared{0};
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 100; ++round) shared += join(i % 2 == 0 ? "" : "job").claim(2).shared();
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(shared.load(), 0);
}

TEST_F(ProcessorBudgetTest, a_forked_child_neither_holds_nor_gives_back_its_parents_claim) {
    auto budget = join("job");
    auto claim = budget.claim(4);
    ChildProcess child([&](auto) {
        claim.release();
        return static_cast<int>(join("").members().size());
    });
    EXPECT_EQ(child.collect(), 0);
    ASSERT_EQ(budget.members().size(), 1u);
    EXPECT_EQ(budget.members()[0].process.pid, getpid());
}

TEST_F(ProcessorBudgetTest, a_damaged_table_is_repaired) {
    auto budget = join("job");
    const auto claim = budget.claim(2);
    ASSERT_EQ(files().size(), 1u);
    std::ofstream(files()[0], std::ios::app) << "deadbeef 1 1 1 0,1,2,3,4,5,6,7\n\0\xff garbage\n12 34";
    EXPECT_EQ(budget.members().size(), 1u);
    std::ofstream(files()[0]) << std::string(100'000, 'x');
    EXPECT_TRUE(budget.members().empty());
}

TEST_F(ProcessorBudgetTest, a_number_that_was_given_to_a_later_process_holds_nothing) {
    auto budget = join("job");
    const auto claim = budget.claim(1);
    ASSERT_EQ(files().size(), 1u);
    budget::table_in_file(files()[0])([](auto& entries) {
        entries.push_back({{getpid(), ProcessIdentity::of_this_process().start_time + 1}, 99, {0, 1, 2}, ""});
    });
    EXPECT_EQ(budget.members().size(), 1u);
}

TEST_F(ProcessorBudgetTest, a_lock_that_is_never_opened_is_an_error_and_not_a_hang) {
    auto budget = join("job");
    const auto claim = budget.claim(1);
    const int file = open(files().at(0).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(file, LOCK_EX), 0);
    EXPECT_THROW(budget.claim(1), SystemError);
    EXPECT_EQ(join("").members().size(), 1u);
    close(file);
    EXPECT_EQ(budget.claim(1).shared(), 0);
}

TEST_F(ProcessorBudgetTest, a_table_that_others_could_write_is_not_trusted) {
    auto budget = join("job");
    auto claim = budget.claim(1);
    const auto file = files().at(0);
    fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
    EXPECT_THROW(budget.claim(1), SystemError);
    fs::remove(file);
    fs::create_symlink("/dev/null", file);
    EXPECT_THROW(budget.claim(1), SystemError);
    EXPECT_NO_THROW(claim.release());
}

TEST_F(ProcessorBudgetTest, is_named_by_the_environment) {
    setenv("PENSTOCK_BUDGET", "from-the-environment", 1);
    EXPECT_EQ(ProcessorBudget::from_environment().name(), "from-the-environment");
    setenv("PENSTOCK_BUDGET", "", 1);
    EXPECT_EQ(ProcessorBudget::from_environment().name(), "");
    unsetenv("PENSTOCK_BUDGET");
    EXPECT_EQ(ProcessorBudget::from_environment().name(), "");
}

TEST(ProcessorChoice, takes_whole_cores_before_their_second_threads_and_stays_near) {
    std::optional<Topology> topology;
    try {
        topology = Topology::detect({.synthetic = "pack:2 [numa] l3:1 core:2 pu:2"});
    } catch (const UsageError&) {
        GTEST_SKIP() << "built without hwloc";
    }
    // Cores {0 1} {2 3} on the first socket, {4 5} {6 7} on the second.
    EXPECT_EQ(budget::chosen(*topology, {}, 8, 4), (std::vector{4, 6, 0, 2, 5, 7, 1, 3}));
    EXPECT_EQ(budget::chosen(*topology, {}, 2, -1), (std::vector{0, 2}));
    EXPECT_EQ(budget::chosen(*topology, {{0, 1}}, 2, -1), (std::vector{2, 4}));
    EXPECT_EQ(budget::chosen(*topology, {{0, 1}}, 1, 1), (std::vector{1}));
}

TEST(ProcessIdentity, tells_the_living_from_the_dead) {
    const auto self = ProcessIdentity::of_this_process();
    EXPECT_EQ(self.pid, getpid());
    EXPECT_TRUE(self.alive());
    EXPECT_FALSE((ProcessIdentity{self.pid, self.start_time + 1}.alive()));
    EXPECT_FALSE((ProcessIdentity{(1 << 22) + 1, 0}.alive()));
}

}  // namespace
