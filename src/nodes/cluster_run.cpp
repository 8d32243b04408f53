// A graph that runs on a cluster: where its filters go, how its parts begin and end, and whether they stand still.
#include <algorithm>
#include <utility>

#include "machine/said_by.hpp"
#include "nodes/cluster_state.hpp"
#include "nodes/part.hpp"
#include "trace/text.hpp"

namespace penstock {

Split Cluster::split(const GraphBuilder& graph) const {
    std::vector<std::string> problems = graph.check();
    const auto model = state_->resolved(graph.model(), {});
    const auto placement = state_->place(model, problems);
    if (!problems.empty()) throw GraphError(std::move(problems));
    Split made;
    std::map<wire::Site, Split::Part> parts;
    parts[0].node = "program";
    for (const auto& node : nodes()) parts[static_cast<wire::Site>(node.site)].node = node.name;
    for (const auto& filter : model.filters)
        for (int copy = 0; copy < filter.options.copies; ++copy)
            parts[placement.of(filter.id, copy)].filters.push_back(
                filter.options.copies == 1 ? filter.name : filter.name + "." + std::to_string(copy));
    for (auto& [site, part] : parts) made.parts.push_back(std::move(part));
    const auto sites = [&](std::uint64_t id) {
        const auto found = placement.sites.find(id);
        return found == placement.sites.end() ? std::vector<wire::Site>{0} : found->second;
    };
    const auto description = streaming::description_of(model);
    for (std::size_t i = 0; i < model.streams.size(); ++i) {
        const auto from = sites(model.streams[i].from);
        if (from != sites(model.streams[i].to) || from.size() != 1) made.cut.push_back(description.streams[i]);
    }
    return made;
}

std::string Split::text() const {
    std::string text;
    for (const auto& part : parts) text += part.node + ": " + trace::list_of(part.filters, ", ") + '\n';
    for (const auto& stream : cut) text += "cut: " + stream.from + " -> " + stream.to + '\n';
    return text;
}

namespace nodes {
namespace {

using namespace std::chrono_literals;
using streaming::FarRun;
using streaming::Model;
using streaming::RunState;

std::exception_ptr error(const std::string& text) { return std::make_exception_ptr(Error(text)); }

}  // namespace

Model ClusterState::resolved(const Model& model, const std::string& profile) const {
    Model made = model;
    if (!profile.empty() && std::ranges::any_of(model.filters, [](const auto& filter) {
            return filter.options.nodes == FilterOptions::any_nodes;
        }))
        for (const auto& place : placed(*this, model, profile).filters)
            made.named(place.filter)->options.nodes = place.nodes;
    const auto count_of = [&](const std::string& group) {
        const auto found = std::ranges::find(options.nodes, group, &Nodes::name);
        return found == options.nodes.end() ? 1 : found->count;
    };
    for (auto& filter : made.filters) {
        if (filter.options.copies != FilterOptions::automatic) continue;
        const bool elsewhere = !filter.options.nodes.empty();
        const int targets = std::max(options.node_machine.targets, 1);
        filter.options.copies = elsewhere ? count_of(filter.options.nodes) * targets : machine.targets() + 1;
    }
    return made;
}

streaming::Placement ClusterState::place(const Model& model, std::vector<std::string>& problems) const {
    streaming::Placement placement;
    std::map<std::string, std::vector<wire::Site>> groups;
    {
        wire::Site site = 0;
        for (const auto& group : options.nodes)
            for (int i = 0; i < group.count; ++i) groups[group.name].push_back(++site);
    }
    for (const auto& filter : model.filters) {
        const auto& wanted = filter.options.nodes;
        const auto wrong = [&](const std::string& what) { problems.push_back("filter '" + filter.name + "' " + what); };
        if (wanted.empty()) continue;
        if (wanted == FilterOptions::any_nodes) {
            wrong(
                "may run on any nodes (\"auto\"), and nothing says on which: give start() a profile "
                "(RunOptions::profile), or apply what Cluster::place() says");
            continue;
        }
        const auto group = groups.find(wanted);
        if (group == groups.end()) {
            wrong("is for the nodes '" + wanted + "', which the cluster does not have" +
                  (groups.empty() ? "" : ": it has " + trace::list_of(groups, ", ", [](const auto& each) {
                                             return "'" + each.first + "'";
                                         })));
            continue;
        }
        if (!filter.options.target_classes.empty())
            wrong("names classes of targets, and the targets of nodes have none: say targets, or leave them out");
        if (filter.kind->external) wrong("is the program's own end, and cannot run on other nodes");
        auto sites = group->second;
        if (static_cast<std::size_t>(filter.options.copies) < sites.size())
            sites.resize(static_cast<std::size_t>(std::max(filter.options.copies, 1)));
        placement.sites[filter.id] = std::move(sites);
    }
    for (const auto& filter : model.filters)
        if (const auto* const near = model.named(filter.options.near);
            near != nullptr && near->options.nodes != filter.options.nodes)
            problems.push_back("filter '" + filter.name + "' is to be near '" + near->name +
                               "', which runs on other nodes");
    if (problems.empty()) problems = FarRun::problems(model, placement);
    return placement;
}

std::unique_ptr<RunState> ClusterState::make(Model& described, const RunOptions& run_options) {
    const auto self = shared_from_this();  // another thread may close the cluster meanwhile
    for (auto& filter : described.filters)
        for (auto& [name, value] : std::exchange(filter.changes, {}))
            streaming::named(filter.first->settings, name)->set(value);
    auto problems = streaming::problems_of(described, -1);
    if (!problems.empty()) throw GraphError(std::move(problems));
    auto model = resolved(described, run_options.profile);
    problems = streaming::problems_of(model, -1);
    const auto placement = place(model, problems);
    if (!problems.empty()) throw GraphError(std::move(problems));
    const auto part = part_of(model, placement, Components::known());
    Locked guard(lock);
    if (closing) throw UsageError("this cluster is being destroyed");
    const auto run_number = next_run++;
    auto& run = cluster_runs[run_number];
    run.part = part;
    for (const auto& [filter, sites] : placement.sites) run.sites.insert(sites.begin(), sites.end());
    run.awaited = run.sites;
    for (const auto& filter : model.filters)
        if (const auto sites = placement.sites.find(filter.id); sites != placement.sites.end())
            for (int copy = 0; copy < filter.options.copies; ++copy)
                ++run.filters[placement.of(filter.id, copy)][filter.name];
    const auto give_up = [&] {
        if (!guard.owns_lock()) guard.lock();
        release(run_number);
    };
    guard.unlock();
    std::unique_ptr<RunState> state;
    try {
        state = RunState::make(machine, model, run_options,
                               [&](RunState& made) { made.spread_over(placement, 0, run_number); });
    } catch (...) {
        give_up();
        throw;
    }
    state->far->look = [weak = weak_from_this()] {
        const auto cluster = weak.lock();
        return cluster != nullptr && cluster->endpoint.look();
    };
    state->far->look_away = [weak = weak_from_this()] {
        if (const auto cluster = weak.lock()) cluster->endpoint.look_away();
    };
    state->far->leaving = [weak = weak_from_this(), far = state->far.get()] {
        const auto cluster = weak.lock();
        if (cluster == nullptr) return;
        cluster->leave(*far);
        const std::lock_guard of_cluster(cluster->lock);
        cluster->release(far->number());
    };
    state->far->add_figures = [parts = run.figures](RunStatistics& all) { add(all, parts->all()); };
    state->far->figures_of_nodes = [parts = run.figures] { return parts->by_node(); };
    enter(*state->far);
    guard.lock();
    run.state = state.get();
    const auto until = std::chrono::steady_clock::now() + options.time_to_start;
    // Parts are given once all are there: one that is given before a neighbour is replaced knows the old one's address.
    const auto is_there = [&](wire::Site site) { return members.at(site).state == Member::State::present; };
    try {
        while (run.ready != run.sites) {
            if (closing) throw UsageError("this cluster is being destroyed");
            if (!run.refused.empty()) throw GraphError({run.refused});
            const bool all_there = std::ranges::all_of(run.sites, is_there);
            for (const auto site : run.sites) {
                const auto& member = members.at(site);
                if (member.lost) throw NodeDied(member.node.name, "nothing has taken its place", {}, 0);
                if (!all_there || run.given[site] == member.node.generation) continue;
                run.figures->begin(site, member.node.name, member.node.generation);
                const bool another = std::exchange(run.given[site], member.node.generation) != 0;
                run.ready.erase(site);
                state->far->set_wire(site, member.wire);
                tell_peers();  // the thread that replaces nodes may not have come to that
                say_to(member, Control::part, {.run = run_number}, part);
                if (another) say_replaced(run_number, run, member);
            }
            if (changed_something.wait_until(guard, until) == std::cv_status::timeout && run.ready != run.sites)
                for (const auto site : run.sites)
                    if (!run.ready.contains(site))
                        throw NodeDied(members.at(site).node.name, "it was not ready for the graph in time", {}, 0);
        }
        run.made = true;
    } catch (...) {
        state->finished = true;
        run.state = nullptr;
        guard.unlock();
        state = nullptr;
        throw;
    }
    return state;
}

void ClusterState::begin(RunState& state) {
    auto kept = state.keep_open();
    {
        const std::lock_guard guard(lock);
        auto& run = cluster_runs.at(state.far->number());
        if (!run.awaited.empty()) run.open = std::move(kept);
    }
    state.begin();
    endpoint.call([&] { state.far->open(); });
    const std::lock_guard guard(lock);
    auto& run = cluster_runs.at(state.far->number());
    for (const auto site : run.sites) say_to(members.at(site), Control::begin, {.run = state.far->number()});
    run.begun = true;
    changed_something.notify_all();
}

/// Under the lock.
void ClusterState::release(std::uint32_t run_number) {
    const auto run = cluster_runs.find(run_number);
    if (run == cluster_runs.end()) return;
    for (const auto site : run->second.sites) say_to(members.at(site), Control::release, {.run = run_number});
    cluster_runs.erase(run);
}

void ClusterState::take_over(wire::Site site, std::uint32_t run_number, const Over& over) {
    const auto& [text, filter, copy, firing, lost] = over;
    streaming::RunCore::KeptOpen open;
    Locked guard(lock);
    const auto found = cluster_runs.find(run_number);
    if (found == cluster_runs.end() || found->second.state == nullptr) return;
    auto& run = found->second;
    auto& core = run.state->core;
    std::vector<LostBuffer> buffers;
    for (const auto& [of, its_copy, its_firing, port, sequence, written] : lost)
        buffers.push_back({of, static_cast<int>(its_copy), its_firing, port, sequence, written});
    core.note_lost(buffers);
    if (!text.empty()) {
        auto* const station = run.state->far->station_of(filter, static_cast<int>(copy));
        if (station != nullptr) core.failed(*station, firing, error(text));
        else core.broken(error("on node '" + members.at(site).node.name + "': " + text));
    }
    run.awaited.erase(site);
    if (run.awaited.empty()) open = std::move(run.open);  // gone below, outside the lock
    guard.unlock();
    changed_something.notify_all();
    open = nullptr;
    core.stir();
}

void ClusterState::tick() noexcept {
    try {
        const std::lock_guard guard(lock);
        for (auto& [run_number, run] : cluster_runs)
            if (run.state != nullptr && run.open != nullptr) look_for_stall(run);
    } catch (...) {  // no memory: at the next time
    }
}

/// Nothing moves anywhere, and nothing is on its way: each part is at rest in the same state at several looks, and as
/// many frames have come as were sent.
void ClusterState::look_for_stall(ClusterRun& run) {
    auto& core = run.state->core;
    auto now = run.figures->all();
    const bool all_there = std::ranges::all_of(run.awaited, [&](wire::Site site) {
        return members.at(site).state == Member::State::present && run.ready.contains(site);
    });
    if (!all_there) run.still = 0;  // somebody is being replaced
    if (!all_there || now.size() < run.sites.size()) return;
    const auto of_nodes = now;
    std::get<0>(now[0]) = {core.progress(), run.state->far->frames_sent(), run.state->far->frames_come(),
                           core.settled()};
    std::uint64_t sent = 0, come = 0;
    bool same = now.size() == run.before.size();
    for (const auto& [site, figures] : now) {
        const auto& moved = std::get<0>(figures);
        sent += moved.frames_sent;
        come += moved.frames_come;
        const auto was = run.before.find(site);
        same = same && moved.settled != 0 && was != run.before.end() &&
               std::get<0>(was->second).progress == moved.progress &&
               std::get<0>(was->second).frames_sent == moved.frames_sent;
    }
    run.before = now;
    run.still = same && core.awaited() && !core.program_writes() && !core.stopping() ? run.still + 1 : 0;
    // Two seconds; where frames are on their way, or those of a dead node confuse the sums, as long as a connection may
    // be broken besides.
    const auto looks = sent == come && !run.some_died ? 8 : 8 + options.patience / 250ms;
    if (run.still < looks) return;
    std::string report = core.report();
    for (const auto& [site, figures] : of_nodes)
        report += "on node '" + members.at(site).node.name + "':\n" + std::get<3>(figures);
    core.broken(std::make_exception_ptr(StreamStalled("the graph cannot go on:\n" + report)));
    run.still = 0;
}

}  // namespace nodes
}  // namespace penstock
