#include "stream/model.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "stream/cycles.hpp"

namespace penstock::streaming {
namespace {

using Say = std::function<void(std::string)>;

template <class Filters, class Test>
auto find(Filters& filters, Test&& test) noexcept {
    const auto found = std::find_if(filters.begin(), filters.end(), test);
    return found == filters.end() ? nullptr : &*found;
}

std::string quoted(const std::string& name) { return "'" + name + "'"; }

void check_filters(const Model& model, int targets, const Say& say) {
    std::set<std::string> names;
    for (const auto& filter : model.filters) {
        const auto& options = filter.options;
        if (filter.name.empty()) say("a filter has no name");
        if (!names.insert(filter.name).second) say("the name " + quoted(filter.name) + " is used twice");
        if (options.copies < 0) say("filter " + quoted(filter.name) + " cannot have " + std::to_string(options.copies) + " copies");
        if (options.copies != 1 && !filter.kind->may_be_copied)
            say("filter " + quoted(filter.name) + " does not say that it may be copied (static constexpr bool may_be_copied = true), so it has one copy");
        if (!options.near.empty() && !options.targets.empty())
            say("filter " + quoted(filter.name) + " has targets of its own and is to be near " + quoted(options.near) + ": say one of the two");
        std::set<std::string> seen;
        for (const auto* next = &filter; next != nullptr && !next->options.near.empty(); next = model.named(next->options.near)) {
            if (model.named(next->options.near) == nullptr) {
                if (next == &filter) say("filter " + quoted(filter.name) + " is to be near " + quoted(options.near) + ", which does not exist");
            } else if (!seen.insert(next->name).second) {
                say("filter " + quoted(filter.name) + " is to be near a filter that is to be near it");
                break;
            }
        }
        for (const int target : options.targets)
            if (target < 0 || (targets >= 0 && target >= targets))
                say("filter " + quoted(filter.name) + " is placed on target " + std::to_string(target) +
                    (targets >= 0 ? ", but the machine has " + std::to_string(targets) : ""));
        std::set<std::string> ports;
        const auto note_port = [&](const Part& port) {
            if (!ports.insert(port.name()).second) say("filter " + quoted(filter.name) + " has two ports called " + quoted(port.name()));
        };
        for (const auto* port : filter.first->inputs) note_port(*port);
        for (const auto* port : filter.first->outputs) note_port(*port);
    }
}

void check_inputs(const Model& model, const Say& say) {
    std::set<std::pair<std::uint64_t, std::size_t>> joined;
    for (const auto& stream : model.streams) joined.emplace(stream.to, stream.input);
    for (const auto& filter : model.filters)
        for (std::size_t i = 0; i < filter.first->inputs.size(); ++i) {
            const auto* const port = filter.first->inputs[i];
            if (port->options().required && !joined.contains({filter.id, i}))
                say("nothing leads to input " + quoted(filter.name + "." + port->name()) + ", which is required");
        }
}

void check_streams(const Model& model, const Say& say) {
    std::set<std::tuple<std::uint64_t, std::size_t, std::uint64_t, std::size_t>> pairs;
    std::map<std::string, const StreamModel*> groups;
    for (const auto& stream : model.streams) {
        const auto* const from = model.filter(stream.from);
        const auto* const to = model.filter(stream.to);
        const auto& output = *from->first->outputs[stream.output];
        const auto& input = *to->first->inputs[stream.input];
        const auto text = quoted(from->name + "." + output.name()) + " to " + quoted(to->name + "." + input.name());
        if (output.element() != input.element())
            say("the stream from " + text + " joins values of type " + std::string(output.element().name) + " (" +
                std::to_string(output.element().size) + " bytes) to values of type " + std::string(input.element().name) + " (" +
                std::to_string(input.element().size) + " bytes)");
        if (!pairs.insert({stream.from, stream.output, stream.to, stream.input}).second) say("the stream from " + text + " exists twice");
        const auto& options = stream.options;
        if (options.ordered && options.policy != Policy::broadcast && to->options.copies != 1)
            say("the stream from " + text + " is ordered, but its sink has several copies, of which none would see all");
        if (options.ordered && options.when_full != WhenStreamFull::wait)
            say("the stream from " + text + " is ordered and may drop buffers: an order with gaps cannot be waited for");
        if (options.ordered && std::count_if(model.streams.begin(), model.streams.end(), [&](const StreamModel& other) {
                return other.to == stream.to && other.input == stream.input;
            }) > 1)
            say("the stream from " + text + " is ordered, but others lead to the same input, whose numbers mean something else");
        const auto [first, fresh] = groups.emplace(Model::group_of(stream), &stream);
        if (!fresh && (first->second->options.policy != options.policy || first->second->options.when_full != options.when_full))
            say("the streams called " + quoted(options.name) + " differ in their policy, or in what happens when they are full");
    }
}

/// Streams by which buffers from copies come to where their order is restored may not lose any.
void check_order(const Model& model, const Say& say) {
    for (const auto& ordered : model.streams) {
        if (!ordered.options.ordered) continue;
        std::set<std::uint64_t> seen;
        const std::function<void(std::uint64_t)> back = [&](std::uint64_t filter) {
            if (!seen.insert(filter).second || model.filter(filter)->options.copies == 1) return;
            for (const auto& stream : model.streams) {
                if (stream.to != filter) continue;
                if (stream.options.when_full != WhenStreamFull::wait)
                    say("the stream into " + quoted(model.filter(filter)->name) + " may drop buffers, but their order is restored further down");
                back(stream.from);
            }
        };
        back(ordered.from);
    }
}

}  // namespace

const FilterModel* Model::filter(std::uint64_t id) const noexcept {
    const auto at = std::lower_bound(filters.begin(), filters.end(), id, [](const FilterModel& each, std::uint64_t wanted) { return each.id < wanted; });
    return at == filters.end() || at->id != id ? nullptr : &*at;
}
FilterModel* Model::filter(std::uint64_t id) noexcept { return const_cast<FilterModel*>(std::as_const(*this).filter(id)); }
const FilterModel* Model::named(const std::string& name) const noexcept {
    return find(filters, [&](const FilterModel& each) { return each.name == name; });
}
FilterModel* Model::named(const std::string& name) noexcept {
    return find(filters, [&](const FilterModel& each) { return each.name == name; });
}
const FilterModel* Model::owning(const AnyFilter* owner) const noexcept {
    return find(filters, [&](const FilterModel& each) { return each.first.get() == owner; });
}

int Model::copies(const FilterModel& filter, int targets) noexcept {
    if (filter.options.copies != FilterOptions::automatic) return filter.options.copies;
    const int most = std::max(1, targets + 1);  // the thread that waits for the run helps
    return filter.copies_now == 0 ? most : std::clamp(filter.copies_now, 1, most);
}

int Model::place(const FilterModel& filter, int copy) const noexcept {
    const FilterModel* of = &filter;
    while (of != nullptr && !of->options.near.empty()) of = named(of->options.near);
    if (of == nullptr || of->options.targets.empty()) return -1;
    return of->options.targets[static_cast<std::size_t>(copy) % of->options.targets.size()];
}

std::string Model::group_of(const StreamModel& stream) {
    return stream.options.name.empty() ? "#" + std::to_string(stream.id) : stream.options.name;
}

std::vector<std::string> problems_of(const Model& model, int targets) {
    auto problems = model.problems;
    const Say say = [&](std::string problem) { problems.push_back(std::move(problem)); };
    check_filters(model, targets, say);
    check_inputs(model, say);
    check_streams(model, say);
    find_undeclared_cycles(model, say);
    check_order(model, say);
    return problems;
}

std::string port_name(const Model& model, std::uint64_t filter, const Part& port) { return model.filter(filter)->name + "." + port.name(); }

}  // namespace penstock::streaming
