// Clusters whose agents are the other processes of a job of mpirun. The tests of PmixJob are run by those of Pmix, in
// jobs; they are skipped elsewhere.
#include "nodes/pmix.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "nodes/chain.hpp"
#include "nodes/engine_once.hpp"
#include "penstock/run.hpp"
#include "sanitizers.hpp"

#ifdef PENSTOCK_TEST_PMIX
#include <pmix.h>
#endif

namespace {

using namespace filters;
using namespace std::chrono_literals;
namespace pmix = nodes::pmix;

#ifdef PENSTOCK_TEST_PMIX
// What is declared by hand is as the headers of PMIx have it.
static_assert(sizeof(pmix::Process) == sizeof(pmix_proc_t));
static_assert(offsetof(pmix::Process, rank) == offsetof(pmix_proc_t, rank));
static_assert(sizeof(pmix::Value) == sizeof(pmix_value_t));
static_assert(offsetof(pmix::Value, data) == offsetof(pmix_value_t, data));
static_assert(std::is_same_v<decltype(pmix_value_t::type), decltype(pmix::Value::type)>);
static_assert(pmix::key_bytes == sizeof(pmix_key_t) && pmix::name_space_bytes == sizeof(pmix_nspace_t));
static_assert(pmix::all_ranks == PMIX_RANK_WILDCARD && pmix::to_all == PMIX_GLOBAL);
static_assert(pmix::type_string == PMIX_STRING && pmix::type_uint32 == PMIX_UINT32);
static_assert(std::string_view(pmix::job_size) == PMIX_JOB_SIZE);
static_assert(PMIX_SUCCESS == 0);
#endif

struct Ended {
    int code = 0;  ///< 128 and more: by a signal
    std::string said{};
};

/// A test of this program, by each process of a job.
Ended job(int processes, const std::string& test, const std::string& options = "") {
    const auto command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 120 mpirun "
        "--oversubscribe " +
        options + " -n " + std::to_string(processes) + " " + std::filesystem::read_symlink("/proc/self/exe").string() +
        " --gtest_color=no --gtest_filter=" + test + " 2>&1 </dev/null";
    Ended ended;
    FILE* const from = popen(command.c_str(), "r");
    if (from == nullptr) return {-1, "it cannot be started"};
    std::array<char, 4096> bytes;
    while (const auto got = std::fread(bytes.data(), 1, bytes.size(), from)) ended.said.append(bytes.data(), got);
    const int status = pclose(from);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
}

/// Of the program's process: the test ran there, and was not skipped.
bool passed(const Ended& ended) { return ended.said.find("[  PASSED  ] 1 test.") != std::string::npos; }

class Pmix : public testing::Test {
  protected:
    void SetUp() override {
        if (penstock_tests::sanitized) GTEST_SKIP() << "libpmix is not built with the sanitizer";
        if (std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no mpirun";
        if (dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL) == nullptr) GTEST_SKIP() << "there is no libpmix.so.2";
    }
};

class PmixJob : public testing::Test {
  protected:
    void SetUp() override {
        if (!pmix::in_job()) GTEST_SKIP() << "for a job of mpirun: Pmix runs it";
    }
};

ClusterOptions of_job(int nodes, int spares = 0) {
    auto options = workers(nodes);
    options.engine = "pmix";
    options.listen = "tcp:127.0.0.1:0";
    options.patience = 1s;
    options.spares = spares;
    return options;
}

/// Writes the rank of its process.
struct Rank {
    static constexpr bool may_be_copied = true;
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    void operator()() {
        auto buffer = in.read();
        buffer.edit()[0] = std::atoi(std::getenv("PMIX_RANK"));
        out.write(std::move(buffer));
    }
};

TEST_F(Pmix, the_processes_of_a_job_are_the_nodes_in_the_order_of_their_ranks) {
    const auto ended = job(4, "PmixJob.runs_a_graph");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, runs_a_graph) {
    auto options = of_job(1);
    options.nodes = {{"first", 1}, {"second", 2}};
    Cluster cluster(options);
    ASSERT_EQ(cluster.agents().size(), 3u);
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 1'000);
    auto& rank = graph.add<Rank>("rank", {.nodes = "first"});
    auto& add = graph.add<Rank>("add", {.copies = 2, .nodes = "second"});
    auto &one = graph.add<Collect>("one"), &other = graph.add<Collect>("other");
    graph.connect(source.out, rank.in);
    graph.connect(source.out, add.in);
    graph.connect(rank.out, one.in);
    graph.connect(add.out, other.in);
    auto run = graph.start(cluster);
    run.finish();
    EXPECT_EQ(one.got, std::vector<std::int64_t>(1'000, 1));
    ASSERT_EQ(other.got.size(), 1'000u);
    EXPECT_TRUE(std::ranges::all_of(other.got, [](auto each) { return each == 2 || each == 3; }));
}

TEST_F(Pmix, a_job_of_the_wrong_size_is_told_how_many_are_needed_and_ends) {
    for (const int processes : {1, 2, 4}) {
        const auto ended = job(processes, "PmixJob.counts_three");
        EXPECT_EQ(ended.code, 0) << ended.said;
        EXPECT_TRUE(passed(ended)) << ended.said;
    }
}
TEST_F(PmixJob, counts_three) {
    try {
        Cluster cluster(of_job(1, 1));
        ADD_FAILURE();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("needs a job of 3 processes, and this one has "), std::string::npos)
            << error.what();
    }
    EXPECT_THROW(Cluster{of_job(1, 1)}, UsageError);  // the others have gone
}

TEST_F(Pmix, a_program_that_makes_no_cluster_ends_and_the_others_with_it) {
    const auto ended = job(3, "PmixJob.makes_none");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, makes_none) { EXPECT_FALSE(pmix::is_other()); }

TEST_F(Pmix, a_job_has_one_cluster_and_that_is_said) {
    const auto ended = job(2, "PmixJob.makes_two");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, makes_two) {
    Cluster cluster(of_job(1));
    try {
        Cluster another(of_job(1));
        ADD_FAILURE();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("a job has one cluster"), std::string::npos) << error.what();
    }
}

TEST_F(Pmix, mpirun_ends_a_job_of_which_an_agent_is_killed) {
    const auto ended = job(3, "PmixJob.loses_one");
    EXPECT_NE(ended.code, 0) << ended.said;
    EXPECT_NE(ended.code, 124) << ended.said;
    EXPECT_FALSE(passed(ended)) << ended.said;
}
TEST_F(Pmix, in_a_job_that_goes_on_the_program_is_told_of_a_dead_node) {
    const auto ended = job(3, "PmixJob.loses_one", "--continuous");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, loses_one) {
    Cluster cluster(of_job(2));
    WorkChain chain(OnNodeLoss::replay, true, 100'000);
    auto run = chain.graph.start(cluster);
    chain.wait_for(100);
    hit(cluster, "workers.1", SIGKILL);
    try {
        run.finish();
        ADD_FAILURE();
    } catch (const NodeDied& died) {
        EXPECT_EQ(died.node(), "workers.1");
        EXPECT_NE(std::string(died.what()).find("ClusterOptions::spares"), std::string::npos) << died.what();
    }
    WorkChain another(OnNodeLoss::stop, true, 10);
    try {
        (void)another.graph.start(cluster);
        ADD_FAILURE();
    } catch (const NodeDied& died) {  // not that it was waited for in vain
        EXPECT_NE(std::string(died.what()).find("nothing has taken its place"), std::string::npos) << died.what();
    }
    EXPECT_EQ(cluster.agents().size(), 1u);
}

TEST_F(Pmix, a_spare_of_the_job_takes_a_dead_nodes_place) {
    const auto ended = job(4, "PmixJob.uses_a_spare", "--continuous");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, uses_a_spare) {
    Cluster cluster(of_job(2, 1));
    WorkChain chain(OnNodeLoss::replay, true, 5'000);
    auto run = chain.graph.start(cluster);
    chain.wait_for(100);
    hit(cluster, "workers.0", SIGKILL);
    EXPECT_NO_THROW(run.finish());
    EXPECT_EQ(chain.sink->got, numbers(5'000));
    EXPECT_EQ(cluster.replaced(), 1u);
    EXPECT_TRUE(run.lost().empty());
}

/// That of the job; a spare is killed when it is to take a node's place.
class HandOver final : public Engine {
  public:
    explicit HandOver(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {
        engine_->died = [this](int site, std::uint32_t generation, const std::string& how) {
            if (died) died(site, generation, how);
        };
    }
    void start(const Node& node, const std::string& invitation) override { engine_->start(node, invitation); }
    void end(const Node& node) noexcept override { engine_->end(node); }
    void becomes(const Node& spare, const Node& node) override {
        engine_->becomes(spare, node);
        at_hand_over(spare.name);
    }
    bool starts_others() const noexcept override { return engine_->starts_others(); }

    std::function<void(const std::string& spare)> at_hand_over{};

  private:
    const std::shared_ptr<Engine> engine_;
};

TEST_F(Pmix, a_spare_that_dies_at_the_hand_over_is_passed_over) {
    const auto ended = job(4, "PmixJob.kills_a_spare", "--continuous");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, kills_a_spare) {
    auto options = of_job(1, 2);
    const auto engine = std::make_shared<HandOver>(penstock::nodes::pmix_engine(options));
    options.own_engine = engine;
    Cluster cluster(options);
    int handed_over = 0;
    engine->at_hand_over = [&, processes = processes_of(cluster)](const std::string& spare) {
        if (handed_over++ == 0) kill(processes.at(spare), SIGKILL);
    };
    WorkChain chain(OnNodeLoss::replay, true, 3'000);
    auto run = chain.graph.start(cluster);
    chain.wait_for(100);
    hit(cluster, "workers.0", SIGKILL);
    EXPECT_NO_THROW(run.finish());
    EXPECT_EQ(chain.sink->got, numbers(3'000));
    EXPECT_EQ(handed_over, 2);
    EXPECT_EQ(cluster.replaced(), 1u);
}

/// Two namespaces, each joined to this one, that mpirun takes for machines.
class Hosts {
  public:
    Hosts() {
        usable_ = geteuid() == 0;
        for (int i = 0; usable_ && i < 2; ++i) {
            const auto net = "10." + std::to_string(230 + i) + "." + std::to_string(getpid() % 250) + ".";
            const auto in = "ip netns exec " + name(i) + " ";
            if (i == 0) here_ = net + "1";
            usable_ = does("ip netns add " + name(i)) &&
                      does("ip link add " + device(i) + " type veth peer name eth0 netns " + name(i)) &&
                      does("ip addr add " + net + "1/24 dev " + device(i)) &&
                      does("ip link set " + device(i) + " up") && does(in + "ip addr add " + net + "2/24 dev eth0") &&
                      does(in + "ip link set eth0 up") && does(in + "ip link set lo up") &&
                      does(in + "ip route add default via " + net + "1");
        }
        // In place of ssh: into the namespace, which gets a name of its own.
        std::ofstream(script()) << "#!/bin/sh\nhost=$1\nshift\n"
                                   "exec ip netns exec $host unshare -u sh -c \"hostname $host; $*\"\n";
        std::filesystem::permissions(script(), std::filesystem::perms::owner_all);
        usable_ = usable_ && does("ip netns exec " + name(0) + " unshare -u true");
    }
    ~Hosts() {
        for (int i = 0; i < 2; ++i) does("ip netns del " + name(i)), does("ip link del " + device(i));
        std::filesystem::remove(script());
    }
    bool usable() const { return usable_; }
    std::string here() const { return here_; }
    std::string options() const {
        return "--host localhost:1," + name(0) + ":1," + name(1) + ":1 --mca plm_rsh_agent " + script();
    }

  private:
    static bool does(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
    static std::string name(int number) { return "pmix" + std::to_string(getpid()) + "-" + std::to_string(number); }
    static std::string device(int number) {
        return "pj" + std::to_string(getpid() % 100'000) + "." + std::to_string(number);
    }
    static std::string script() {
        return (std::filesystem::temp_directory_path() / ("pmix-rsh-" + std::to_string(getpid()))).string();
    }
    bool usable_ = false;
    std::string here_;
};

TEST_F(Pmix, a_job_goes_over_machines) {
    const Hosts hosts;
    if (!hosts.usable()) GTEST_SKIP() << "there are no network namespaces to be had (ip netns, as root)";
    setenv("PENSTOCK_TEST_HERE", hosts.here().c_str(), 1);
    const auto ended = job(3, "PmixJob.runs_on_other_machines", hosts.options());
    unsetenv("PENSTOCK_TEST_HERE");
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_TRUE(passed(ended)) << ended.said;
}
TEST_F(PmixJob, runs_on_other_machines) {
    auto options = of_job(2);
    options.listen = std::string("tcp:") + std::getenv("PENSTOCK_TEST_HERE") + ":0";
    options.patience = 5s;
    Cluster cluster(options);
    const auto agents = cluster.agents();
    ASSERT_EQ(agents.size(), 2u);
    EXPECT_NE(agents[0].host, agents[1].host);
    WorkChain chain(OnNodeLoss::stop, true, 1'000);
    auto run = chain.graph.start(cluster);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(1'000));
}

TEST(PmixOutside, a_cluster_outside_any_job_is_refused_and_becoming_an_agent_does_nothing) {
    if (pmix::in_job()) GTEST_SKIP() << "this is a job";
    become_agent("pmix");
    EXPECT_THROW(become_agent("hand"), UsageError);
    if (dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL) == nullptr) GTEST_SKIP() << "there is no libpmix.so.2";
    try {
        Cluster cluster(of_job(1));
        ADD_FAILURE();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("mpirun -n N"), std::string::npos) << error.what();
    }
}

}  // namespace
