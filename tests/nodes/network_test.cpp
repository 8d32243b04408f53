// Nodes in network namespaces of their own, as machines beside one another: partitions that heal and that do not, old
// agents that come back, a node that is slower than the others. Skipped where there are no namespaces to be had.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>

#include "nodes/chain.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;
using namespace std::chrono_literals;

bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// A namespace joined to this one by a pair of devices.
class Elsewhere {
  public:
    explicit Elsewhere(int number)
        : number_(number), name_("penstock-test-" + std::to_string(getpid()) + "-" + std::to_string(number)),
          device_("pt" + std::to_string(getpid() % 100'000) + "." + std::to_string(number)) {
        const auto in = "ip netns exec " + name_ + " ";
        const auto net = "10." + std::to_string(200 + number) + "." + std::to_string(getpid() % 250) + ".";
        here_ = net + "1";
        usable_ = geteuid() == 0 && succeeds("ip netns add " + name_) &&
                  succeeds("ip link add " + device_ + " type veth peer name eth0 netns " + name_) &&
                  succeeds("ip addr add " + here_ + "/24 dev " + device_) &&
                  succeeds("ip link set " + device_ + " up") && succeeds(in + "ip addr add " + net + "2/24 dev eth0") &&
                  succeeds(in + "ip link set eth0 up") && succeeds(in + "ip link set lo up") &&
                  // to the address at which the program listens, which is that of the first
                  succeeds(in + "ip route add default via " + here_);
    }
    ~Elsewhere() {
        succeeds("ip netns del " + name_);
        succeeds("ip link del " + device_);
    }
    bool usable() const { return usable_; }
    std::vector<std::string> inside() const { return {"ip", "netns", "exec", name_}; }
    std::string here() const { return here_; }
    void cut() { succeeds("ip link set " + device_ + " down"); }
    void heal() { succeeds("ip link set " + device_ + " up"); }
    /// Both ways.
    bool slow_down(const std::string& rate) {
        const auto shape = " root tbf rate " + rate + " burst 16kb latency 50ms";
        return succeeds("tc qdisc add dev " + device_ + shape) &&
               succeeds("ip netns exec " + name_ + " tc qdisc add dev eth0" + shape);
    }

  private:
    int number_;
    std::string name_, device_, here_;
    bool usable_ = false;
};

/// Starts agents with whatever stands before the program's name in the command.
class TestEngine final : public Engine {
  public:
    using Before = std::function<std::vector<std::string>(const Node&)>;
    explicit TestEngine(Before before) : before_(std::move(before)) {}
    ~TestEngine() override {
        {
            const std::lock_guard guard(lock_);
            for (auto& [key, process] : processes_) kill(process, SIGKILL);
        }
        for (auto& thread : threads_) thread.join();
    }
    void start(const Node& node, const std::string& invitation) override {
        auto command = before_(node);
        command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
        std::vector<char*> words;
        for (auto& word : command) words.push_back(word.data());
        words.push_back(nullptr);
        const auto variable = "PENSTOCK_INVITATION=" + invitation;
        std::vector<char*> environment;
        for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
        environment.push_back(const_cast<char*>(variable.c_str()));
        environment.push_back(nullptr);
        const int child = fork();
        if (child == 0) {
            execvpe(words[0], words.data(), environment.data());
            _exit(127);
        }
        const std::lock_guard guard(lock_);
        processes_[{node.site, node.generation}] = child;
        threads_.emplace_back([this, child, key = std::pair(node.site, node.generation)] {
            int status = 0;
            waitpid(child, &status, 0);
            {
                const std::lock_guard of_ends(lock_);
                processes_.erase(key);
                if (WIFEXITED(status)) exit_codes.push_back(WEXITSTATUS(status));
            }
            if (tells && died) died(key.first, key.second, "its process ended");
        });
    }
    void end(const Node&) noexcept override {}  // as where nobody can reach it
    void becomes(const Node&, const Node&) override {}

    bool tells = true;
    std::mutex lock_;
    std::vector<int> exit_codes;

  private:
    Before before_;
    std::map<std::pair<int, std::uint32_t>, int> processes_;
    std::vector<std::thread> threads_;
};

ClusterOptions over(const Elsewhere& first, std::shared_ptr<Engine> engine, int nodes) {
    auto options = workers(nodes);
    options.own_engine = std::move(engine);
    options.listen = "tcp:" + first.here() + ":0";
    return options;
}

constexpr WorkOptions two{.copies = 2, .micros = 300};

class Networks : public testing::Test {
  protected:
    void SetUp() override {
        if (!one.usable() || !other.usable()) GTEST_SKIP() << "no network namespaces can be made here (they need root)";
    }
    std::vector<std::string> in_turn(const Node& node) const { return (node.site % 2 == 1 ? one : other).inside(); }
    Elsewhere one{1}, other{2};
};

TEST_F(Networks, a_graph_runs_over_two_machines) {
    Cluster cluster(over(one, std::make_shared<TestEngine>([&](const Node& node) { return in_turn(node); }), 2));
    WorkChain chain(OnNodeLoss::stop, true, 2'000, two);
    auto run = chain.graph.start(cluster);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(2'000));
}

TEST_F(Networks, a_partition_that_heals_loses_nothing) {
    auto options = over(one, std::make_shared<TestEngine>([&](const Node& node) { return in_turn(node); }), 2);
    options.patience = 8s;
    Cluster cluster(options);
    for (const auto loss : {OnNodeLoss::stop, OnNodeLoss::lose, OnNodeLoss::replay}) {
        const bool ordered = loss != OnNodeLoss::lose;
        WorkChain chain(loss, ordered, 3'000, two);
        auto run = chain.graph.start(cluster);
        chain.wait_for(300);
        other.cut();
        std::this_thread::sleep_for(700ms);
        other.heal();
        run.finish();
        if (!ordered) std::ranges::sort(chain.sink->got);
        EXPECT_EQ(chain.sink->got, numbers(3'000));
        EXPECT_TRUE(run.lost().empty());
    }
    EXPECT_EQ(cluster.replaced(), 0u);
}

TEST_F(Networks, a_slow_link_holds_its_writer_back_and_loses_nothing) {
    if (!other.slow_down("1mbit")) GTEST_SKIP() << "no link can be slowed down here (tc)";
    Cluster cluster(over(one, std::make_shared<TestEngine>([&](const Node& node) { return in_turn(node); }), 2));
    WorkChain chain(OnNodeLoss::replay, true, 1'500, {.copies = 2, .micros = 0});
    auto run = chain.graph.start(cluster);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(1'500));
    EXPECT_EQ(cluster.replaced(), 0u);
}

TEST_F(Networks, an_agent_behind_a_partition_is_replaced_and_kept_out_when_it_heals) {
    // Its next generation runs beside the first node, where the network works.
    const auto engine = std::make_shared<TestEngine>(
        [&](const Node& node) { return node.generation > 1 ? one.inside() : in_turn(node); });
    auto options = over(one, engine, 2);
    options.patience = 1s;
    {
        Cluster cluster(options);
        WorkChain chain(OnNodeLoss::replay, true, 3'000, two);
        auto run = chain.graph.start(cluster);
        chain.wait_for(300);
        other.cut();
        run.finish();
        EXPECT_EQ(chain.sink->got, numbers(3'000));
        EXPECT_EQ(cluster.replaced(), 1u);
        other.heal();
        // The old agent has given up by itself meanwhile, or is told that it does not belong there any more.
        const auto until = std::chrono::steady_clock::now() + 10s;
        const auto ended = [&] {
            const std::lock_guard guard(engine->lock_);
            return std::ranges::any_of(engine->exit_codes, [](int code) { return code == 3 || code == 4; });
        };
        while (!ended() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(10ms);
        EXPECT_TRUE(ended());
    }
}

struct AsFastAsItsNode {
    static constexpr bool may_be_copied = true;
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    void operator()() {
        auto buffer = in.read();
        const char* const slow = std::getenv("PENSTOCK_TEST_SLOW");
        std::this_thread::sleep_for(slow != nullptr ? 5ms : 500us);
        buffer.edit()[0] = slow != nullptr;
        out.write(std::move(buffer));
    }
};

TEST(SlowNodes, a_slow_node_gets_less_where_demand_drives) {
    const auto engine = std::make_shared<TestEngine>([](const Node& node) {
        return node.site == 1 ? std::vector<std::string>{"env", "PENSTOCK_TEST_SLOW=1"}
                              : std::vector<std::string>{"env"};
    });
    auto options = workers(2);
    options.own_engine = engine;
    options.listen = "unix";
    Cluster cluster(options);
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 1'000);
    auto& work = graph.add<AsFastAsItsNode>("work", {.copies = 2, .nodes = "workers"});
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, work.in, {.capacity = 2});
    graph.connect(work.out, sink.in);
    auto run = graph.start(cluster);
    run.finish();
    const auto by_slow = std::ranges::count(sink.got, 1);
    EXPECT_EQ(sink.got.size(), 1'000u);
    EXPECT_LT(by_slow, 350);
    EXPECT_GT(by_slow, 0);
}

}  // namespace
