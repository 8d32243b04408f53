#include "nodes/cluster_team.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "nodes/cluster_state.hpp"
#include "penstock/spmd.hpp"
#include "store/team/team.hpp"

namespace penstock {
namespace nodes {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_end = 5s;  // of ranks that were interrupted

/// A function of the program itself, with its closure.
class BuildProgram final : public team::FarProgram {
  public:
    explicit BuildProgram(const Recipe& recipe) {
        carried::Decoder from(recipe.bytes);
        const auto [call, function, closure] = carried::decode<CarriedProgram>(from);
        if (closure.size() > closure_.size()) throw UsageError("what the ranks are to run came spoilt");
        std::ranges::copy(closure, closure_.begin());
        call_ = reinterpret_cast<Call>(const_cast<void*>(address({recipe.name, call})));
        if (const auto& [identity, offset] = function; !identity.empty()) {
            const void* const at = address({identity, offset});
            std::memcpy(closure_.data(), static_cast<const void*>(&at), sizeof at);
        }
    }
    void run(Rank me, std::vector<std::byte>&) override { call_(closure_.data(), me); }

  private:
    static const void* address(const BuildPlace& place) {
        const void* const found = address_in_build(place.identity, place.offset);
        if (found == nullptr)
            throw UsageError(
                "the agent is not the same build of the program, so it does not have the function that the ranks are "
                "to run: start the program itself as the agent (become_agent)");
        return found;
    }

    using Call = void (*)(const void*, Rank);
    Call call_ = nullptr;
    alignas(64) std::array<std::byte, team::largest_sent_closure> closure_{};
};

}  // namespace

std::vector<std::byte> team_part(const team::TeamPlan& plan, const TeamOrder& order) {
    TeamPart part;
    auto& [size, within, pin, members, form, name, bytes] = part;
    size = plan.size;
    within = order.accept_within.count();
    pin = order.pin;
    for (const auto& node : plan.nodes) members.emplace_back(node.site, node.generation, node.name, node.process);
    form = order.recipe.form;
    name = order.recipe.name;
    bytes = order.recipe.bytes;
    return packed(part);
}

std::tuple<team::TeamPlan, TeamOptions, Recipe> team_from(std::uint32_t number, std::span<const std::byte> bytes) {
    const auto [size, within, pin, members, form, name, recipe] = unpacked<TeamPart>(bytes);
    team::TeamPlan plan{.number = number, .size = static_cast<int>(size), .nodes = {}};
    for (const auto& [site, generation, node, process] : members)
        plan.nodes.push_back({site, generation, node, static_cast<int>(process)});
    if (size < 1 || size > team::most_ranks || plan.nodes.empty() || std::cmp_greater(plan.nodes.size(), size))
        throw Error("a team came that there cannot be");
    return {std::move(plan), {std::chrono::nanoseconds(within), pin}, {form, name, recipe}};
}

std::unique_ptr<team::FarProgram> program_of(const Recipe& recipe) {
    if (recipe.form == "build") return std::make_unique<BuildProgram>(recipe);
    return team::FarProgram::of(recipe.form, recipe.name, recipe.bytes);
}

RankEnded ended(const team::RankEnd& end) {
    return {end.rank, end.state == team::State::failed, end.consequence, end.text, end.value};
}

// ---- the program's side, under the cluster's lock ----

void ClusterState::team_says(wire::Site site, Control what, std::uint32_t of_team, std::span<const std::byte> payload) {
    const auto found = cluster_teams.find(of_team);
    if (found == cluster_teams.end()) return;
    auto& team = *found->second;
    if (std::ranges::find(team.plan.nodes, site, &team::TeamNode::site) == team.plan.nodes.end())
        throw Error("a node speaks of a team in which it has no part");
    if (what == Control::team_ready) {
        team.ready.insert(site);
    } else if (what == Control::team_refused) {
        team.refused = "on node '" + members.at(site).node.name + "': " + text_of(payload);
    } else {
        auto [rank, failed, consequence, text, value] = unpacked<RankEnded>(payload);
        if (rank < 0 || rank >= team.plan.size ||
            team.plan.nodes[team.plan.node_of(static_cast<int>(rank))].site != site)
            throw Error("a node ends a rank that is not its own");
        auto& end = team.ends[static_cast<std::size_t>(rank)];
        if (std::exchange(end.ended, true)) return;
        end.order = ++team.ended;
        end.end = {static_cast<int>(rank), failed ? team::State::failed : team::State::finished, consequence,
                   std::move(text), std::move(value)};
    }
}

void ClusterState::team_loses(std::uint32_t of_team, ClusterTeam& team, wire::Site site, const std::string& how) {
    const auto node = std::ranges::find(team.plan.nodes, site, &team::TeamNode::site);
    if (node == team.plan.nodes.end() || !team.lost.emplace(site, how).second) return;
    const auto place = static_cast<std::size_t>(node - team.plan.nodes.begin());
    for (int rank = team.plan.first_of(place); rank < team.plan.first_of(place + 1); ++rank) {
        auto& end = team.ends[static_cast<std::size_t>(rank)];
        if (std::exchange(end.ended, true)) continue;
        end.order = ++team.ended;
        end.died = true;
        end.how = how;
    }
    for (const auto& other : team.plan.nodes)
        if (other.site != site && !team.lost.contains(other.site))
            say_to(members.at(other.site), Control::team_lost,
                   {.run = of_team, .site = site, .generation = node->generation});
}

std::vector<TeamEnd> ClusterState::run_team(const TeamOrder& order, const std::function<bool()>& look) {
    origin.require("this cluster");
    const auto self = shared_from_this();  // another thread may close the cluster meanwhile
    Locked guard(lock);
    std::vector<wire::Site> sites;
    wire::Site last = 0;
    for (const auto& group : options.nodes)
        for (int i = 0; i < group.count; ++i)
            if (++last; order.group.empty() || order.group == group.name) sites.push_back(last);
    if (sites.empty())
        throw UsageError(order.group.empty() ? "the cluster has no nodes for ranks to run on"
                                             : "the cluster has no nodes '" + order.group + "' for ranks to run on");
    if (std::cmp_less(order.size, sites.size())) sites.resize(static_cast<std::size_t>(order.size));
    const auto until = std::chrono::steady_clock::now() + options.time_to_start;
    const auto check_closing = [&] {
        if (closing) throw UsageError("this cluster is being destroyed");
    };
    bool interrupted = false;
    const auto wait = [&] {  // a while
        changed_something.wait_for(guard, look ? 20ms : 1s);
        if (!look) return;
        guard.unlock();
        interrupted = look() || interrupted;
        guard.lock();
    };
    // Nodes that are being replaced just now; another may die while one is waited for.
    const auto is_absent = [&](wire::Site site) { return members.at(site).state != Member::State::present; };
    for (;;) {
        const auto absent = std::ranges::find_if(sites, is_absent);
        if (absent == sites.end()) break;
        check_closing();
        if (interrupted) return {};
        if (members.at(*absent).lost)
            throw NodeDied(members.at(*absent).node.name, "nothing has taken its place", {}, 0);
        if (std::chrono::steady_clock::now() > until)
            throw NodeDied(members.at(*absent).node.name, "another was not there in time for the team", {}, 0);
        wait();
    }
    check_closing();
    const auto number_of_team = next_run++;
    const auto team = std::make_shared<ClusterTeam>();
    team->plan = {.number = number_of_team, .size = order.size, .nodes = {}};
    for (const auto site : sites) {
        const auto& member = members.at(site);
        team->plan.nodes.push_back({site, member.node.generation, member.node.name, member.process});
    }
    team->ends.resize(static_cast<std::size_t>(order.size));
    for (int rank = 0; rank < order.size; ++rank) {
        const auto& node = team->plan.nodes[team->plan.node_of(rank)];
        auto& end = team->ends[static_cast<std::size_t>(rank)];
        end.node = node.name;
        end.process = node.process;
        end.end.rank = rank;
    }
    cluster_teams[number_of_team] = team;
    const auto say_all = [&](Control what, const std::vector<std::byte>& payload = {}) {
        for (const auto site : sites)
            if (!team->lost.contains(site)) say_to(members.at(site), what, {.run = number_of_team}, payload);
    };
    const struct Released {
        const std::function<void()> release;
        ~Released() { release(); }
    } released{[&] {
        if (!guard.owns_lock()) guard.lock();
        say_all(Control::team_release);
        cluster_teams.erase(number_of_team);
    }};
    tell_peers();  // the thread that replaces nodes may not have come to that
    say_all(Control::team, team_part(team->plan, order));
    while (team->ready.size() != sites.size()) {
        check_closing();
        if (!team->refused.empty()) throw UsageError(team->refused);
        if (!team->lost.empty())
            throw NodeDied(members.at(team->lost.begin()->first).node.name, team->lost.begin()->second, {}, 0);
        if (interrupted) return team->ends;
        if (std::chrono::steady_clock::now() > until)
            for (const auto site : sites)
                if (!team->ready.contains(site))
                    throw NodeDied(members.at(site).node.name, "it was not ready for the team in time", {}, 0);
        wait();
    }
    say_all(Control::team_begin);
    std::optional<std::chrono::steady_clock::time_point> given_up;
    while (team->ended != order.size) {
        wait();
        if (given_up && std::chrono::steady_clock::now() > *given_up) break;  // what still runs there ends by itself
        if (closing) {
            for (const auto site : sites) team_loses(number_of_team, *team, site, "the cluster is being destroyed");
        } else if (interrupted && !given_up) {
            say_all(Control::team_interrupt);
            given_up = std::chrono::steady_clock::now() + time_to_end;
        }
    }
    return team->ends;
}

std::vector<TeamEnd> run_team(ClusterState& cluster, const TeamOrder& order, const std::function<bool()>& look) {
    return cluster.run_team(order, look);
}

}  // namespace nodes

namespace team {

void run_on_nodes(int size, const Program& program, const SpmdOptions& options) {
    if (!program.sendable)
        throw UsageError(
            "the function that spmd shall run on the nodes of a cluster cannot be sent there: it must be trivially "
            "copyable and have at most " +
            std::to_string(largest_sent_closure) + " bytes; let it capture numbers only");
    const auto place = nodes::place_in_build(reinterpret_cast<const void*>(program.call));
    nodes::TeamOrder order{.size = size,
                           .group = std::string(options.nodes),
                           .recipe = {"build", place.identity, {}},
                           .accept_within = options.accept_within,
                           .pin = options.pin};
    nodes::CarriedProgram carried{place.offset, {}, std::vector<std::byte>(program.bytes)};
    std::memcpy(std::get<2>(carried).data(), program.closure, program.bytes);
    if (program.function) {  // which lies somewhere else in another process
        const void* function = nullptr;
        std::memcpy(static_cast<void*>(&function), program.closure, sizeof function);
        const auto of_function = nodes::place_in_build(function);
        std::get<1>(carried) = {of_function.identity, of_function.offset};
    }
    order.recipe.bytes = nodes::packed(carried);
    std::vector<Ending> endings;
    for (auto& end : options.cluster->state().run_team(order, {})) {
        Ending ending;
        ending.rank = end.end.rank;
        ending.order = end.order;
        ending.died = end.died;
        ending.consequence = end.end.consequence;
        if (end.died) ending.error = std::make_exception_ptr(RankDied(end.end.rank, end.process, end.node, end.how));
        else if (end.end.state == State::failed) ending.error = std::make_exception_ptr(Error(end.end.text));
        endings.push_back(std::move(ending));
    }
    conclude(endings);
}

}  // namespace team
}  // namespace penstock
