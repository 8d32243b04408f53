// A cluster as the program keeps it: its nodes, the runs on them, and the thread that replaces nodes that have died.
#pragma once

#include <condition_variable>
#include <deque>
#include <set>
#include <thread>

#include "nodes/cluster_team.hpp"
#include "nodes/figures.hpp"
#include "nodes/site.hpp"
#include "nodes/timeline.hpp"
#include "penstock/cluster.hpp"
#include "process/fork.hpp"

namespace penstock::nodes {

struct ClusterState;

/// The way to a cluster for an engine, whose threads may live longer.
struct Gate {
    std::mutex lock{};
    ClusterState* cluster = nullptr;  ///< null once it is closed
};

/// A run, as the cluster sees it.
struct ClusterRun {
    streaming::RunState* state = nullptr;  ///< null once the program has given it up
    std::vector<std::byte> part{};
    std::set<wire::Site> sites{};    ///< that have a part in it
    std::set<wire::Site> awaited{};  ///< of them, those whose part has not ended
    std::set<wire::Site> ready{};
    std::map<wire::Site, std::uint32_t> given{};  ///< the generation of each node that has got its part
    std::string refused{};                        ///< by a node: why
    streaming::RunCore::KeptOpen open{};
    std::map<wire::Site, std::map<std::string, std::int64_t>> filters{};  ///< copies there
    std::shared_ptr<PartFigures> figures = std::make_shared<PartFigures>();
    bool made = false;                       ///< all its parts are
    bool begun = false;                      ///< and all nodes have been told to begin
    std::map<wire::Site, Figures> before{};  ///< for who looks whether anything moves
    int still = 0;                           ///< looks at which nothing had moved
    bool some_died = false;                  ///< frames of dead nodes are not counted
    // while a node is replaced
    std::set<wire::Site> fenced{};
    SeenOrders seen{};
};

struct Member {
    enum class State { starting, present, dead };
    Node node{};
    State state = State::starting;
    std::shared_ptr<wire::Wire> wire{};
    std::string at{};  ///< where it listens
    std::string host{};
    int process = 0;
    bool spare = false;
    bool lost = false;                  ///< it is dead, and nothing could take its place
    std::string how{};                  ///< the last agent of it that died did so
    std::deque<std::uint64_t> asked{};  ///< questions for counters that it has not answered
};

struct ClusterState final : Site, std::enable_shared_from_this<ClusterState> {
    /// `on`: null: a machine of its own.
    explicit ClusterState(ClusterOptions given, Machine* on = nullptr);
    ~ClusterState() override;
    /// All nodes are started, and there. Throws.
    void start();
    void close() noexcept;

    /// Where the copies of filters go. Adds what is wrong with that.
    streaming::Placement place(const streaming::Model& model, std::vector<std::string>& problems) const;
    /// The same model with a number of copies for each filter. `profile`: by which filters that may run on any nodes
    /// get theirs; empty: they are left as they are. Throws.
    streaming::Model resolved(const streaming::Model& model, const std::string& profile) const;
    /// Makes a run on all its nodes; nothing has begun. Throws.
    std::unique_ptr<streaming::RunState> make(streaming::Model& described, const RunOptions& options);
    void begin(streaming::RunState& run);
    /// See nodes::run_team (cluster_team.cpp).
    std::vector<TeamEnd> run_team(const TeamOrder& order, const std::function<bool()>& look);

    // timelines (timeline.cpp)
    void start_timeline(std::uint64_t events);
    void stop_timeline();
    std::string timeline_json();
    // counters (snapshot.cpp)
    ClusterSnapshot snapshot();

    const Origin origin{};
    const ClusterOptions options;
    std::shared_ptr<Engine> engine;
    const wire::Secret secret;
    const std::uint64_t number;
    std::string address{};
    const std::unique_ptr<Machine> own_machine;
    Machine& machine;

    std::mutex recording;     ///< all nodes are asked one thing at a time; before `lock`
    mutable std::mutex lock;  ///< of what follows
    mutable std::condition_variable changed_something;
    std::map<wire::Site, Member> members;
    std::map<std::uint32_t, ClusterRun> cluster_runs;
    std::map<std::uint32_t, std::shared_ptr<ClusterTeam>> cluster_teams;
    std::uint32_t next_run = 1;  ///< or team
    std::uint64_t replaced = 0;
    std::uint64_t timeline_events = 0;  ///< a thread; 0: none is recorded
    std::map<wire::Site, NodeClock> clocks;
    std::set<wire::Site> parts_asked;                     ///< nodes that are asked for their part
    std::map<wire::Site, TimelinePart> parts;             ///< of those that have answered
    std::uint64_t counters_question = 0;                  ///< the last one
    std::map<wire::Site, trace::Snapshot> counters_said;  ///< in answer to it
    About fencing{};                                      ///< the dead node of which others are asked what has come
    bool closing = false;

  private:
    ClusterState(ClusterOptions given, Machine* on, const wire::Secret& its_secret, std::uint64_t its_number);
    struct Death {
        wire::Site site;
        std::uint32_t generation;
        std::string how;
    };
    using Locked = std::unique_lock<std::mutex>;

    // the endpoint's thread
    void control(wire::Wire& from, Control what, const About& about, std::span<const std::byte> payload) override;
    void changed(wire::Wire& wire) noexcept override;
    void tick() noexcept override;
    void take_over(wire::Site site, std::uint32_t run, const Over& over);
    void look_for_stall(ClusterRun& run);
    void team_says(wire::Site site, Control what, std::uint32_t of_team, std::span<const std::byte> payload);
    void team_loses(std::uint32_t of_team, ClusterTeam& team, wire::Site site, const std::string& how);

    void note_death(wire::Site site, std::uint32_t generation, const std::string& how);
    void say_to(const Member& member, Control what, const About& about, std::vector<std::byte> payload = {});
    void invite(Member& member);
    Peers peers() const;
    void tell_peers();
    void release(std::uint32_t run);
    void ask_clock(const Member& member);
    void take_clock(const Member& member, const ClockAnswer& answer);
    void join_timeline(const Member& member);
    void take_counters(Member& member, const CountersPart& part);
    void await_all(Locked& guard, const std::function<bool(wire::Site)>& has);

    // the thread that replaces nodes (replacing.cpp)
    void attend_deaths() noexcept;
    void replace(Locked& guard, const Death& death);
    void fail_run(ClusterRun& run, wire::Site site, const std::string& how);
    void say_replaced(std::uint32_t run_number, const ClusterRun& run, const Member& member);
    static void part_is_gone(ClusterRun& run, wire::Site site);
    bool get_another(Locked& guard, wire::Site site);
    bool use_spare(Locked& guard, Member& member, Member& spare);
    std::string invitation_for(Member& member);
    bool fence(Locked& guard, wire::Site site, std::uint32_t generation);
    void hand_over(Locked& guard, wire::Site site);
    void hand_over(Locked& guard, wire::Site site, std::uint32_t run_number);
    bool dead_meanwhile(wire::Site site) const;
    /// Streams join the two.
    static bool neighbours(const streaming::RunState& run, wire::Site one, wire::Site other);

    void machine_ends() noexcept;

    const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
    bool started_ = false;
    bool peers_told_ = false;                            ///< to all that are present
    std::string start_failure_{}, start_failure_how_{};  ///< a node that died before all were there
    std::deque<Death> deaths_;
    std::thread replacing_;
};

/// Cluster::place(), for who starts a graph.
Assignment placed(const ClusterState& cluster, const streaming::Model& model, const std::string& profile);
/// "decoders.2", or "spare.0".
std::string name_of(const std::string& group, int number);
/// The engine of this name. Throws UsageError.
std::shared_ptr<Engine> engine_named(const ClusterOptions& options);
/// Are its agents processes of this machine, which the library starts?
bool starts_here(const ClusterOptions& options) noexcept;
/// Throws UsageError, PmixMissing.
std::shared_ptr<Engine> pmix_engine(const ClusterOptions& options);
/// Of another process than the first of a job of mpirun or srun: what the first has for it; empty: nothing. Waits for
/// that. Of other processes: nullopt. Throws PmixMissing, Error.
std::optional<std::string> invitation_of_job();
/// Has become_agent() been called here?
bool is_own_agent() noexcept;

}  // namespace penstock::nodes
