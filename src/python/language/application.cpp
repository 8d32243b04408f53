// Applications that are written down and their runs, for Python, and what is made of them: other applications,
// programs, profiles.
#include "penstock/application_profile.hpp"
#include "penstock/application_source.hpp"
#include "penstock/pass.hpp"
#include "penstock/transformation.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

struct PythonApplicationRun {
    PythonRun run;

    ApplicationRun& application() const noexcept { return *run.live->application; }
};

/// In short pieces, because a signal interrupts no wait.
bool wait_for(PythonApplicationRun& self, double seconds) {
    if (!(seconds >= 0)) throw UsageError("an application is waited for for at least 0 seconds");
    constexpr auto piece = std::chrono::milliseconds(50);
    auto& live = *self.run.live;
    live.origin.require("this application");
    if (!live.ending.valid())
        live.ending = std::async(std::launch::async, [&run = self.application()] { run.finish(); }).share();
    const auto ending = live.ending;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(seconds, 1e9));
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::nanoseconds>(until - std::chrono::steady_clock::now());
        const bool over = without_interpreter([&] {
            return ending.wait_for(std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), piece)) ==
                   std::future_status::ready;
        });
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (over && !std::exchange(live.told, true)) ending.get();
        if (over || left <= piece) return over;
    }
}

void finish(PythonApplicationRun& self) {
    if (!self.run.live->ending.valid()) return without_interpreter([&] { self.application().finish(); });
    while (!wait_for(self, 1)) {
    }
}

/// A dict for each: kind ('error', 'warning'), file, line, column, message, text.
nb::list list_of_findings(const std::vector<Finding>& findings) {
    nb::list all;
    for (const auto& each : findings)
        all.append(dict_of("kind", each.kind == Finding::Kind::error ? "error" : "warning", "file", each.where.file,
                           "line", each.where.line, "column", each.where.column, "message", each.message, "text",
                           each.text()));
    return all;
}

Application application_of(const std::string& path, const Pairs& settings, const Folders& folders) {
    const nb::gil_scoped_release release;
    const ApplicationOptions options{.settings = settings, .folders = folders};
    const char* const text = known_text(path);
    return text == nullptr ? Application::read(path, options) : Application::parse(text, path, options);
}

/// A text that stands for what the file holds: the one that is given, or the gallery's of this name; else nothing.
std::optional<std::string> text_for(const std::string& path, std::optional<std::string> given) {
    if (const char* const known = given ? nullptr : known_text(path)) return known;
    return given;
}

nb::list findings_in(const std::string& path, const Pairs& settings, const Folders& folders,
                     const std::optional<std::string>& given) {
    return list_of_findings(without_interpreter([&] {
        const ApplicationOptions options{.settings = settings, .folders = folders};
        const auto text = text_for(path, given);
        return text ? check_application_text(*text, path, options) : check_application(path, options);
    }));
}

nb::list passes() {
    nb::list all;
    for (const auto& each : transformations()) all.append(nb::make_tuple(each.name, each.purpose, each.argument));
    return all;
}

std::string transformed(const std::string& path, const std::vector<std::string>& names, const Pairs& settings,
                        const Folders& folders, const std::string& profile, const std::optional<std::string>& given) {
    const nb::gil_scoped_release release;
    const TransformOptions options{.application = {.settings = settings, .folders = folders}, .profile = profile};
    const auto text = text_for(path, given);
    return text ? transform_text(*text, names, path, options) : transform(path, names, options);
}

nb::tuple compiled(const std::string& path, const Pairs& settings, const Folders& folders, const Pairs& types,
                   const std::optional<std::string>& given) {
    const auto made = without_interpreter([&] {
        const SourceOptions options{.application = {.settings = settings, .folders = folders}, .types = types};
        const auto text = text_for(path, given);
        return text ? source_of_text(*text, path, options) : source_of(path, options);
    });
    return nb::make_tuple(made.program, made.build, made.fixed);
}

}  // namespace

static nb::object to_python(const ApplicationElement& element) {
    nb::list children;
    for (const auto& each : element.children) children.append(to_python(each));
    nb::dict attributes;
    for (const auto& [name, value] : element.attributes) attributes[name.c_str()] = value;
    return imported("penstock.passes", "Element")(element.name, attributes, children, element.comments);
}

static ApplicationElement from_python(nb::handle element) {
    ApplicationElement made{.name = nb::cast<std::string>(element.attr("name"))};
    for (auto [name, value] : nb::cast<nb::dict>(element.attr("attributes")))
        made.set(nb::cast<std::string>(name), nb::cast<std::string>(nb::str(value)));
    for (nb::handle child : nb::iter(element.attr("children"))) made.children.push_back(from_python(child));
    made.comments = nb::cast<std::vector<std::string>>(element.attr("comments"));
    return made;
}

static void register_python_pass(const std::string& name, const std::string& purpose, const std::string& argument,
                                 nb::object apply) {
    register_pass({name, purpose, argument},
                  [held = hold(std::move(apply))](ApplicationElement& application, std::optional<int> given) {
                      in_python([&] {
                          const nb::object tree = to_python(application);
                          if (given) (*held)(tree, *given);
                          else (*held)(tree);
                          application = from_python(tree);
                      });
                  });
}

void bind_language(nb::module_& module) {
    module.def("register_pass", &register_python_pass, nb::arg("name"), nb::arg("purpose"), nb::arg("argument"),
               nb::arg("apply"),
               nb::sig("def register_pass(name: str, purpose: str, argument: str, apply: Callable[..., None]) -> None"),
               "Makes a pass known, whose function changes a penstock.passes.Element.");
    module.def(
        "check_application", &findings_in, nb::arg("path"), nb::arg("settings") = Pairs(),
        nb::arg("folders") = Folders(), or_none("text"),
        "What is wrong with an application: kind ('error', 'warning'), file, line, column, message, text. `text`: "
        "what the file would hold. Raises OSError when it cannot be read.");
    module.def("passes", &passes, nb::sig("def passes() -> list[tuple[str, str, str]]"),
               "The passes over applications: name, purpose, and what may stand behind 'NAME='.");
    module.def("transform_application", &transformed, nb::arg("path"), nb::arg("passes"), nb::arg("settings"),
               nb::arg("folders"), nb::arg("profile"), or_none("text"),
               "An application after these passes, as XML. Settings become defaults; profile: what "
               "ApplicationProfile.text() returned; text: what the file would hold.");
    module.def("compile_application", &compiled, nb::arg("path"), nb::arg("settings"), nb::arg("folders"),
               nb::arg("types"), or_none("text"),
               "An application as a C++ program: main.cpp, CMakeLists.txt, and the names of the parameters that are "
               "fixed in it. text: what the file would hold.");
    final_class<ApplicationProfile>(module, "ApplicationProfile", "What a run of an application was like.")
        .def(nb::init<std::string, int>(), nb::arg("application"), nb::arg("targets"))
        .def(
            "look",
            [](ApplicationProfile& self, const PythonRun& run) {
                self.look(without_interpreter([&] { return run.run().statistics(); }));
            },
            "Lengths of queues are those that looks see.")
        .def("text", &ApplicationProfile::text, "As XML.");
    nb::class_<Application>(module, "Application", "What penstock.Application has from here.")
        .def(nb::init<const Application&>())
        .def_static("read", &application_of)
        .def_static(
            "parse",
            [](const std::string& text, const std::string& file, const Pairs& settings, const Folders& folders) {
                return without_interpreter(
                    [&] { return Application::parse(text, file, {.settings = settings, .folders = folders}); });
            })
        .def_prop_ro("name", &Application::name)
        .def("events", &Application::events, "Events to which it reacts.")
        .def("_options", &Application::options)
        .def("_warnings", [](const Application& self) { return list_of_findings(self.warnings()); })
        .def_prop_ro("needs_processes", &Application::needs_processes,
                     "Does a component ask for a worker process? Then only a Machine(isolation='process') runs it.")
        .def(
            "to_xml", [](const Application& self) { return to_xml(self); },
            "With its parameters filled in, its groups inlined and its repetitions expanded; parse() of it gives an "
            "equal one.")
        .def(
            "draw", [](const Application& self) { return drawing_of(self); },
            "In the language of graphviz (`dot -Tsvg`).")
        .def("_equals", [](const Application& self, const Application& other) { return self == other; })
        .def("_nodes",
             [](const Application& self) {
                 nb::list all;
                 for (const auto& group : self.nodes())
                     all.append(nb::make_tuple(group.name, group.count, group.needs.cpus, group.needs.memory));
                 return all;
             })
        .def(
            "_start",
            [](const Application& self, nb::object machine, const std::string& name, const std::string& profile,
               nb::object cluster) {
                Cluster* const over = cluster_in(cluster);
                const RunOptions options{.name = name, .profile = profile};
                return PythonApplicationRun{start_on(std::move(machine), [&](LiveRun& live) {
                    live.application.emplace(over != nullptr ? self.start(*over, options)
                                                             : self.start(*live.machine, options));
                })};
            },
            nb::arg("machine"), nb::arg("name"), nb::arg("profile"), nb::arg("cluster").none())
        .def("_place",
             [](const Application& self, nb::handle cluster, const std::string& profile, const nb::dict& options) {
                 Graph graph;  // as it is in the beginning
                 self.build(graph);
                 return placed_on(graph, cluster, profile, options);
             });
    nb::class_<PythonApplicationRun> run(module, "ApplicationRun", "What penstock.ApplicationRun has from here.");
    run.def(nb::init<const PythonApplicationRun&>())
        .def_ro("_run", &PythonApplicationRun::run)
        .def(
            "finish", &finish,
            "Returns when all filters have ended. Raises what Run.finish() raises; and GraphError for the first change "
            "that an event asked for and that could not be made.")
        .def("wait", &wait_for, nb::arg("seconds"),
             "Waits for the end for at most so long; True: it has ended. Raises what finish() raises.")
        .def("_send",
             [](PythonApplicationRun& self, const std::string& name, nb::handle value) {
                 const Event event{name, setting_of(value)};
                 without_interpreter([&] { self.application().send(event); });
             })
        .def(
            "settle", [](PythonApplicationRun& self) { without_interpreter([&] { self.application().settle(); }); },
            "Waits until all events that were sent have been dealt with.")
        .def(
            "is_on",
            [](PythonApplicationRun& self, const std::string& option) { return self.application().is_on(option); },
            nb::arg("option"), "Is the option on now? Raises UsageError for a name.");
    add_block(run, "def __enter__(self) -> ApplicationRun", [](PythonApplicationRun& self, nb::handle error) {
        if (error.is_none()) return finish(self);
        without_interpreter([&] { self.run.live->stop(); });
    });
}

}  // namespace penstock::python
