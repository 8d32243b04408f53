#include "stream/description/model.hpp"

namespace penstock {

using streaming::FilterModel;
using streaming::Model;
using streaming::StreamModel;

Edit::Edit(std::unique_ptr<Model> model) : GraphBuilder(std::move(model)) {}
Edit::~Edit() = default;

namespace {

FilterModel* required(Model& model, const std::string& name) {
    auto* const filter = model.named(name);
    if (filter == nullptr) model.problems.push_back("there is no filter '" + name + "'");
    return filter;
}

/// Is it a stream between these two?
auto between(const Model& model, const streaming::OutputPort& from, const streaming::InputPort& to) {
    return [&](const StreamModel& stream) {
        return model.filter(stream.from)->first->outputs[stream.output] == &from &&
               model.filter(stream.to)->first->inputs[stream.input] == &to;
    };
}

void take_out(Model& model, std::uint64_t id) {
    std::erase_if(model.streams, [id](const StreamModel& stream) { return stream.from == id || stream.to == id; });
    std::erase_if(model.filters, [id](const FilterModel& filter) { return filter.id == id; });
}

}  // namespace

void Edit::remove(const std::string& filter, Removal removal) {
    const auto* const found = required(model(), prefix() + filter);
    if (found == nullptr) return;
    const auto id = found->id;
    model().removals.push_back({id, removal});
    take_out(model(), id);
}

void Edit::remove_group(const std::string& group, Removal removal) {
    const auto begin = prefix() + group + "/";
    std::vector<std::string> names;
    for (const auto& filter : model().filters)
        if (filter.name.starts_with(begin)) names.push_back(filter.name.substr(prefix().size()));
    if (names.empty()) model().problems.push_back("there is no group '" + prefix() + group + "'");
    for (const auto& name : names) remove(name, removal);
}

streaming::AnyFilter* Edit::replace_filter(void* old, Removal removal,
                                           std::shared_ptr<const streaming::FilterKind> kind) {
    auto& filters = model().filters;
    const auto found =
        std::ranges::find_if(filters, [old](const FilterModel& filter) { return filter.first->object() == old; });
    FilterModel filter;
    filter.first = kind->make();
    filter.kind = std::move(kind);
    auto* const made = filter.first.get();
    if (found == filters.end()) {
        model().problems.push_back("the filter that is to be replaced is not in the graph");
        model().groups.push_back(filter.first);  // the caller holds a reference
        return made;
    }
    filter.id = model().next_id++;
    filter.name = found->name;
    filter.options = found->options;
    const auto partner = [&](const auto& ports, const auto& old_ports, std::size_t position) {
        const auto& name = old_ports[position]->name();
        const auto same = std::ranges::find_if(ports, [&](const auto* port) { return port->name() == name; });
        if (same == ports.end())
            model().problems.push_back("what replaces filter '" + filter.name + "' has no port called '" + name + "'");
        return same == ports.end() ? std::size_t{0} : static_cast<std::size_t>(same - ports.begin());
    };
    const auto id = found->id;
    std::vector<StreamModel> streams;
    const auto before = model().problems.size();
    for (auto stream : model().streams) {
        if (stream.from != id && stream.to != id) continue;
        if (stream.from == id)
            stream.output = partner(made->outputs, found->first->outputs, stream.output), stream.from = filter.id;
        if (stream.to == id)
            stream.input = partner(made->inputs, found->first->inputs, stream.input), stream.to = filter.id;
        stream.id = model().next_id++;
        streams.push_back(std::move(stream));
    }
    model().removals.push_back({id, removal, filter.id});
    take_out(model(), id);
    model().add(std::move(filter));
    if (model().problems.size() == before)
        model().streams.insert(model().streams.end(), streams.begin(), streams.end());
    return made;
}

streaming::AnyFilter& Edit::replace_kind(const std::string& old, Removal removal,
                                         std::shared_ptr<const streaming::FilterKind> kind,
                                         std::function<void(streaming::AnyFilter&, streaming::AnyFilter&)> take_over) {
    const auto* const found = model().named(prefix() + old);
    const auto predecessor = found == nullptr ? nullptr : found->first;
    auto* const made =
        replace_filter(predecessor == nullptr ? nullptr : predecessor->object(), removal, std::move(kind));
    // The edit and what runs after it keep both.
    if (predecessor != nullptr && take_over)
        take_over_by([take_over = std::move(take_over), made, predecessor] { take_over(*made, *predecessor); });
    return *made;
}

void Edit::take_over_by(std::function<void()> work) {
    if (!model().removals.empty()) model().removals.back().take_over = std::move(work);
}

void Edit::disconnect_ports(streaming::OutputPort& from, streaming::InputPort& to) {
    if (std::erase_if(model().streams, between(model(), from, to)) == 0)
        model().problems.push_back("no stream leads from '" + from.name() + "' to '" + to.name() + "'");
}

void Edit::disconnect(const std::string& from, const std::string& to) {
    const auto [output, input] = ports_named(from, to);
    if (output != nullptr && input != nullptr) disconnect_ports(*output, *input);
}

void Edit::change(const std::string& from, const std::string& to, StreamOptions options) {
    const auto [output, input] = ports_named(from, to);
    if (output == nullptr || input == nullptr) return;
    const auto found = std::ranges::find_if(model().streams, between(model(), *output, *input));
    if (found == model().streams.end())
        return model().problems.push_back("no stream leads from '" + from + "' to '" + to + "'");
    if (options.feedback != found->options.feedback || options.ordered != found->options.ordered)
        model().problems.push_back("the stream from '" + from + "' to '" + to +
                                   "' cannot begin or cease to be ordered, or feedback, while it runs");
    found->options = std::move(options);
}

void Edit::copies(const std::string& filter, int count) {
    if (auto* const found = required(model(), prefix() + filter)) found->options.copies = count, found->copies_now = 0;
}

void Edit::place(const std::string& filter, std::vector<int> targets) {
    auto* const found = required(model(), prefix() + filter);
    if (found == nullptr) return;
    found->options.targets = std::move(targets);
    found->options.target_classes.clear();  // by their numbers now
    found->options.near.clear();
}

void Edit::allow_ended_readers() { model().ended_may_read = true; }

}  // namespace penstock
