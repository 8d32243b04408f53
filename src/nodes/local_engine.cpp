// Agents as processes of this machine, and those that people start.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <thread>

#include "nodes/cluster_state.hpp"
#include "nodes/invitation.hpp"
#include "process/children.hpp"
#include "process/quiet_thread.hpp"

namespace penstock::nodes {
namespace {

using namespace std::chrono_literals;

/// The program of this name in the PATH; empty: there is none.
std::string in_path(const std::string& name) {
    const char* const path = std::getenv("PATH");
    const std::string folders = path == nullptr ? "" : path;
    for (std::size_t begin = 0; begin <= folders.size();) {
        const auto end = std::min(folders.find(':', begin), folders.size());
        auto found = folders.substr(begin, end - begin) + "/" + name;
        if (access(found.c_str(), X_OK) == 0) return found;
        begin = end + 1;
    }
    return {};
}

std::vector<std::string> command_of(const ClusterOptions& options) {
    if (!options.agent.empty()) {
        auto command = options.agent;
        if (command[0].find('/') == std::string::npos) command[0] = in_path(options.agent[0]);
        if (command[0].empty())
            throw UsageError("the program of ClusterOptions::agent, '" + options.agent[0] + "', is not in the PATH");
        return command;
    }
    if (is_own_agent()) return {std::filesystem::read_symlink("/proc/self/exe").string()};
    if (std::getenv(invitation_variable) != nullptr)
        throw UsageError(
            "this process was started as the agent of a cluster, and makes a cluster itself: call "
            "penstock::become_agent() before that, behind register_component()");
    if (const auto found = in_path("penstock"); !found.empty()) return {found, "agent"};
    throw UsageError(
        "there is no program to start as an agent: call penstock::become_agent() early in main, or say "
        "ClusterOptions::agent, or have `penstock` in the PATH");
}

std::string words_of(const process::Death& death) {
    if (death.signal) return "its agent ended by signal " + std::to_string(*death.signal);
    if (death.exit_code) return "its agent ended with exit code " + std::to_string(*death.exit_code);
    return "its agent ended";
}

class LocalEngine final : public Engine {
  public:
    explicit LocalEngine(std::vector<std::string> command)
        : command_(std::move(command)), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (!bell_) throw SystemError("cannot watch agents", errno);
        thread_ = process::quiet_thread("penstock agents", [this] { watch(); });
    }
    ~LocalEngine() override {
        {
            const std::lock_guard guard(lock_);
            ending_ = true;
        }
        eventfd_write(bell_.get(), 1);
        thread_.join();
    }

    void start(const Node& node, const std::string& invitation) override { ask({node, invitation, true}); }
    void end(const Node& node) noexcept override {
        try {
            ask({node, {}, false});
        } catch (...) {  // no memory: it ends by itself, because nobody answers it any more
        }
    }
    void becomes(const Node& spare, const Node& node) override {
        const std::lock_guard guard(lock_);
        for (auto& [tag, of] : agents_)
            if (of.site == spare.site && of.generation == spare.generation) of = node;
    }

  private:
    struct Asked {
        Node node;
        std::string invitation;
        bool start;
    };
    void ask(Asked what) {
        {
            const std::lock_guard guard(lock_);
            asked_.push_back(std::move(what));
        }
        eventfd_write(bell_.get(), 1);
    }

    void watch() {
        process::Children children;
        std::uint32_t next = 0;
        for (;;) {
            std::deque<Asked> asked;
            bool ending = false;
            {
                const std::lock_guard guard(lock_);
                asked = std::exchange(asked_, {});
                ending = ending_;
            }
            for (const auto& each : asked) {
                if (each.start) begin(children, ++next, each);
                else end(children, each.node);
            }
            if (ending) break;
            pollfd bell{bell_.get(), POLLIN, 0};
            const auto deaths = children.wait({&bell, 1});
            eventfd_t rung;
            (void)eventfd_read(bell_.get(), &rung);
            for (const auto& death : deaths) {
                Node node;
                {
                    const std::lock_guard guard(lock_);
                    node = agents_[death.tag];
                    agents_.erase(death.tag);
                }
                if (died) died(node.site, node.generation, words_of(death));
            }
        }
        children.end_all(2s);
    }
    void begin(process::Children& children, std::uint32_t tag, const Asked& asked) {
        std::vector<std::string> environment;
        for (char** each = environ; *each != nullptr; ++each)
            if (!std::string_view(*each).starts_with(invitation_variable)) environment.emplace_back(*each);
        environment.push_back(std::string(invitation_variable) + "=" + asked.invitation);
        {
            const std::lock_guard guard(lock_);
            agents_[tag] = asked.node;
        }
        if (children.spawn(tag, command_, environment, {}) >= 0) return;
        const int number = errno;
        if (died)
            died(asked.node.site, asked.node.generation, SystemError("its agent could not be started", number).what());
    }
    void end(process::Children& children, const Node& node) {
        const std::lock_guard guard(lock_);
        for (const auto& [tag, of] : agents_)
            if (of.site == node.site && of.generation == node.generation) children.kill(tag);
    }

    const std::vector<std::string> command_;
    OwnedDescriptor bell_;
    std::mutex lock_;  ///< of what follows
    std::deque<Asked> asked_;
    std::map<std::uint32_t, Node> agents_;
    bool ending_ = false;
    std::thread thread_;
};

/// Prints what is to be given to `penstock agent` on each machine.
class HandEngine final : public Engine {
  public:
    void start(const Node& node, const std::string& invitation) override {
        std::fprintf(stderr,
                     "node '%s': run `penstock agent` on its machine and give it this line, which is a secret:\n%s\n",
                     node.name.c_str(), invitation.c_str());
    }
    void end(const Node&) noexcept override {}  // it finds that it is not wanted any more
    void becomes(const Node&, const Node&) override {}
};

}  // namespace

bool starts_here(const ClusterOptions& options) noexcept {
    return options.engine == "local" && options.own_engine == nullptr;
}

std::shared_ptr<Engine> engine_named(const ClusterOptions& options) {
    if (options.own_engine != nullptr) return options.own_engine;
    if (options.engine == "local") return std::make_shared<LocalEngine>(command_of(options));
    if (options.engine == "hand") return std::make_shared<HandEngine>();
    if (options.engine == "pmix") return pmix_engine(options);
    throw UsageError("there is no engine '" + options.engine +
                     "' for clusters: it is 'local', 'hand' or 'pmix' (and 'ray://ADDRESS' in Python)");
}

}  // namespace penstock::nodes
