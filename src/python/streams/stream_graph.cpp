// Graphs and edits, as Python has them. penstock.streams and penstock.runs give them their words.
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"
#include "stream/description/model.hpp"
#include "stream/description/option_names.hpp"

namespace penstock::python {
namespace {

Removal removal_of(const std::string& word) { return choose<Removal>("removal", word, streaming::removal_names); }

/// Options that were not given stay as they are.
template <class T>
void take(const nb::dict& given, const char* option, T& value) {
    if (given.contains(option) && !nb::try_cast(given[option], value))
        throw UsageError(std::string(option) + " is a whole number" +
                         (std::is_unsigned_v<T> ? " that is not negative" : ""));
}
void take(const nb::dict& given, const char* option, bool& value) {
    if (given.contains(option)) value = nb::cast<bool>(nb::bool_(given[option]));
}
void take(const nb::dict& given, const char* option, std::string& value) {
    if (given.contains(option)) value = nb::cast<std::string>(nb::str(given[option]));
}
template <class Choice, std::size_t n>
void take(const nb::dict& given, const char* option, Choice& value, const streaming::Names<n>& choices) {
    if (given.contains(option)) value = choose<Choice>(option, nb::object(given[option]), choices);
}

/// Calls a Python function with the tags of a buffer.
std::function<std::uint64_t(const Tags&, std::span<const std::byte>)> key_of(nb::object function) {
    return [held = hold(std::move(function))](const Tags& tags, std::span<const std::byte>) {
        const nb::gil_scoped_acquire acquire;
        nb::object key;
        in_python([&] {
            key = (*held)(stream_names().tags(tags.sequence, tags.time, nb::make_tuple(tags.user[0], tags.user[1])));
        });
        std::uint64_t value = 0;
        if (!nb::try_cast(key, value))
            throw UsageError("the key of a stream is a whole number that is not negative, not " +
                             nb::cast<std::string>(nb::repr(key)));
        return value;
    };
}

nb::list ports_of(const std::vector<PortDescription>& ports) {
    nb::list all;
    for (const auto& port : ports)
        all.append(nb::make_tuple(port.name, name_of(port.element), port.required, port.at_least));
    return all;
}

StreamOptions stream_options_of(const nb::dict& given) {
    StreamOptions options;
    take(given, "policy", options.policy, streaming::policy_names);
    take(given, "capacity", options.capacity);
    take(given, "capacity_bytes", options.capacity_bytes);
    take(given, "when_full", options.when_full, streaming::when_full_names);
    take(given, "ordered", options.ordered);
    take(given, "fuse", options.fuse);
    take(given, "feedback", options.feedback);
    take(given, "name", options.name);
    if (given.contains("key") && !nb::object(given["key"]).is_none()) options.key = key_of(given["key"]);
    return options;
}

FilterOptions filter_options_of(const nb::dict& given) {
    FilterOptions options;
    take(given, "copies", options.copies);
    if (given.contains("targets") && !nb::try_cast(given["targets"], options.targets))
        throw UsageError("targets is a list of the numbers of targets");
    if (given.contains("target_classes") && !nb::try_cast(given["target_classes"], options.target_classes))
        throw UsageError("target_classes is a list of names of classes of targets");
    take(given, "near", options.near);
    take(given, "on_failure", options.on_failure, streaming::on_failure_names);
    take(given, "pool", options.pool);
    take(given, "nodes", options.nodes);
    take(given, "on_node_loss", options.on_node_loss, streaming::on_node_loss_names);
    return options;
}

struct PythonGraph : Graph {
    bool running() const noexcept { return *model().running; }
};

PythonGraph& live(PythonGraph& graph) noexcept { return graph; }
Edit& live(const PythonEdit& shown) {
    if (shown.edit == nullptr) throw UsageError("this edit is over; begin another one with run.edit()");
    return *shown.edit;
}

template <class Bound>
nb::class_<Bound> bind_builder(nb::class_<Bound> bound) {
    return bound
        .def("add",
             [](Bound& self, const std::string& name, const PythonKind& kind, const nb::dict& options) {
                 return instance_of(live(self).add_kind(name, filter_options_of(options), kind.kind));
             })
        .def("connect", [](Bound& self, const std::string& from, const std::string& to,
                           const nb::dict& options) { live(self).connect(from, to, stream_options_of(options)); })
        .def("set", [](Bound& self, const std::string& filter, const std::string& setting, nb::handle value) {
            live(self).set(filter, setting, setting_of(value));
        });
}

}  // namespace

nb::dict object_of(const GraphDescription& description) {
    nb::list filters, streams;
    for (const auto& filter : description.filters) {
        const auto& options = filter.options;
        filters.append(
            dict_of("name", filter.name, "type", filter.type, "inputs", ports_of(filter.inputs), "outputs",
                    ports_of(filter.outputs), "settings", list_of(filter.settings), "copies", options.copies, "targets",
                    options.targets, "target_classes", options.target_classes, "near", options.near, "on_failure",
                    streaming::name_of(options.on_failure, streaming::on_failure_names).data(), "pool", options.pool,
                    "nodes", options.nodes, "on_node_loss",
                    streaming::name_of(options.on_node_loss, streaming::on_node_loss_names).data(), "may_be_copied",
                    filter.may_be_copied, "on_any_input", filter.on_any_input, "of_program", filter.of_program));
    }
    for (const auto& stream : description.streams) {
        const auto& options = stream.options;
        streams.append(dict_of("source", stream.from, "sink", stream.to, "policy",
                               streaming::name_of(options.policy, streaming::policy_names).data(), "capacity",
                               options.capacity, "capacity_bytes", options.capacity_bytes, "when_full",
                               streaming::name_of(options.when_full, streaming::when_full_names).data(), "ordered",
                               options.ordered, "fuse", options.fuse, "feedback", options.feedback, "name",
                               options.name));
    }
    return dict_of("filters", filters, "streams", streams);
}

void bind_stream_graph(nb::module_& module) {
    bind_builder(final_class<PythonEdit>(module, "StreamEdit", "What penstock.Edit is carried out on."))
        .def("replace",
             [](PythonEdit& self, const std::string& old, const PythonKind& kind, const std::string& removal) {
                 return instance_of(live(self).replace_kind(old, removal_of(removal), kind.kind, &take_over));
             })
        .def("remove", [](PythonEdit& self, const std::string& filter,
                          const std::string& removal) { live(self).remove(filter, removal_of(removal)); })
        .def("remove_group", [](PythonEdit& self, const std::string& group,
                                const std::string& removal) { live(self).remove_group(group, removal_of(removal)); })
        .def("disconnect",
             [](PythonEdit& self, const std::string& from, const std::string& to) { live(self).disconnect(from, to); })
        .def("change", [](PythonEdit& self, const std::string& from, const std::string& to,
                          const nb::dict& options) { live(self).change(from, to, stream_options_of(options)); })
        .def("copies", [](PythonEdit& self, const std::string& filter, int count) { live(self).copies(filter, count); })
        .def("place", [](PythonEdit& self, const std::string& filter, std::vector<int> targets) {
            live(self).place(filter, std::move(targets));
        });
    bind_builder(final_class<PythonGraph>(module, "StreamGraph", "What penstock.Graph stands on."))
        .def(nb::init<>())
        .def("check", [](PythonGraph& self) { return self.check(); })
        .def("running", [](PythonGraph& self) { return self.running(); })
        .def("to_xml", [](PythonGraph& self, const std::string& name) { return to_xml(self, name); })
        .def("from_xml",
             [](PythonGraph& self, const std::string& text, const Pairs& settings, const Folders& folders) {
                 from_xml(self, text, {.settings = settings, .folders = folders});
             })
        .def("description", [](PythonGraph& self) { return object_of(self.description()); })
        .def("save", [](PythonGraph& self, const std::string& path) { save_graph(path, self.description()); })
        .def("drawing", [](PythonGraph& self) { return drawing_of(self.description()); })
        .def("split", [](const PythonGraph& self, nb::handle cluster) { return split_of(self, cluster); })
        .def("place", [](const PythonGraph& self, nb::handle cluster, const std::string& profile,
                         const nb::dict& options) { return placed_on(self, cluster, profile, options); })
        .def("apply",
             [](PythonGraph& self, const std::vector<std::pair<std::string, std::string>>& nodes) {
                 Assignment assignment;
                 for (const auto& [filter, group] : nodes) assignment.filters.push_back({filter, group});
                 assignment.apply(self);
             })
        .def(
            "start",
            [](PythonGraph& self, nb::object machine, const std::string& name, const std::string& profile,
               nb::object cluster) {
                Cluster* const over = cluster_in(cluster);
                const RunOptions options{.name = name, .profile = profile};
                return start_on(std::move(machine), [&](LiveRun& live) {
                    live.of_graph.emplace(over != nullptr ? self.start(*over, options)
                                                          : self.start(*live.machine, options));
                });
            },
            nb::arg("machine"), nb::arg("name"), nb::arg("profile"), nb::arg("cluster").none());
}

}  // namespace penstock::python
