#include "python/streams/stream_graph.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "penstock/application.hpp"
#include "penstock/run.hpp"
#include "python/binding.hpp"
#include "python/calls/python_machine.hpp"
#include "python/language/application.hpp"
#include "stream/description/option_names.hpp"

namespace penstock::python {
namespace {

template <class Choice, std::size_t n>
constexpr Choices<Choice, n> choices_of(const streaming::Names<n>& names) {
    Choices<Choice, n> all{};
    for (std::size_t i = 0; i < n; ++i) all[i] = {names[i].data(), static_cast<Choice>(i)};
    return all;
}
constexpr auto policies = choices_of<Policy>(streaming::policy_names);
constexpr auto when_full = choices_of<WhenStreamFull>(streaming::when_full_names);
constexpr auto on_failure = choices_of<OnFailure>(streaming::on_failure_names);
constexpr auto removals = choices_of<Removal>(streaming::removal_names);

template <class T>
T number(const nb::dict& given, const char* option) {
    T value{};
    if (!nb::try_cast(given[option], value))
        throw UsageError(std::string(option) + " is a whole number" +
                         (std::is_unsigned_v<T> ? " that is not negative" : ""));
    return value;
}

/// Calls a Python function with the tags of a buffer.
std::function<std::uint64_t(const Tags&, std::span<const std::byte>)> key_of(nb::object function) {
    return [held = hold(std::move(function))](const Tags& tags, std::span<const std::byte>) {
        const nb::gil_scoped_acquire acquire;
        nb::object key;
        try {
            key = (*held)(stream_names().tags(tags.sequence, tags.time, nb::make_tuple(tags.user[0], tags.user[1])));
        } catch (nb::python_error& error) {
            throw_raised(error);
        }
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

nb::object add(GraphBuilder& builder, const std::string& name, const PythonKind& kind, const nb::dict& options) {
    return instance_of(builder.add_kind(name, filter_options_of(options), kind.kind));
}

template <class Bound, class Builder>
void bind_builder(nb::class_<Bound>& bound, Builder builder) {
    bound
        .def(
            "connect",
            [=](Bound& self, const std::string& from, const std::string& to, const nb::dict& options) {
                builder(self).connect(from, to, stream_options_of(options));
            },
            nb::arg("source"), nb::arg("sink"), nb::arg("options"))
        .def(
            "set",
            [=](Bound& self, const std::string& filter, const std::string& setting, nb::handle value) {
                builder(self).set(filter, setting, setting_of(value));
            },
            nb::arg("filter"), nb::arg("setting"), nb::arg("value"),
            nb::sig("def set(self, filter: str, setting: str, value: bool | int | float | str) -> None"));
}

void bind_edit(nb::module_& module) {
    nb::class_<PythonEdit> edit(module, "StreamEdit", nb::is_final(), "What penstock.Edit is carried out on.");
    bind_builder(edit, [](PythonEdit& self) -> GraphBuilder& { return self.live(); });
    edit.def(
            "add",
            [](PythonEdit& self, const std::string& name, const PythonKind& kind, const nb::dict& options) {
                if (kind.site != nullptr) bind_site(*self.machine, *kind.site);
                return add(self.live(), name, kind, options);
            },
            nb::arg("name"), nb::arg("kind"), nb::arg("options"),
            nb::sig("def add(self, name: str, kind: FilterKind, options: dict) -> Any"))
        .def(
            "replace",
            [](PythonEdit& self, const std::string& old, const PythonKind& kind, const std::string& removal) {
                if (kind.site != nullptr) bind_site(*self.machine, *kind.site);
                return instance_of(
                    self.live().replace_kind(old, choose("removal", removal, removals), kind.kind, &take_over));
            },
            nb::arg("old"), nb::arg("kind"), nb::arg("removal"),
            nb::sig("def replace(self, old: str, kind: FilterKind, removal: str) -> Any"))
        .def(
            "remove",
            [](PythonEdit& self, const std::string& filter, const std::string& removal) {
                self.live().remove(filter, choose("removal", removal, removals));
            },
            nb::arg("filter"), nb::arg("removal"))
        .def(
            "remove_group",
            [](PythonEdit& self, const std::string& group, const std::string& removal) {
                self.live().remove_group(group, choose("removal", removal, removals));
            },
            nb::arg("group"), nb::arg("removal"))
        .def(
            "disconnect",
            [](PythonEdit& self, const std::string& from, const std::string& to) { self.live().disconnect(from, to); },
            nb::arg("source"), nb::arg("sink"))
        .def(
            "change",
            [](PythonEdit& self, const std::string& from, const std::string& to, const nb::dict& options) {
                self.live().change(from, to, stream_options_of(options));
            },
            nb::arg("source"), nb::arg("sink"), nb::arg("options"))
        .def(
            "copies", [](PythonEdit& self, const std::string& filter, int count) { self.live().copies(filter, count); },
            nb::arg("filter"), nb::arg("count"))
        .def(
            "place",
            [](PythonEdit& self, const std::string& filter, std::vector<int> targets) {
                self.live().place(filter, std::move(targets));
            },
            nb::arg("filter"), nb::arg("targets"));
}

}  // namespace

Edit& PythonEdit::live() const {
    if (edit == nullptr) throw UsageError("this edit is over; begin another one with run.edit()");
    return *edit;
}

void bind_site(PythonMachine& machine, ProcessSite& site) {
    const auto targets = machine.live()->targets();
    if (targets == 0)
        throw UsageError("a machine with targets=0 has no worker interpreters for filters with isolation=\"process\"");
    site.bind(machine.workers(), targets);
}

StreamOptions stream_options_of(const nb::dict& given) {
    StreamOptions options;
    options.policy = choose("policy", nb::object(given["policy"]), policies);
    options.capacity = number<std::size_t>(given, "capacity");
    options.capacity_bytes = number<std::size_t>(given, "capacity_bytes");
    options.when_full = choose("when_full", nb::object(given["when_full"]), when_full);
    options.ordered = nb::cast<bool>(nb::bool_(given["ordered"]));
    options.fuse = nb::cast<bool>(nb::bool_(given["fuse"]));
    options.feedback = nb::cast<bool>(nb::bool_(given["feedback"]));
    options.name = nb::cast<std::string>(nb::str(given["name"]));
    if (const nb::object key = given["key"]; !key.is_none()) options.key = key_of(key);
    return options;
}

FilterOptions filter_options_of(const nb::dict& given) {
    FilterOptions options;
    options.copies = number<int>(given, "copies");
    if (!nb::try_cast(given["targets"], options.targets))
        throw UsageError("targets is a list of the numbers of targets");
    options.near = nb::cast<std::string>(nb::str(given["near"]));
    options.on_failure = choose("on_failure", nb::object(given["on_failure"]), on_failure);
    options.pool = number<std::size_t>(given, "pool");
    return options;
}

nb::dict object_of(const GraphDescription& description) {
    nb::list filters, streams;
    for (const auto& filter : description.filters) {
        const auto& options = filter.options;
        filters.append(dict_of("name", filter.name, "type", filter.type, "inputs", ports_of(filter.inputs), "outputs",
                               ports_of(filter.outputs), "settings", list_of(filter.settings), "copies", options.copies,
                               "targets", options.targets, "near", options.near, "on_failure",
                               word_of(options.on_failure, on_failure), "pool", options.pool, "may_be_copied",
                               filter.may_be_copied, "on_any_input", filter.on_any_input, "of_program",
                               filter.of_program));
    }
    for (const auto& stream : description.streams) {
        const auto& options = stream.options;
        streams.append(dict_of("source", stream.from, "sink", stream.to, "policy", word_of(options.policy, policies),
                               "capacity", options.capacity, "capacity_bytes", options.capacity_bytes, "when_full",
                               word_of(options.when_full, when_full), "ordered", options.ordered, "fuse", options.fuse,
                               "feedback", options.feedback, "name", options.name));
    }
    return dict_of("filters", filters, "streams", streams);
}

void bind_stream_graph(nb::module_& module) {
    nb::class_<PythonGraph> graph(module, "StreamGraph", nb::is_final(), "What penstock.Graph stands on.");
    graph.def(nb::init<>())
        .def(
            "add",
            [](PythonGraph& self, const std::string& name, const PythonKind& kind, const nb::dict& options) {
                if (kind.site != nullptr) self.sites.push_back(kind.site);
                return add(self.graph, name, kind, options);
            },
            nb::arg("name"), nb::arg("kind"), nb::arg("options"),
            nb::sig("def add(self, name: str, kind: FilterKind, options: dict) -> Any"))
        .def("check", [](PythonGraph& self) { return self.graph.check(); })
        .def(
            "to_xml", [](PythonGraph& self, const std::string& name) { return to_xml(self.graph, name); },
            nb::arg("name"))
        .def(
            "from_xml",
            [](PythonGraph& self, const std::string& text, const Pairs& settings, const Folders& folders) {
                from_xml(self.graph, text, {.settings = settings, .folders = folders});
            },
            nb::arg("text"), nb::arg("settings"), nb::arg("folders"),
            nb::sig("def from_xml(self, text: str, settings: list[tuple[str, str]], folders: list[str]) -> None"))
        .def("description", [](PythonGraph& self) { return object_of(self.graph.description()); })
        .def(
            "save", [](PythonGraph& self, const std::string& path) { save_graph(path, self.graph.description()); },
            nb::arg("path"))
        .def("drawing", [](PythonGraph& self) { return drawing_of(self.graph.description()); });
    bind_builder(graph, [](PythonGraph& self) -> GraphBuilder& { return self.graph; });
    bind_edit(module);
    bind_stream_run(module, graph);
}

}  // namespace penstock::python
