// Agents that are the other processes of a job of mpirun or srun: rank 1 is the first node, and so on; spares come
// last. They exist already, so starting one is to give it its invitation, and a dead one cannot be started again.
#include <cstdlib>
#include <thread>

#include "machine/said_by.hpp"
#include "nodes/cluster_state.hpp"
#include "nodes/pmix.hpp"
#include "process/quiet_thread.hpp"

namespace penstock {
namespace nodes {
namespace {

std::string processes(std::size_t count) { return std::to_string(count) + (count == 1 ? " process" : " processes"); }

class PmixEngine final : public Engine {
  public:
    explicit PmixEngine(const ClusterOptions& options) {
        std::size_t agents = static_cast<std::size_t>(options.spares);
        for (const auto& group : options.nodes) agents += static_cast<std::size_t>(group.count);
        const std::size_t there = pmix::processes_of_job();
        if (there != agents + 1) {
            pmix::send_away();
            throw UsageError("this cluster needs a job of " + processes(agents + 1) + ", and this one has " +
                             std::to_string(there) +
                             ": one for the program, one for each node and one for each spare (mpirun -n " +
                             std::to_string(agents + 1) + ")");
        }
        invitations_.resize(agents);
        missing_ = agents;
        if (agents == 0) pmix::send_away();
    }
    ~PmixEngine() override {
        if (missing_ != 0) pmix::send_away();  // the cluster could not be made
    }

    void start(const Node& node, const std::string& invitation) override {
        if (node.generation != 1)
            throw Error(
                "mpirun and srun start no process in a dead one's place: say ClusterOptions::spares, and give the job "
                "a process more for each");
        invitations_.at(static_cast<std::size_t>(node.site) - 1) = invitation;
        if (--missing_ != 0) return;
        // It waits for all of them, and this call for nobody.
        process::quiet_thread("penstock pmix", [all = invitations_, told = died] {
            try {
                pmix::give(all);
            } catch (const std::exception& failure) {
                for (std::size_t site = 1; site <= all.size(); ++site)
                    told(static_cast<int>(site), 1, std::string("it could not be invited: ") + said_by(failure));
            }
        }).detach();
    }
    void end(const Node&) noexcept override {}  // it finds that it is not wanted any more
    void becomes(const Node&, const Node&) override {}
    bool starts_others() const noexcept override { return false; }

  private:
    std::vector<std::string> invitations_;  ///< of rank 1 and so on
    std::size_t missing_ = 0;
};

/// The program ends and has made no cluster: the others wait for one.
void send_away_at_exit() {
    static bool once = false;
    if (!std::exchange(once, true)) std::atexit([] { pmix::send_away(); });
}

}  // namespace

std::shared_ptr<Engine> pmix_engine(const ClusterOptions& options) { return std::make_shared<PmixEngine>(options); }

std::optional<std::string> invitation_of_job() {
    if (!pmix::in_job()) return std::nullopt;
    if (pmix::is_other()) return pmix::await_text();
    send_away_at_exit();
    return std::nullopt;
}

}  // namespace nodes

void become_agent(const std::string& engine) {
    if (engine != "local" && engine != "pmix")
        throw UsageError("processes become agents by themselves with the engines 'local' and 'pmix', not with '" +
                         engine + "'");
    become_agent();
    if (engine != "pmix") return;
    int code = 1;
    try {
        const auto invitation = nodes::invitation_of_job();
        if (!invitation) return;
        code = invitation->empty() ? 0 : run_agent(*invitation);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock agent: %s\n", said_by(error));
    }
    std::exit(code);
}

}  // namespace penstock
