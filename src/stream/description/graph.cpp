#include <limits>
#include <new>

#include "machine/said_by.hpp"
#include "penstock/described_filter.hpp"
#include "penstock/machine.hpp"
#include "stream/description/model.hpp"

namespace penstock {

using streaming::AnyFilter;
using streaming::FilterModel;
using streaming::Model;
using streaming::StreamModel;

GraphBuilder::GraphBuilder(std::unique_ptr<Model> model) : model_(std::move(model)) {}
GraphBuilder::~GraphBuilder() = default;

AnyFilter& GraphBuilder::add_kind(std::string name, FilterOptions options,
                                  std::shared_ptr<const streaming::FilterKind> kind) {
    FilterModel filter;
    filter.id = model_->next_id++;
    filter.name = prefix_ + name;
    filter.first = kind->make();
    filter.kind = std::move(kind);
    filter.options = std::move(options);
    return *model_->add(std::move(filter)).first;
}

void GraphBuilder::connect_ports(streaming::OutputPort& from, streaming::InputPort& to, StreamOptions options) {
    const auto* const source = model_->owning(from.owner);
    const auto* const sink = model_->owning(to.owner);
    if (source == nullptr || sink == nullptr) {
        const std::string& port = source == nullptr ? from.name() : to.name();
        return model_->problems.push_back("the port '" + port +
                                          "' that is to be connected belongs to no filter of this graph");
    }
    const auto position = [](const auto& ports, const auto& port) {
        return static_cast<std::size_t>(std::ranges::find(ports, &port) - ports.begin());
    };
    model_->streams.push_back({model_->next_id++, source->id, position(source->first->outputs, from), sink->id,
                               position(sink->first->inputs, to), std::move(options)});
}

GraphBuilder::Ports GraphBuilder::ports_named(const std::string& from, const std::string& to) {
    const auto find = [&]<class Port>(const std::string& name, std::vector<Port*> AnyFilter::* ports,
                                      const char* kind) {
        const auto dot = name.rfind('.');
        const auto* const filter = dot == name.npos ? nullptr : model_->named(prefix_ + name.substr(0, dot));
        Port* const port =
            filter == nullptr ? nullptr : streaming::named(filter->first.get()->*ports, name.substr(dot + 1));
        if (filter == nullptr)
            model_->problems.push_back("there is no filter for the port '" + prefix_ + name +
                                       "' (ports are named \"filter.port\")");
        else if (port == nullptr)
            model_->problems.push_back("filter '" + filter->name + "' has no " + kind + " called '" +
                                       name.substr(dot + 1) + "'");
        return port;
    };
    auto* const output = find(from, &AnyFilter::outputs, "output");
    return {output, find(to, &AnyFilter::inputs, "input")};
}

void GraphBuilder::connect(const std::string& from, const std::string& to, StreamOptions options) {
    const auto [output, input] = ports_named(from, to);
    if (output != nullptr && input != nullptr) connect_ports(*output, *input, std::move(options));
}

void GraphBuilder::keep(std::shared_ptr<void> group) { model_->groups.push_back(std::move(group)); }

void GraphBuilder::set(const std::string& filter, const std::string& setting, SettingValue value) {
    auto& problems = model_->problems;
    auto* const found = model_->named(prefix_ + filter);
    if (found == nullptr)
        return problems.push_back("there is no filter '" + prefix_ + filter + "' whose setting '" + setting +
                                  "' could be changed");
    const auto* const changed = streaming::named(found->first->settings, setting);
    if (changed == nullptr)
        return problems.push_back("filter '" + found->name + "' has no setting called '" + setting + "'");
    try {
        changed->check(value);
    } catch (const UsageError& error) {
        return problems.push_back("filter '" + found->name + "': " + said_by(error));
    }
    found->changes.emplace_back(setting, std::move(value));
}

std::vector<std::string> GraphBuilder::check() const { return problems_of(*model_, -1); }

GraphDescription GraphBuilder::description() const { return description_of(*model_); }

namespace {

/// Integers are taken for numbers.
SettingValue of_same_type(const SettingValue& like, const SettingValue& value) {
    const auto* const integer = std::get_if<std::int64_t>(&value);
    return integer != nullptr && std::holds_alternative<double>(like) ? SettingValue(static_cast<double>(*integer))
                                                                      : value;
}

/// With what was given, and is set when the graph starts or the edit is made.
std::vector<SettingDescription> settings_of(const FilterModel& filter) {
    std::vector<SettingDescription> settings;
    if (filter.shown != nullptr) settings = *filter.shown;
    else
        for (const auto* setting : filter.first->settings)
            settings.push_back({setting->name(), setting->value(), setting->limits()});
    for (const auto& [name, value] : filter.changes)
        for (auto& setting : settings)
            if (setting.name == name) setting.value = of_same_type(setting.value, value);
    return settings;
}

}  // namespace

void streaming::note_settings(Model& model) {
    for (auto& filter : model.filters) {
        if (filter.first->settings.empty() || (filter.shown != nullptr && filter.changes.empty())) continue;
        filter.shown = std::make_shared<const std::vector<SettingDescription>>(settings_of(filter));
    }
}

GraphDescription streaming::description_of(const Model& model) {
    GraphDescription all;
    for (const auto& filter : model.filters) {
        FilterDescription text;
        text.name = filter.name;
        text.type = filter.first->type();
        for (const auto* port : filter.first->inputs)
            text.inputs.push_back({port->name(), port->element(), port->options().required, port->options().at_least});
        for (const auto* port : filter.first->outputs) text.outputs.push_back({port->name(), port->element()});
        text.settings = settings_of(filter);
        for (const auto* output : filter.first->event_outputs)
            text.event_outputs.push_back({output->name(), output->like()});
        text.options = filter.options;
        text.may_be_copied = filter.kind->may_be_copied;
        text.on_any_input = filter.kind->on_any_input;
        text.of_program = filter.kind->external;
        all.filters.push_back(std::move(text));
    }
    for (const auto& stream : model.streams)
        all.streams.push_back({port_name(model, stream.from, *model.filter(stream.from)->first->outputs[stream.output]),
                               port_name(model, stream.to, *model.filter(stream.to)->first->inputs[stream.input]),
                               stream.options});
    return all;
}

Buffer<std::byte> DescribedOutput::make(std::span<const std::size_t> extents) {
    auto* const block = OutputPort::make(bytes_of(extents, element().size), 0);
    set_extents(*block, extents);
    return Buffer<std::byte>(block);
}

std::size_t bytes_of(std::span<const std::size_t> extents, std::size_t element_bytes) {
    if (extents.empty() || extents.size() > streaming::Block::max_rank)
        throw UsageError("a buffer has one to three dimensions, not " + std::to_string(extents.size()));
    std::size_t bytes = element_bytes;
    for (const auto extent : extents)
        if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > std::numeric_limits<std::size_t>::max() / 2)
            throw std::bad_array_new_length();
    return bytes;
}

void set_extents(streaming::Block& block, std::span<const std::size_t> extents) {
    block.rank = static_cast<std::uint32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), block.extents.begin());
}

DescribedFilter::DescribedFilter(const FilterDescription& description) : type_(description.type) {
    const auto gathering = streaming::Part::gathering(*this);
    for (const auto& port : description.inputs) inputs_.push_back(std::make_unique<DescribedInput>(port));
    for (const auto& port : description.outputs) outputs_.push_back(std::make_unique<DescribedOutput>(port));
    for (const auto& setting : description.settings)
        std::visit(
            [&]<class T>(const T& value) {
                owned_settings_.push_back(std::make_shared<Setting<T>>(setting.name, value, setting.limits));
            },
            setting.value);
    for (const auto& output : description.event_outputs)
        event_outputs_.push_back(std::make_unique<DescribedEventOutput>(output));
    tasks_ = std::make_unique<Spread>();
}

void DescribedFilter::send_event(std::size_t i, SettingValue value) {
    auto& output = *event_outputs_[i];
    value = of_same_type(output.like(), value);
    if (value.index() != output.like().index()) {
        constexpr const char* kinds[] = {"true or false", "an integer", "a number", "a text"};
        throw UsageError("event output '" + output.name() + "' sends " + kinds[output.like().index()] + ", not " +
                         kinds[value.index()]);
    }
    output.send(std::move(value));
}

Graph::Graph() : GraphBuilder(std::make_unique<Model>()) {}
Graph::~Graph() = default;

}  // namespace penstock
