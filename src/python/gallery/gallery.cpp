// The gallery's applications, for Python.
#include "apps/gallery.hpp"

#include "apps/written.hpp"
#include "python/errors.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

template <class T>
nb::object to_numpy(std::vector<T> values, const std::vector<std::size_t>& shape) {
    auto* const owned = new std::vector<T>(std::move(values));
    const nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

template <class... T>
bool take_one_of(nb::handle value, apps::Array& array) {
    const auto take = [&]<class Given>(nb::ndarray<const Given, nb::c_contig, nb::device::cpu> given) {
        if (!nb::try_cast(value, given, false)) return false;
        array.shape.assign(given.shape_ptr(), given.shape_ptr() + given.ndim());
        array.values = std::vector<Given>(given.data(), given.data() + given.size());
        return true;
    };
    return (take(nb::ndarray<const T, nb::c_contig, nb::device::cpu>()) || ...);
}

apps::Array array_of(const std::string& app, const std::string& name, nb::handle value) {
    apps::Array array{name, {}, {}};
    nb::object view;  // has strides where the exporter leaves them out (ctypes does)
    if (PyObject_CheckBuffer(value.ptr()) != 0 && !nb::hasattr(value, "__dlpack__")) {
        view = nb::steal(PyMemoryView_FromObject(value.ptr()));
        if (view.is_valid()) value = view;
        PyErr_Clear();
    }
    if (!take_one_of<float, double, std::complex<float>, std::complex<double>, std::uint32_t, std::uint8_t>(value,
                                                                                                            array))
        throw apps::SettingError(
            app, "input " + name,
            "give it a contiguous array of float32, float64, complex64, complex128, uint32 or uint8");
    return array;
}

/// Calls `work(name, field)` for each setting that is a number.
template <class Settings, class Work>
void for_each_setting(Settings& settings, Work&& work) {
    work("rows", settings.rows);
    work("columns", settings.columns);
    work("block_rows", settings.block_rows);
    work("block_columns", settings.block_columns);
    work("seed", settings.seed);
    work("repetitions", settings.repetitions);
}

apps::Settings settings_of(const std::string& app, const nb::dict& given, const nb::dict& inputs, bool keep_arrays) {
    apps::Settings settings;
    nb::dict left = nb::steal<nb::dict>(PyDict_Copy(given.ptr()));
    for_each_setting(settings, [&](const char* name, auto& field) {
        if (!left.contains(name)) return;
        if (!nb::try_cast(left[name], field))
            throw apps::SettingError(app, name, "give it a whole number that is not negative");
        nb::del(left[name]);
    });
    for (auto [key, value] : left) {
        const auto text = nb::cast<std::string>(key);
        if (!nb::isinstance<nb::str>(value) && PyNumber_Check(value.ptr()) == 0)
            throw apps::SettingError(app, text, "give it a text or a number");
        settings.texts[text] = nb::cast<std::string>(nb::str(value));
    }
    settings.keep_arrays = keep_arrays;
    for (auto [key, value] : inputs) settings.inputs.push_back(array_of(app, nb::cast<std::string>(key), value));
    return settings;
}

nb::dict to_dict(apps::RunResult result) {
    nb::dict settings;
    for_each_setting(result.settings, [&](const char* name, auto value) { settings[name] = value; });
    for (const auto& [name, text] : result.settings.texts) settings[name.c_str()] = text;
    nb::dict timings;
    for (const apps::Timing& timing : result.timings) timings[timing.way.c_str()] = timing.seconds;
    nb::dict findings;
    for (const auto& [name, text] : result.findings) findings[name.c_str()] = text;
    nb::list checks;
    for (const apps::Check& check : result.checks)
        checks.append(dict_of("name", check.name, "expected", check.expected, "actual", check.actual, "tolerance",
                              check.tolerance, "source", check.source, "ok", check.ok()));
    nb::dict arrays;
    for (apps::Array& array : result.arrays) {
        arrays[array.name.c_str()] =
            std::visit([&](auto& values) { return to_numpy(std::move(values), array.shape); }, array.values);
    }
    return dict_of("app", result.app, "settings", settings, "workers", result.workers, "tasks", result.tasks, "timings",
                   timings, "checks", checks, "findings", findings, "arrays", arrays, "graph", result.graph, "ok",
                   result.ok());
}

nb::dict run(const PythonMachine& machine, const std::string& name, const nb::dict& settings, const nb::dict& inputs,
             bool keep_arrays, nb::handle progress, nb::handle timed) {
    const auto live = machine.live();
    const apps::App& app = apps::find_app(name);
    const apps::Settings plain = settings_of(name, settings, inputs, keep_arrays);
    apps::Progress report;
    report.done = [&](double fraction) {
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(fraction);
    };
    if (!timed.is_none()) {
        report.timed = [&](const std::string& way, bool over) {
            const nb::gil_scoped_acquire acquire;
            timed(way, over);
        };
    }
    return to_dict(without_interpreter([&] { return apps::run(app, *live, plain, report); }));
}

}  // namespace

void bind_gallery(nb::module_& module) {
    error_classes().insert(
        error_classes().begin(),
        error_class<apps::SettingError>("app", &apps::SettingError::app, "setting", &apps::SettingError::setting));
    apps::register_components();
    known_text = &apps::text_instead_of;
    module.def(
        "gallery",
        [] {
            nb::list all;
            for (const apps::App& app : apps::gallery()) all.append(nb::make_tuple(app.name, app.summary));
            return all;
        },
        nb::sig("def gallery() -> list[tuple[str, str]]"), "Name and summary of each application.");
    module.def(
        "app_ways", [](const std::string& name) { return apps::find_app(name).ways; }, nb::arg("name"),
        nb::sig("def app_ways(name: str) -> list[str]"),
        "The ways in which run_app() computes this application's result, in the order in which it takes them. Raises "
        "UsageError for a name.");
    module.def(
        "app_settings",
        [](const std::string& name) {
            nb::dict all;
            for (const auto& text : apps::find_app(name).texts) all[text.name.c_str()] = text.meaning;
            return all;
        },
        nb::arg("name"), nb::sig("def app_settings(name: str) -> dict[str, str]"),
        "The settings that only this application has, and what each means. Raises UsageError for a name.");
    module.def(
        "run_app", &run, nb::arg("machine"), nb::arg("name"), nb::arg("settings") = nb::dict(),
        nb::arg("inputs") = nb::dict(), nb::arg("keep_arrays") = false, or_none("progress"), or_none("timed"),
        nb::sig("def run_app(machine: Machine, name: str, settings: dict[str, Any] = {}, inputs: dict[str, Any] = "
                "{}, keep_arrays: bool = False, progress: Callable[[float], None] | None = None, timed: "
                "Callable[[str, bool], None] | None = None) -> dict[str, Any]"),
        "Computes an application's result in each of its ways (app_ways), interleaved, and checks it. `settings`:\n"
        "rows, columns, block_rows, block_columns, seed, repetitions, and its own (app_settings). `inputs`: arrays by\n"
        "name in place of generated ones. `progress` is told the fraction done between runs, `timed` the way that is "
        "about to be\n"
        "timed (False) or has just been (True). Returns app, settings, workers, tasks, timings {way: seconds},\n"
        "checks, findings {name: text}, arrays, graph (JSON) and ok. Raises SettingError, UsageError for a name.");
}

}  // namespace penstock::python
