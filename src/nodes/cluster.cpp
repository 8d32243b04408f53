#include "penstock/cluster.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "machine/said_by.hpp"
#include "nodes/cluster_state.hpp"
#include "nodes/invitation.hpp"
#include "process/quiet_thread.hpp"
#include "trace/text.hpp"

namespace penstock {

NodeDied::NodeDied(std::string node, const std::string& how, std::vector<std::string> filters, std::uint64_t buffers)
    : Error("node '" + node + "' is lost: " + how +
            (filters.empty() ? "" : "; there ran " + trace::list_of(filters, ", ")) +
            (buffers != 0 ? "; " + std::to_string(buffers) + " buffers were there or on their way" : "") +
            "; say on_node_loss (OnNodeLoss::replay or lose) for filters that are to outlive their node"),
      node_(std::move(node)), filters_(std::move(filters)), buffers_(buffers) {}

Cluster::Cluster(ClusterOptions options) : state_(std::make_shared<nodes::ClusterState>(std::move(options))) {
    state_->start();
}
Cluster::Cluster(Machine& machine, ClusterOptions options)
    : state_(std::make_shared<nodes::ClusterState>(std::move(options), &machine)) {
    state_->start();
}
Cluster::~Cluster() { state_->close(); }

Machine& Cluster::machine() noexcept { return state_->machine; }

std::vector<Node> Cluster::nodes() const {
    const std::lock_guard guard(state_->lock);
    std::vector<Node> all;
    for (const auto& [site, member] : state_->members)
        if (!member.spare) all.push_back(member.node);
    return all;
}

std::vector<Cluster::Agent> Cluster::agents() const {
    const std::lock_guard guard(state_->lock);
    std::vector<Agent> all;
    for (const auto& [site, member] : state_->members)
        if (member.state == nodes::Member::State::present)
            all.push_back({member.node.name, member.host, member.process, member.node.generation});
    return all;
}

std::uint64_t Cluster::replaced() const {
    const std::lock_guard guard(state_->lock);
    return state_->replaced;
}

Cluster::Refusals Cluster::refused() const {
    using wire::Refused;
    const auto count = [&](Refused why) { return state_->endpoint.refused(why); };
    return {
        count(Refused::wrong_secret), count(Refused::old_generation),
        count(Refused::unknown_site) + count(Refused::other_run) + count(Refused::garbage) + count(Refused::cut_short)};
}

Run Graph::start(Cluster& cluster, const RunOptions& options) {
    auto& state = cluster.state();
    auto& described = model();
    Run run(state.make(described, options));
    *described.running = true;
    state.begin(*run.state_);
    return run;
}

namespace nodes {
namespace {

using namespace std::chrono_literals;

std::uint64_t random_number() {
    std::uint64_t number = 0;
    wire::fill_randomly(std::as_writable_bytes(std::span(&number, 1)));
    return number;
}

wire::EndpointOptions endpoint_options(const ClusterOptions& options, const wire::Secret& secret,
                                       std::uint64_t number) {
    return {.secret = secret,
            .run = number,
            .site = 0,
            .generation = 1,
            .encrypted = options.encryption == Encryption::tls,
            .patience = options.patience};
}

ClusterOptions checked(ClusterOptions options) {
    std::set<std::string> names;
    for (const auto& group : options.nodes) {
        if (group.name.empty() || group.name == "program" || group.name == "spare" ||
            group.name == FilterOptions::any_nodes)
            throw UsageError("a group of nodes has a name, other than 'program', 'spare' and 'auto'");
        if (!std::ranges::all_of(group.name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }))
            throw UsageError("'" + group.name + "' is no name of a group of nodes: letters, digits, '-' and '_'");
        if (!names.insert(group.name).second) throw UsageError("two groups of nodes are called '" + group.name + "'");
        if (group.count < 1 || group.count > 4096)
            throw UsageError("the group '" + group.name + "' has 1 to 4096 nodes, not " + std::to_string(group.count));
    }
    if (options.patience < 100ms) throw UsageError("a cluster's patience is 100 ms or more");
    if (options.spares < 0) throw UsageError("a cluster cannot have fewer than no spares");
    if (options.deaths_of_a_buffer < 1) throw UsageError("deaths_of_a_buffer is 1 or more");
    return options;
}

}  // namespace

std::string name_of(const std::string& group, int index) { return group + "." + std::to_string(index); }

ClusterState::ClusterState(ClusterOptions given, Machine* on)
    : ClusterState(checked(std::move(given)), on, wire::Secret::random(), random_number()) {}

ClusterState::ClusterState(ClusterOptions given, Machine* on, const wire::Secret& its_secret, std::uint64_t its_number)
    : Site(endpoint_options(given, its_secret, its_number)), options(std::move(given)), engine(engine_named(options)),
      secret(its_secret), number(its_number),
      own_machine(on == nullptr ? std::make_unique<Machine>(options.machine) : nullptr),
      machine(on == nullptr ? *own_machine : *on) {}

ClusterState::~ClusterState() { close(); }

void ClusterState::start() {
    auto at = options.listen;
    if (at.empty()) at = starts_here(options) ? "unix" : "tcp::0";
    wire::Address place;
    if (at == "unix") place = {.local = true, .host = "cluster-" + std::to_string(number)};
    else place = wire::Address::of_text(at);
    if (!place.local && place.host.empty()) place.host = wire::own_host();
    address = endpoint.listen(place.resolved()).text();
    if (!options.reached_at.empty()) address = wire::Address::of_text(options.reached_at).resolved().text();
    gate_->cluster = this;
    engine->died = [gate = gate_](int site, std::uint32_t generation, const std::string& how) {
        const std::lock_guard within(gate->lock);
        if (gate->cluster != nullptr) gate->cluster->note_death(static_cast<wire::Site>(site), generation, how);
    };
    endpoint.begin();
    {
        Locked guard(lock);
        wire::Site site = 0;
        for (const auto& group : options.nodes)
            for (int i = 0; i < group.count; ++i) {
                auto& member = members[++site];
                member.node = {static_cast<int>(site), 1, name_of(group.name, i), group.needs};
            }
        for (int i = 0; i < options.spares; ++i) {
            auto& member = members[++site];
            member.node = {static_cast<int>(site), 1, name_of("spare", i), {}};
            member.spare = true;
        }
    }
    for (auto& [each, member] : members) invite(member);
    replacing_ = process::quiet_thread("penstock nodes", [this] { attend_deaths(); });
    Locked guard(lock);
    const auto until = std::chrono::steady_clock::now() + options.time_to_start;
    const auto there = [&] {
        return std::ranges::all_of(members,
                                   [](const auto& each) { return each.second.state == Member::State::present; });
    };
    while (!there()) {
        if (!start_failure_.empty()) throw NodeDied(start_failure_, start_failure_how_, {}, 0);
        if (changed_something.wait_until(guard, until) == std::cv_status::timeout && !there()) {
            const auto missing = std::ranges::find_if(
                members, [](const auto& each) { return each.second.state != Member::State::present; });
            throw NodeDied(missing->second.node.name, "it was not there in time (ClusterOptions::time_to_start)", {},
                           0);
        }
    }
    started_ = true;
    tell_peers();
}

void ClusterState::close() noexcept {
    {
        const std::lock_guard guard(lock);
        if (std::exchange(closing, true)) return;
        changed_something.notify_all();
        for (auto& [run_number, run] : cluster_runs)  // nobody replaces nodes any more
            for (const auto& [site, member] : members)
                if (member.state != Member::State::present) part_is_gone(run, site);
    }
    machine_ends();
    if (replacing_.joinable()) replacing_.join();
    std::vector<Node> all;
    {
        const std::lock_guard guard(lock);
        for (const auto& [site, member] : members) {
            say_to(member, Control::end, {});
            all.push_back(member.node);
        }
    }
    endpoint.drain(500ms);
    for (const auto& node : all) engine->end(node);
    endpoint.close();
    const std::lock_guard last(gate_->lock);
    gate_->cluster = nullptr;
}

/// Runs that still go on are stopped, as they are when their machine ends.
void ClusterState::machine_ends() noexcept {
    std::vector<streaming::RunState*> left;
    {
        const std::lock_guard guard(lock);
        for (auto& [run, each] : cluster_runs)
            if (each.state != nullptr) left.push_back(each.state);
    }
    for (auto* const run : left) run->stop_for_end();
}

/// Its wire is expected from here on.
std::string ClusterState::invitation_for(Member& member) {
    const Invitation invitation{.program = wire::Address::of_text(address),
                                .secret = secret,
                                .run = number,
                                .site = static_cast<wire::Site>(member.node.site),
                                .generation = member.node.generation,
                                .encrypted = options.encryption == Encryption::tls,
                                .patience = std::min<std::chrono::milliseconds>(options.patience, 10s),
                                .targets = options.node_machine.targets,
                                .isolation = options.node_machine.isolation,
                                // Processes of one machine would be pinned to the same processors.
                                .pinned = options.node_machine.pin && !starts_here(options),
                                .name = member.node.name};
    auto wire = endpoint.expect(invitation.site, invitation.generation);
    const std::lock_guard guard(lock);
    member.state = Member::State::starting;
    member.wire = std::move(wire);
    return invitation.text();
}

void ClusterState::invite(Member& member) {
    const auto text = invitation_for(member);
    engine->start(member.node, text);
}

void ClusterState::say_to(const Member& member, Control what, const About& about, std::vector<std::byte> payload) {
    if (member.wire != nullptr) say(*member.wire, what, about, std::move(payload));
}

/// Under the lock.
Peers ClusterState::peers() const {
    Peers all;
    for (const auto& [site, member] : members)
        if (member.state == Member::State::present && !member.spare)
            all.emplace_back(site, member.node.generation, member.at);
    return all;
}

/// Under the lock. Whoever is present knows of all others that are.
void ClusterState::tell_peers() {
    if (std::exchange(peers_told_, true)) return;
    const auto all = packed(peers());
    for (const auto& [site, member] : members)
        if (member.state == Member::State::present && !member.spare) say_to(member, Control::peers, {}, all);
}

// ---- the endpoint's thread ----

void ClusterState::changed(wire::Wire& wire) noexcept {
    if (wire.state() != wire::Wire::State::lost) return;
    note_death(wire.site, wire.generation, "it cannot be reached, or sent what it should not");
}

void ClusterState::note_death(wire::Site site, std::uint32_t generation, const std::string& how) {
    const std::lock_guard guard(lock);
    if (closing) {
        for (auto& [run_number, run] : cluster_runs) part_is_gone(run, site);
        return;
    }
    const auto member = members.find(site);
    if (member == members.end() || member->second.node.generation != generation ||
        member->second.state == Member::State::dead)
        return;
    const bool was_present = member->second.state == Member::State::present;
    member->second.state = Member::State::dead;
    member->second.how = how;
    for (auto& [run_number, run] : cluster_runs)
        if (run.awaited.contains(site)) run.figures->lost(site, how);
    for (auto& [team_number, team] : cluster_teams) team_loses(team_number, *team, site, how);
    if (!started_ && !was_present) {
        start_failure_ = member->second.node.name;
        start_failure_how_ = how;
    } else {
        deaths_.push_back({site, generation, how});
    }
    changed_something.notify_all();
}

void ClusterState::control(wire::Wire& from, Control what, const About& about, std::span<const std::byte> payload) {
    Locked guard(lock);
    const auto found = members.find(from.site);
    if (found == members.end() || found->second.node.generation != from.generation) return;
    Member& member = found->second;
    const auto run = cluster_runs.find(about.run);
    const bool of_run = run != cluster_runs.end();  // else it is over
    if (of_run && what != Control::log && what != Control::present && what != Control::unreachable &&
        !run->second.sites.contains(from.site))
        throw Error("a node speaks of a run in which it has no part");
    switch (what) {
        case Control::present: {
            const auto [at, host, process] = unpacked<Present>(payload);
            if (member.state == Member::State::present) throw Error("a node says a second time that it is there");
            (void)wire::Address::of_text(at);  // others will dial it
            member.at = at;
            member.host = host;
            member.process = static_cast<int>(process);
            if (member.state == Member::State::starting) {
                member.state = Member::State::present;
                member.lost = peers_told_ = false;
                member.asked.clear();
                clocks.erase(from.site);
                join_timeline(member);
            }
            break;
        }
        case Control::ready:
            if (of_run) run->second.ready.insert(from.site);
            break;
        case Control::refused:
            if (of_run && run->second.ready.contains(from.site)) throw Error("a node refuses what it has agreed to");
            if (of_run) run->second.refused = text_of(payload);
            break;
        case Control::over:
            guard.unlock();
            return take_over(from.site, about.run, unpacked<Over>(payload));
        case Control::fenced: {
            auto seen = unpacked<SeenOrders>(payload);
            if (!of_run || about.site != fencing.site || about.generation != fencing.generation) break;  // too late
            for (auto& each : seen) run->second.seen.push_back(std::move(each));
            run->second.fenced.insert(from.site);
            break;
        }
        case Control::figures:
            if (auto figures = unpacked<Figures>(payload); of_run) {
                check(figures, run->second.filters[from.site]);
                run->second.figures->set(from.site, std::move(figures));
            }
            break;
        case Control::team_ready:
        case Control::team_refused:
        case Control::rank_ended:
            team_says(from.site, what, about.run, payload);
            break;
        case Control::log: {
            const auto line = "[" + member.node.name + "] " + trace::plain_text(text_of(payload), 4096);
            guard.unlock();
            if (options.log) options.log(line);
            else std::fprintf(stderr, "%s\n", line.c_str());
            return;
        }
        case Control::unreachable: {
            const auto other = members.find(about.site);
            guard.unlock();
            if (other != members.end())
                note_death(about.site, about.generation, "'" + member.node.name + "' cannot reach it");
            return;
        }
        case Control::clock:
            take_clock(member, unpacked<ClockAnswer>(payload));
            break;
        case Control::timeline:
            if (parts_asked.contains(from.site)) parts[from.site] = unpacked<TimelinePart>(payload);
            break;  // else too late
        case Control::counters:
            take_counters(member, unpacked<CountersPart>(payload));
            break;
        default:
            throw Error("an agent says what only the program says");
    }
    changed_something.notify_all();
}

}  // namespace nodes
}  // namespace penstock
