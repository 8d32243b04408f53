#include "nodes/part.hpp"

#include <set>

#include "penstock/described_filter.hpp"
#include "process/fork.hpp"
#include "stream/far/frames.hpp"

namespace penstock::nodes {
namespace {

using streaming::carried_value;
using streaming::CarriedValue;
using streaming::FilterModel;
using streaming::Model;
using streaming::setting_value;
using streaming::StreamModel;

using CarriedPort = std::tuple<std::string, std::string, std::uint64_t, bool, std::uint64_t>;
struct CarriedFlags {
    bool may_be_copied, on_any_input, external, has_isolation;
    Isolation isolation;
    OnFailure on_failure;
    OnNodeLoss on_node_loss;
    std::int32_t copies;
    std::uint64_t pool;
    std::int64_t time_limit;
};
using CarriedRecipe = std::tuple<std::string, std::string, std::vector<std::byte>>;
using CarriedFilter =
    std::tuple<std::uint64_t, std::string, std::string, CarriedFlags, std::vector<int>, std::string,
               std::vector<CarriedPort>, std::vector<CarriedPort>, std::vector<std::pair<std::string, CarriedValue>>,
               std::vector<wire::Site>, CarriedRecipe, std::vector<std::pair<std::string, std::string>>>;
struct CarriedStream {
    std::uint64_t id, from, output, to, input;
    Policy policy;
    WhenStreamFull when_full;
    std::uint64_t capacity, capacity_bytes;
    bool ordered, fuse, feedback;
};
using CarriedPart = std::pair<std::vector<CarriedFilter>, std::vector<std::pair<CarriedStream, std::string>>>;

/// Element types are compared by name, which must outlive every graph.
std::string_view kept_for_ever(const std::string& name) {
    static ProcessMutex lock;
    static std::set<std::string, std::less<>> names;
    const std::lock_guard guard(lock);
    return *names.insert(name).first;
}

std::vector<CarriedPort> ports_of(const auto& ports) {
    std::vector<CarriedPort> all;
    for (const auto* const port : ports) {
        InputOptions options;
        if constexpr (requires { port->options(); }) options = port->options();
        all.emplace_back(port->name(), std::string(port->element().name), port->element().size, options.required,
                         options.at_least);
    }
    return all;
}

std::vector<PortDescription> described(const std::vector<CarriedPort>& ports) {
    std::vector<PortDescription> all;
    for (const auto& [name, element, size, required, at_least] : ports)
        all.push_back({name, {kept_for_ever(element), size}, required, at_least});
    return all;
}

/// Of a filter that another node runs.
struct DescribedKind final : streaming::FilterKind {
    struct Made final : DescribedFilter {
        using DescribedFilter::DescribedFilter;
        bool fire() override { return false; }
    };
    FilterDescription description;
    std::unique_ptr<streaming::AnyFilter> make() const override { return std::make_unique<Made>(description); }
};

bool is_here(const std::vector<wire::Site>& sites, wire::Site here) {
    return sites.empty() ? here == 0 : std::ranges::find(sites, here) != sites.end();
}

}  // namespace

std::vector<std::byte> part_of(const Model& model, const streaming::Placement& placement,
                               const Components& components) {
    CarriedPart part;
    std::vector<std::string> problems;
    for (const auto& filter : model.filters) {
        CarriedRecipe recipe;
        std::vector<wire::Site> sites;
        if (const auto placed = placement.sites.find(filter.id); placed != placement.sites.end()) {
            sites = placed->second;
            std::string why;
            if (auto found = recipe_of(*filter.kind, std::string(filter.first->type()), components, why))
                recipe = CarriedRecipe(found->form, found->name, std::move(found->bytes));
            else problems.push_back("filter '" + filter.name + "' cannot be made on another node: " + why);
        }
        std::vector<std::pair<std::string, CarriedValue>> settings;
        for (const auto* const setting : filter.first->settings)
            settings.emplace_back(setting->name(), carried_value(setting->value()));
        const auto& options = filter.options;
        part.first.emplace_back(
            filter.id, filter.name, std::string(filter.first->type()),
            CarriedFlags{filter.kind->may_be_copied, filter.kind->on_any_input, filter.kind->external,
                         options.isolation.has_value(), options.isolation.value_or(Isolation::none), options.on_failure,
                         options.on_node_loss, options.copies, options.pool, options.time_limit.count()},
            options.targets, options.near, ports_of(filter.first->inputs), ports_of(filter.first->outputs),
            std::move(settings), std::move(sites), std::move(recipe), options.events);
    }
    for (const auto& stream : model.streams) {
        const auto& options = stream.options;
        part.second.emplace_back(CarriedStream{stream.id, stream.from, stream.output, stream.to, stream.input,
                                               options.policy, options.when_full, options.capacity,
                                               options.capacity_bytes, options.ordered, options.fuse, options.feedback},
                                 options.name);
    }
    if (!problems.empty()) throw GraphError(std::move(problems));
    return packed(part);
}

Part part_from(std::span<const std::byte> bytes, wire::Site here, const Components& components) {
    auto [filters, streams] = unpacked<CarriedPart>(bytes);
    Part part;
    for (const auto& [id, name, type, flags, targets, near, inputs, outputs, settings, sites, recipe, events] :
         filters) {
        FilterModel filter;
        filter.id = id;
        filter.name = name;
        filter.options.copies = flags.copies;
        filter.options.on_failure = flags.on_failure;
        filter.options.on_node_loss = flags.on_node_loss;
        const bool mine = is_here(sites, here);
        if (mine) {
            filter.options.targets = targets;
            filter.options.near = near;
            filter.options.events = events;
            filter.options.pool = flags.pool;
            filter.options.time_limit = std::chrono::nanoseconds(flags.time_limit);
            if (flags.has_isolation) filter.options.isolation = flags.isolation;
            const auto& [form, class_name, of_recipe] = recipe;
            try {
                filter.kind = kind_of({form, class_name, of_recipe}, components);
                filter.first = filter.kind->make();
            } catch (const std::exception& error) {
                throw UsageError("filter '" + name + "' cannot be made on this node: " + error.what());
            }
            for (const auto& [setting, value] : settings)
                if (auto* const found = streaming::named(filter.first->settings, setting))
                    found->set(setting_value(value));
            if (ports_of(filter.first->inputs) != inputs || ports_of(filter.first->outputs) != outputs)
                throw UsageError("filter '" + name +
                                 "' has other ports on this node than in the program: they are different versions");
        } else {
            auto kind = std::make_shared<DescribedKind>();
            kind->description.name = name;
            kind->description.type = type;
            kind->description.inputs = described(inputs);
            kind->description.outputs = described(outputs);
            kind->may_be_copied = flags.may_be_copied;
            kind->on_any_input = flags.on_any_input;
            filter.kind = kind;
            filter.first = kind->make();
        }
        part.model.next_id = std::max(part.model.next_id, id + 1);
        part.model.add(std::move(filter));
        if (!sites.empty()) part.placement.sites[id] = sites;
    }
    for (const auto& [stream, name] : streams) {
        const auto* const from = part.model.filter(stream.from);
        const auto* const to = part.model.filter(stream.to);
        if (from == nullptr || to == nullptr || stream.output >= from->first->outputs.size() ||
            stream.input >= to->first->inputs.size())
            throw Error("the graph that came names a port that is not there");
        StreamOptions options;
        options.policy = stream.policy;
        options.when_full = stream.when_full;
        options.capacity = stream.capacity;
        options.capacity_bytes = stream.capacity_bytes;
        options.ordered = stream.ordered;
        options.fuse = stream.fuse;
        options.feedback = stream.feedback;
        options.name = name;
        part.model.streams.push_back({stream.id, stream.from, stream.output, stream.to, stream.input, options});
        part.model.next_id = std::max(part.model.next_id, stream.id + 1);
    }
    return part;
}

}  // namespace penstock::nodes
