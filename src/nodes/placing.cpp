// Placement by a profile: a graph and what a run of it was like, as the numbers that the search wants, and back.
//
// The work of a filter is its firings times its service time. A group's nodes get a filter's copies in turn, so node 0
// of the group always has the most to do: its work, over the share that its processors are of all, is what has to be
// even. Between two filters of one group bytes go between nodes too, where it has several.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "language/passes/transforming.hpp"
#include "nodes/cluster_state.hpp"
#include "nodes/cut_search.hpp"
#include "nodes/recipe.hpp"
#include "stream/description/adjacency.hpp"
#include "trace/text.hpp"

namespace penstock {
namespace nodes {
namespace {

using language::Profile;
using streaming::FilterModel;
using streaming::Model;
using streaming::StreamModel;

constexpr double leeway = 1.1;  ///< above the least balance, where none is asked for
constexpr double never = CutProblem::never;

std::string quoted(const std::string& name) { return "'" + name + "'"; }

std::string bytes_text(double bytes) {
    const char* unit = "bytes";
    for (const char* const next : {"kB", "MB", "GB", "TB"}) {
        if (bytes < 1000) break;
        bytes /= 1000;
        unit = next;
    }
    return trace::fixed(bytes, bytes < 10 ? 2 : bytes < 100 ? 1 : 0) + " " + unit;
}

/// The program's part, or a group of nodes.
struct Place {
    std::string group;  ///< empty: the program
    int nodes = 1;
    double cpus = 1;  ///< of a node
    double memory = never;
    int targets = 1;

    std::string name() const { return group.empty() ? "program" : group; }
};

class Placing {
  public:
    Placing(const ClusterState& cluster, const Model& model, const Profile& profile, const PlaceOptions& options)
        : cluster_(cluster), model_(model), profile_(profile), options_(options), adjacency_(model) {
        if (options.balance != 0 && !(options.balance >= 1 && std::isfinite(options.balance)))
            throw UsageError("PlaceOptions::balance is 1 or more, or 0 for the least that can be had");
        if (!(options.program_cpus >= 0 && std::isfinite(options.program_cpus)))
            throw UsageError("PlaceOptions::program_cpus is a number of processors, or 0");
        seconds_ = profile.seconds > 0 ? profile.seconds : 1;
        note_places();
    }

    Assignment placed() {
        check_profile();
        if (model_.filters.empty()) return assignment({});
        join_units();
        describe();
        return assignment(search());
    }

  private:
    void note_places() {
        const auto& machine = cluster_.machine;
        Place program;
        program.targets = std::max(machine.targets(), 1);
        program.cpus = options_.program_cpus > 0 ? options_.program_cpus : machine.targets() + 1;
        places_.push_back(program);
        const int targets = cluster_.options.node_machine.targets;
        for (const auto& group : cluster_.options.nodes) {
            Place place;
            place.group = group.name;
            place.nodes = group.count;
            place.cpus = group.needs.cpus > 0 ? group.needs.cpus : targets >= 0 ? targets + 1 : machine.targets() + 1;
            if (group.needs.memory != 0) place.memory = static_cast<double>(group.needs.memory);
            place.targets = std::max(targets, 1);
            places_.push_back(place);
        }
    }

    // ---- what the profile says ----

    static bool may_go(const FilterModel& filter) { return filter.options.nodes == FilterOptions::any_nodes; }
    double work(const FilterModel& filter) const {
        const auto found = profile_.components.find(filter.name);
        return found == profile_.components.end() ? 0 : found->second.work() / seconds_;
    }
    const language::ProfiledStream* profiled(const StreamModel& stream) const {
        const auto found = profile_.streams.find(ends(stream));
        return found == profile_.streams.end() ? nullptr : &found->second;
    }
    std::pair<std::string, std::string> ends(const StreamModel& stream) const {
        const auto &from = *model_.filter(stream.from), &to = *model_.filter(stream.to);
        return {from.name + "." + from.first->outputs[stream.output]->name(),
                to.name + "." + to.first->inputs[stream.input]->name()};
    }
    double bytes_rate(const StreamModel& stream) const {
        const auto* const seen = profiled(stream);
        return seen == nullptr ? 0 : seen->bytes_rate;
    }
    /// Bytes that may wait at a copy.
    double waiting(const StreamModel& stream) const {
        const auto* const seen = profiled(stream);
        if (seen == nullptr || seen->buffers == 0) return 0;
        const double capacity =
            stream.options.capacity != 0 ? static_cast<double>(stream.options.capacity) : seen->capacity;
        return capacity * seen->bytes_rate * seconds_ / seen->buffers;
    }
    void check_profile() const {
        std::vector<std::string> problems;
        double all = 0;
        for (const auto& filter : model_.filters) {
            all += work(filter);
            if (may_go(filter) && !profile_.components.contains(filter.name))
                problems.push_back("the profile says nothing of filter " + quoted(filter.name) +
                                   ", which is to be placed by it: it is of another graph");
        }
        for (const auto& stream : model_.streams) {
            if (!may_go(*model_.filter(stream.from)) && !may_go(*model_.filter(stream.to))) continue;
            const auto [from, to] = ends(stream);
            if (profiled(stream) == nullptr)
                problems.push_back("the profile says nothing of the stream " + from + " -> " + to +
                                   ", whose filters are to be placed by it: it is of another graph");
        }
        if (!problems.empty()) throw GraphError(std::move(problems));
        if (all == 0 && std::ranges::any_of(model_.filters, may_go))
            throw UsageError(
                "the profile has no service times, so nothing can be balanced by it: let the run that it is of go on "
                "for longer");
    }

    // ---- what goes somewhere together ----

    void join_units() {
        std::vector<std::size_t> head(model_.filters.size());
        std::iota(head.begin(), head.end(), std::size_t{0});
        const auto find = [&](std::size_t at) {
            while (head[at] != at) at = head[at] = head[head[at]];
            return at;
        };
        const auto cycles = streaming::cycles_of(adjacency_);
        std::map<std::size_t, std::size_t> of_cycle;
        for (std::size_t i = 0; i < head.size(); ++i) {
            if (const auto* const near = model_.named(model_.filters[i].options.near))
                head[find(i)] = find(model_.position(near->id));
            if (cycles[i] == 0) continue;
            const auto [first, fresh] = of_cycle.emplace(cycles[i], i);
            if (!fresh) head[find(i)] = find(first->second);
        }
        std::map<std::size_t, std::size_t> units;
        unit_of_.resize(head.size());
        for (std::size_t i = 0; i < head.size(); ++i) unit_of_[i] = units.emplace(find(i), units.size()).first->second;
        members_.resize(units.size());
        for (std::size_t i = 0; i < head.size(); ++i) members_[unit_of_[i]].push_back(i);
        in_cycle_ = cycles;
    }

    // ---- where a filter may go ----

    int copies(const FilterModel& filter, const Place& place) const {
        if (filter.options.copies != FilterOptions::automatic) return std::max(filter.options.copies, 1);
        return place.group.empty() ? place.targets + 1 : place.nodes * place.targets;
    }
    /// Why the program must run it; empty: it need not.
    std::string tie(const FilterModel& filter) const {
        if (filter.options.nodes.empty()) return "it has no `nodes`";
        if (filter.kind->external) return "it is the program's own end";
        if (filter.options.stays_in_program()) return "isolation \"none\" keeps it in the program";
        if (!filter.options.target_classes.empty()) return "it names classes of targets, which nodes have none of";
        for (const auto* const stream : adjacency_.out_of(filter.id))
            if (stream->options.key) return "a stream out of it has a key that is a function of the program";
        if (filter.options.needs_process())
            return "it needs a worker process: say yourself on which nodes there are some";
        std::string why;
        if (!recipe_of(*filter.kind, std::string(filter.first->type()), Components::known(), why))
            return "it cannot be made elsewhere: " + why;
        return {};
    }
    bool may(const FilterModel& filter, const Place& place, const std::string& tied) const {
        const auto& options = filter.options;
        const bool program = place.group.empty();
        if (!options.nodes.empty() && !may_go(filter)) return options.nodes == place.group;
        if (!tied.empty()) return program;
        if (program) return !options.tracked();  // it is to outlive its node
        // A cycle runs on one node.
        return in_cycle_[model_.position(filter.id)] == 0 || place.nodes == 1 || copies(filter, place) == 1;
    }

    // ---- as numbers ----

    /// Copies on node 0, over all.
    double fullest(const FilterModel& filter, const Place& place) const {
        const int count = copies(filter, place);
        return static_cast<double>((count + place.nodes - 1) / place.nodes) / count;
    }
    /// What of a stream goes between nodes when both its ends are there: any copy writes to any other.
    double crossing(const StreamModel& stream, const Place& place) const {
        const int from = copies(*model_.filter(stream.from), place), to = copies(*model_.filter(stream.to), place);
        double within = 0;
        for (int node = 0; node < place.nodes; ++node) {
            const auto share = [&](int count) {
                return static_cast<double>(count / place.nodes + (node < count % place.nodes)) / count;
            };
            within += share(from) * share(to);
        }
        return std::max(0.0, 1 - within);
    }

    void describe() {
        double all_cpus = 0, all_work = 0;
        for (const auto& place : places_) all_cpus += place.cpus * place.nodes;
        for (const auto& filter : model_.filters) all_work += work(filter);
        all_work = std::max(all_work, 1e-12);
        for (const auto& place : places_) {
            problem_.shares.push_back(place.cpus * place.nodes / all_cpus);
            problem_.memory.push_back(place.memory);
        }
        std::vector<std::string> nowhere;
        ties_.resize(model_.filters.size());
        for (const auto& members : members_) {
            auto& unit = problem_.units.emplace_back();
            for (const auto& place : places_) {
                double ratio = 0, memory = 0;
                for (const auto i : members) {
                    const auto& filter = model_.filters[i];
                    if (&place == &places_[0]) ties_[i] = tie(filter);
                    if (!may(filter, place, ties_[i])) ratio = never;
                    ratio += work(filter) / all_work * fullest(filter, place) * all_cpus / place.cpus;
                    for (const auto* const stream : adjacency_.into(filter.id))
                        memory += waiting(*stream) * std::ceil(fullest(filter, place) * copies(filter, place));
                }
                unit.ratio.push_back(ratio);
                unit.memory.push_back(memory);
                unit.own.push_back(0);
            }
            if (std::ranges::all_of(unit.ratio, [](double ratio) { return ratio == never; }))
                nowhere.push_back(trace::list_of(members, " and ", [&](std::size_t i) {
                    const auto& filter = model_.filters[i];
                    const auto& why = ties_[i];
                    return quoted(filter.name) + (!why.empty()      ? " (" + why + ")"
                                                  : !may_go(filter) ? " (for " + quoted(filter.options.nodes) + ")"
                                                  : filter.options.tracked()
                                                      ? " (it is to outlive the loss of its node)"
                                                      : "");
                }));
        }
        if (!nowhere.empty())
            throw NoPlacement(NoPlacement::Bound::rules, 0,
                              "there is no node where these can run" +
                                  std::string(nowhere.size() == 1 ? "" : ", each line together") + ": " +
                                  trace::list_of(nowhere, "; "));
        for (const auto& stream : model_.streams) {
            const auto from = model_.position(stream.from), to = model_.position(stream.to);
            const auto one = unit_of_[from], other = unit_of_[to];
            const double bytes = bytes_rate(stream);
            if (one == other) {
                for (std::size_t i = 0; i < places_.size(); ++i)
                    problem_.units[one].own[i] += bytes * crossing(stream, places_[i]);
                continue;
            }
            auto& edge = problem_.edges.emplace_back();
            edge.one = one;
            edge.other = other;
            edge.apart = bytes;
            for (const auto& place : places_) edge.together.push_back(bytes * crossing(stream, place));
            edge.must_part = model_.filters[from].options.tracked() || model_.filters[to].options.tracked();
        }
    }

    // ---- the answer ----

    CutAnswer search() {
        const auto even = most_even(problem_);
        if (!even.answer) refuse_all(even);
        double balance = options_.balance;
        if (balance == 0) balance = std::max(1.0, even.answer->balance) * leeway;
        auto cheap = least_cut(problem_, balance);
        // What is most even keeps to any balance that can be kept to, also where the search has found nothing.
        if (!cheap.answer && even.answer->balance <= balance) {
            cheap.answer = even.answer;
            cheap.answer->best = false;
        }
        if (!cheap.answer) refuse_balance(balance, *even.answer);
        return *cheap.answer;
    }
    [[noreturn]] void refuse_balance(double balance, const CutAnswer& even) const {
        // What is most even says which group binds.
        const auto ratios = ratios_of(even);
        const auto worst = static_cast<std::size_t>(std::ranges::max_element(ratios) - ratios.begin());
        std::vector<std::string> bound;
        for (std::size_t i = 0; i < model_.filters.size(); ++i)
            if (even.group[unit_of_[i]] == worst && work(model_.filters[i]) > 0)
                bound.push_back(quoted(model_.filters[i].name));
        throw NoPlacement(NoPlacement::Bound::balance, even.balance,
                          "no placement keeps every group of nodes to " + trace::fixed(balance, 2) +
                              " times its share of the work: " + (even.best ? "the least is " : "the least found is ") +
                              trace::fixed(even.balance, 2) + ", of " + quoted(places_[worst].name()) + " with " +
                              trace::list_of(bound, ", ") +
                              "; ask for that much, give these filters more copies, or let more filters go "
                              "(nodes = \"auto\")");
    }
    /// Nothing was found even where the balance does not matter.
    [[noreturn]] void refuse_all(const CutFound& even) const {
        auto roomy = problem_;
        std::ranges::fill(roomy.memory, never);
        const auto without = most_even(roomy);
        const std::string sure = even.searched_all ? "no placement" : "no placement that was found";
        if (!without.answer)
            throw NoPlacement(NoPlacement::Bound::rules, 0,
                              sure +
                                  " keeps filters that are to outlive the loss of their node (on_node_loss) on other "
                                  "nodes than those that they read from and write to: a group of nodes more is "
                                  "needed");
        std::vector<double> memory(places_.size(), 0);
        for (std::size_t unit = 0; unit < problem_.units.size(); ++unit)
            memory[without.answer->group[unit]] += problem_.units[unit].memory[without.answer->group[unit]];
        std::vector<std::string> over;
        for (std::size_t i = 0; i < places_.size(); ++i)
            if (memory[i] > places_[i].memory)
                over.push_back(quoted(places_[i].name()) + " (" + bytes_text(memory[i]) + ", and a node has " +
                               bytes_text(places_[i].memory) + ")");
        throw NoPlacement(NoPlacement::Bound::memory, 0,
                          sure +
                              " keeps the buffers that may wait to the memory of nodes; without that bound it would "
                              "not be enough on " +
                              trace::list_of(over, ", ") + ": give nodes more memory, or streams a smaller capacity");
    }
    std::vector<double> ratios_of(const CutAnswer& answer) const {
        std::vector<double> ratios(places_.size(), 0);
        for (std::size_t unit = 0; unit < answer.group.size(); ++unit)
            ratios[answer.group[unit]] += problem_.units[unit].ratio[answer.group[unit]];
        return ratios;
    }

    Assignment assignment(const CutAnswer& answer) const {
        Assignment made;
        made.balance = answer.balance;
        made.best = answer.best;
        made.shares.resize(places_.size());
        const auto ratios = ratios_of(answer);
        for (std::size_t i = 0; i < places_.size(); ++i) {
            auto& share = made.shares[i];
            share.nodes = places_[i].name();
            share.cpus = places_[i].cpus * places_[i].nodes;
            share.ratio = ratios[i];
            share.of_memory = places_[i].memory == never ? 0 : static_cast<std::uint64_t>(places_[i].memory);
            for (std::size_t unit = 0; unit < answer.group.size(); ++unit)
                if (answer.group[unit] == i) share.memory += problem_.units[unit].memory[i];
        }
        for (std::size_t i = 0; i < model_.filters.size(); ++i) {
            const auto& filter = model_.filters[i];
            const auto at = answer.group[unit_of_[i]];
            std::string why = ties_[i];
            if (why.empty() && !may_go(filter)) why = "its `nodes` says so";
            made.filters.push_back({filter.name, places_[at].group, std::move(why), work(filter)});
            made.shares[at].load += work(filter);
        }
        for (const auto& stream : model_.streams) {
            const auto from = answer.group[unit_of_[model_.position(stream.from)]];
            const auto to = answer.group[unit_of_[model_.position(stream.to)]];
            const double part = from == to ? crossing(stream, places_[from]) : 1;
            if (part <= 0) continue;
            auto [one, other] = ends(stream);
            made.cut.push_back({std::move(one), std::move(other), part * bytes_rate(stream)});
            made.bytes_rate += made.cut.back().bytes_rate;
        }
        return made;
    }

    const ClusterState& cluster_;
    const Model& model_;
    const Profile& profile_;
    const PlaceOptions& options_;
    const streaming::Adjacency adjacency_;
    double seconds_ = 1;
    std::vector<Place> places_;                      ///< the program first
    std::vector<std::size_t> unit_of_;               ///< by filter
    std::vector<std::vector<std::size_t>> members_;  ///< by unit
    std::vector<std::size_t> in_cycle_;              ///< by filter: which; 0: none
    std::vector<std::string> ties_;                  ///< by filter: why the program must run it
    CutProblem problem_;
};

Profile profile_of(const RunStatistics& figures) {
    Profile made;
    made.seconds = figures.seconds;
    for (const auto& each : figures.filters)
        made.components[each.name] = {each.copies, static_cast<double>(each.firings), each.service_us / 1e6,
                                      each.waits_for_output};
    for (const auto& each : figures.streams)
        made.streams[{each.from, each.to}] = {static_cast<double>(each.buffers), each.capacity, each.bytes_rate};
    return made;
}

}  // namespace

Assignment placed(const ClusterState& cluster, const Model& model, const std::string& profile) {
    return Placing(cluster, model, language::read_profile(profile), {}).placed();
}

}  // namespace nodes

NoPlacement::NoPlacement(Bound bound, double least, const std::string& what)
    : Error(what), bound_(bound), least_(least) {}

namespace {

Assignment place_on(const Cluster& cluster, const GraphBuilder& graph, const language::Profile& profile,
                    const PlaceOptions& options) {
    auto problems = graph.check();
    if (!problems.empty()) throw GraphError(std::move(problems));
    return nodes::Placing(cluster.state(), graph.model(), profile, options).placed();
}

}  // namespace

Assignment Cluster::place(const GraphBuilder& graph, const std::string& profile, const PlaceOptions& options) const {
    return place_on(*this, graph, language::read_profile(profile), options);
}

Assignment Cluster::place(const GraphBuilder& graph, const RunStatistics& profile, const PlaceOptions& options) const {
    return place_on(*this, graph, nodes::profile_of(profile), options);
}

void Assignment::apply(GraphBuilder& graph) const {
    auto& model = graph.model();
    if (*model.running) throw UsageError("the graph runs, and its filters stay where they are");
    for (const auto& place : filters)
        if (model.named(place.filter) == nullptr)
            throw UsageError("the graph has no filter '" + place.filter + "': the placement is of another one");
    for (const auto& place : filters) model.named(place.filter)->options.nodes = place.nodes;
}

std::string Assignment::text() const {
    std::string text;
    for (const auto& share : shares) {
        std::vector<std::string> names;
        for (const auto& place : filters)
            if ((place.nodes.empty() ? "program" : place.nodes) == share.nodes) names.push_back(place.filter);
        text +=
            share.nodes + ": " + trace::list_of(names, ", ") + " (" + trace::fixed(share.ratio, 2) + " of its share)\n";
    }
    for (const auto& each : cut)
        text += "cut: " + each.from + " -> " + each.to + ", " + nodes::bytes_text(each.bytes_rate) + " a second\n";
    return text + "between nodes: " + nodes::bytes_text(bytes_rate) + " a second, " +
           (best ? "and fewer cannot be had" : "the fewest found") + '\n';
}

}  // namespace penstock
