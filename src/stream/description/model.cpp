#include "stream/description/model.hpp"

#include <map>
#include <set>
#include <unordered_set>

#include "penstock/machine.hpp"
#include "stream/description/adjacency.hpp"

namespace penstock::streaming {
namespace {

using Say = std::function<void(std::string)>;

std::string quoted(const std::string& name) { return "'" + name + "'"; }

void check_filters(const Adjacency& adjacency, int targets, const Say& say) {
    const auto& model = adjacency.model();
    std::unordered_set<std::string_view> names(model.filters.size());
    for (const auto& filter : model.filters) {
        const auto& options = filter.options;
        const auto wrong = [&](const std::string& what) { say("filter " + quoted(filter.name) + what); };
        if (filter.name.empty()) say("a filter has no name");
        if (!names.insert(filter.name).second) say("the name " + quoted(filter.name) + " is used twice");
        if (options.copies < 0) wrong(" cannot have " + std::to_string(options.copies) + " copies");
        if (options.copies != 1 && !filter.kind->may_be_copied)
            wrong(
                " does not say that it may be copied (static constexpr bool may_be_copied = true), so it has one "
                "copy");
        if (!options.near.empty() && !options.targets.empty())
            wrong(" has targets of its own and is to be near " + quoted(options.near) + ": say one of the two");
        if (!options.target_classes.empty() && !options.near.empty())
            wrong(" names classes of targets and is to be near " + quoted(options.near) + ": say one of the two");
        if (!options.near.empty() && model.named(options.near) == nullptr)
            wrong(" is to be near " + quoted(options.near) + ", which does not exist");
        if (adjacency.near_for_ever(filter)) wrong(" is to be near a filter that is to be near it");
        for (const int target : options.targets)
            if (target < 0 || (targets >= 0 && target >= targets && options.nodes.empty()))
                wrong(" is placed on target " + std::to_string(target) +
                      (targets >= 0 ? ", but the machine has " + std::to_string(targets) : ""));
        std::vector<std::string_view> ports, settings;
        const auto note = [&](const Part& part, std::vector<std::string_view>& among, const char* called) {
            if (std::ranges::find(among, part.name()) == among.end()) among.push_back(part.name());
            else wrong(std::string(" has two ") + called + " called " + quoted(part.name()));
        };
        for (const auto* port : filter.first->inputs) note(*port, ports, "ports");
        for (const auto* port : filter.first->outputs) note(*port, ports, "ports");
        for (const auto* setting : filter.first->settings) note(*setting, settings, "settings");
        for (const auto* output : filter.first->event_outputs) note(*output, ports, "ports");
        for (const auto& [output, event] : options.events)
            if (named(filter.first->event_outputs, output) == nullptr)
                wrong(" has no event output called " + quoted(output));
    }
}

void check_inputs(const Adjacency& adjacency, const Say& say) {
    for (const auto& filter : adjacency.model().filters) {
        const auto& inputs = filter.first->inputs;
        std::vector<bool> joined(inputs.size());
        for (const auto* const stream : adjacency.into(filter.id)) joined[stream->input] = true;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (inputs[i]->options().required && !joined[i])
                say("nothing leads to input " + quoted(filter.name + "." + inputs[i]->name()) + ", which is required");
    }
}

using Pair = std::tuple<std::uint64_t, std::size_t, std::uint64_t, std::size_t>;

Pair pair_of(const StreamModel& stream) { return {stream.from, stream.output, stream.to, stream.input}; }

/// Does any stream exist twice? Sorted once, where a set would cost every large graph a tree.
bool any_twice(const Model& model) {
    std::vector<Pair> pairs;
    pairs.reserve(model.streams.size());
    for (const auto& stream : model.streams) pairs.push_back(pair_of(stream));
    std::ranges::sort(pairs);
    return std::ranges::adjacent_find(pairs) != pairs.end();
}

void check_streams(const Adjacency& adjacency, const Say& say) {
    const auto& model = adjacency.model();
    const bool twice = any_twice(model);
    std::set<Pair> pairs;
    std::map<std::string_view, const StreamModel*> groups;  // streams of one name are one stream
    for (const auto& stream : model.streams) {
        const auto* const from = model.filter(stream.from);
        const auto* const to = model.filter(stream.to);
        const auto& output = *from->first->outputs[stream.output];
        const auto& input = *to->first->inputs[stream.input];
        const auto wrong = [&](const std::string& what) {
            say("the stream from " + quoted(from->name + "." + output.name()) + " to " +
                quoted(to->name + "." + input.name()) + what);
        };
        if (output.element() != input.element())
            wrong(" joins values of type " + std::string(output.element().name) + " (" +
                  std::to_string(output.element().size) + " bytes) to values of type " +
                  std::string(input.element().name) + " (" + std::to_string(input.element().size) + " bytes)");
        if (twice && !pairs.insert(pair_of(stream)).second) wrong(" exists twice");
        const auto& options = stream.options;
        if (options.ordered && options.policy != Policy::broadcast && to->options.copies != 1)
            wrong(" is ordered, but its sink has several copies, of which none would see all");
        if (options.ordered && options.when_full != WhenStreamFull::wait)
            wrong(" is ordered and may drop buffers: an order with gaps cannot be waited for");
        const auto beside = [&](const StreamModel* other) { return other != &stream && other->input == stream.input; };
        if (options.ordered && std::ranges::any_of(adjacency.into(stream.to), beside))
            wrong(" is ordered, but others lead to the same input, whose numbers mean something else");
        if (options.name.empty()) continue;  // a stream of its own
        const auto [first, fresh] = groups.emplace(options.name, &stream);
        if (!fresh &&
            (first->second->options.policy != options.policy || first->second->options.when_full != options.when_full))
            say("the streams called " + quoted(options.name) +
                " differ in their policy, or in what happens when they are full");
    }
}

/// Streams by which buffers from copies come to where their order is restored may not lose any.
void check_order(const Adjacency& adjacency, const Say& say) {
    const auto& model = adjacency.model();
    const auto passing = adjacency.passing_order_on(true);
    for (const auto& stream : model.streams)
        if (passing[model.position(stream.to)] && stream.options.when_full != WhenStreamFull::wait)
            say("the stream into " + quoted(model.filter(stream.to)->name) +
                " may drop buffers, but their order is restored further down");
}

}  // namespace

const FilterModel* Model::filter(std::uint64_t id) const noexcept {
    const auto at = position(id);
    return at == filters.size() ? nullptr : &filters[at];
}
FilterModel* Model::filter(std::uint64_t id) noexcept {
    return const_cast<FilterModel*>(std::as_const(*this).filter(id));
}
std::size_t Model::position_among_gaps(std::uint64_t id) const noexcept {
    const auto at = std::ranges::lower_bound(filters, id, {}, &FilterModel::id);
    return at == filters.end() || at->id != id ? filters.size() : static_cast<std::size_t>(at - filters.begin());
}
const StreamModel* Model::stream(std::uint64_t id) const noexcept {
    const auto at = std::ranges::lower_bound(streams, id, {}, &StreamModel::id);
    return at == streams.end() || at->id != id ? nullptr : &*at;
}
const FilterModel* Model::named(const std::string& name) const noexcept {
    return filter(by_name_.find(std::hash<std::string>{}(name), [&](std::uint64_t id) {
        const auto* const found = filter(id);
        return found != nullptr && found->name == name;
    }));
}
FilterModel* Model::named(const std::string& name) noexcept {
    return const_cast<FilterModel*>(std::as_const(*this).named(name));
}
const FilterModel* Model::owning(const AnyFilter* owner) const noexcept {
    const auto* const found = owner == nullptr ? nullptr : filter(owner->id);
    return found == nullptr || found->first.get() != owner ? nullptr : found;
}

FilterModel& Model::add(FilterModel filter) {
    const auto note = [this](const FilterModel& each) { by_name_.add(std::hash<std::string>{}(each.name), each.id); };
    filter.first->id = filter.id;
    filters.push_back(std::move(filter));
    if (!by_name_.full()) {
        note(filters.back());
    } else {
        by_name_ = FilterIndex(2 * filters.size());
        std::ranges::for_each(filters, note);
    }
    return filters.back();
}

FilterIndex::FilterIndex(std::size_t filters) : slots_(std::bit_ceil(2 * std::max<std::size_t>(filters, 8))) {}

void FilterIndex::add(std::size_t hash, std::uint64_t filter) {
    auto at = hash & (slots_.size() - 1);
    while (slots_[at].filter != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {hash, filter};
    ++taken_;
}

bool same(const StreamOptions& a, const StreamOptions& b) {
    const auto all = [](const StreamOptions& each) {
        return std::tie(each.policy, each.capacity, each.capacity_bytes, each.when_full, each.ordered, each.fuse,
                        each.feedback, each.name);
    };
    return all(a) == all(b) && !a.key && !b.key;
}

void resolve_places(Model& model, const Machine& machine) {
    for (auto& filter : model.filters) {
        auto& options = filter.options;
        if (options.target_classes.empty()) continue;
        options.targets.clear();
        for (const auto& name : options.target_classes) {
            try {
                const auto all = machine.targets_of(name);
                options.targets.insert(options.targets.end(), all.begin(), all.end());
            } catch (const UsageError& unknown) {
                model.problems.push_back("filter '" + filter.name +
                                         "' is to run on a class of targets that is not there: " + unknown.what());
            }
        }
        // Of several classes the last copy, which would go first, may be the fastest. Alone, a copy is no copy.
        if (options.copies == FilterOptions::automatic && !options.targets.empty() &&
            (options.target_classes.size() > 1 || options.targets.size() == 1))
            options.copies = static_cast<int>(options.targets.size());
    }
    const auto automatic = [](const FilterModel& filter) { return filter.options.copies == FilterOptions::automatic; };
    if (std::ranges::none_of(model.filters, automatic)) return;
    const Adjacency adjacency(model);
    for (auto& filter : model.filters | std::views::filter(automatic))
        filter.places = static_cast<int>(adjacency.targets_of(filter).size());
}

std::vector<std::string> problems_of(const Model& model, int targets) {
    auto problems = model.problems;
    const Say say = [&](std::string problem) { problems.push_back(std::move(problem)); };
    const Adjacency adjacency(model);
    check_filters(adjacency, targets, say);
    check_inputs(adjacency, say);
    check_streams(adjacency, say);
    find_undeclared_cycles(adjacency, say);
    check_order(adjacency, say);
    return problems;
}

std::string port_name(const Model& model, std::uint64_t filter, const Part& port) {
    return model.filter(filter)->name + "." + port.name();
}

}  // namespace penstock::streaming
