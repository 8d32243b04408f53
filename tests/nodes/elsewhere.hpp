// Network namespaces as machines beside this one, and an engine that starts agents there.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "penstock/cluster.hpp"

namespace elsewhere {

using penstock::Engine;
using penstock::Node;

inline bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

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

/// Namespaces that are joined by a bridge, so that each reaches all others and this one.
class Network {
  public:
    explicit Network(int nodes) {
        const auto own = std::to_string(getpid());
        bridge_ = "pb" + std::to_string(getpid() % 100'000);
        const auto net = "10.211." + std::to_string(getpid() % 250) + ".";
        here_ = net + "1";
        usable_ = geteuid() == 0 && succeeds("ip link add " + bridge_ + " type bridge") &&
                  succeeds("ip addr add " + here_ + "/24 dev " + bridge_) && succeeds("ip link set " + bridge_ + " up");
        for (int node = 0; node < nodes; ++node) {
            const auto name = names_.emplace_back("penstock-net-" + own + "-" + std::to_string(node));
            const auto device = bridge_ + "." + std::to_string(node), in = "ip netns exec " + name + " ";
            usable_ = usable_ && succeeds("ip netns add " + name) &&
                      succeeds("ip link add " + device + " type veth peer name eth0 netns " + name) &&
                      succeeds("ip link set " + device + " master " + bridge_) &&
                      succeeds("ip link set " + device + " up") &&
                      succeeds(in + "ip addr add " + net + std::to_string(node + 2) + "/24 dev eth0") &&
                      succeeds(in + "ip link set eth0 up") && succeeds(in + "ip link set lo up");
        }
    }
    ~Network() {
        for (const auto& name : names_) succeeds("ip netns del " + name);
        succeeds("ip link del " + bridge_);
    }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    bool usable() const { return usable_; }
    std::vector<std::string> inside(std::size_t node) const {
        return {"ip", "netns", "exec", names_[node % names_.size()]};
    }
    std::string here() const { return here_; }

  private:
    std::string bridge_, here_;
    std::vector<std::string> names_;
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

}  // namespace elsewhere
