#include "python/streams/filter_spec.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cmath>

#include "python/errors.hpp"

namespace penstock::python {
namespace {

thread_local bool interrupted = false;

/// Each item of a list as such a tuple.
template <class... Parts>
std::vector<std::tuple<Parts...>> tuples(const nb::dict& given, const char* name) {
    return nb::cast<std::vector<std::tuple<Parts...>>>(given[name]);
}

/// Reads what penstock.filters puts together.
std::shared_ptr<FilterSpec> spec_of(const nb::dict& given) {
    auto spec = std::make_shared<FilterSpec>();
    auto& description = spec->description;
    description.type = nb::cast<std::string>(given["type"]);
    for (const auto& [name, type, required, at_least] :
         tuples<std::string, std::string, bool, std::size_t>(given, "inputs")) {
        spec->inputs.push_back(&element_of_streams(type));
        description.inputs.push_back({name, spec->inputs.back()->type, required, at_least});
    }
    for (const auto& [name, type, shape] : tuples<std::string, std::string, nb::object>(given, "outputs")) {
        spec->outputs.push_back(&element_of_streams(type));
        description.outputs.push_back({name, spec->outputs.back()->type});
        auto& made = spec->shapes.emplace_back();
        if (nb::isinstance<nb::tuple>(shape)) made.extents = nb::cast<std::vector<std::size_t>>(shape);
        else made.as_input = nb::cast<std::size_t>(shape);
    }
    for (const auto& [name, value, unit, least, most, choices, doc] :
         tuples<std::string, nb::object, std::string, double, double, std::vector<std::string>, std::string>(
             given, "settings"))
        description.settings.push_back({name, setting_of(value), {unit, least, most, choices, doc}});
    for (const auto& [name, like] : tuples<std::string, nb::object>(given, "events"))
        description.event_outputs.push_back({name, setting_of(like)});
    description.may_be_copied = nb::cast<bool>(given["may_be_copied"]);
    description.on_any_input = nb::cast<bool>(given["on_any_input"]);
    spec->fills = nb::cast<bool>(given["fill"]);
    spec->in_place = nb::cast<bool>(given["in_place"]);
    spec->keeps_state = nb::cast<bool>(given["keeps_state"]);
    spec->recipe = hold(given["recipe"]);
    spec->make = hold(given["make"]);
    spec->limit = std::chrono::nanoseconds(std::llround(nb::cast<double>(given["time_limit"]) * 1e9));
    return spec;
}

PythonKind kind_of(const nb::dict& given) {
    auto spec = spec_of(given);
    if (nb::cast<bool>(given["compiled"])) return {body_kind(std::move(spec), given["make"])};
    if (nb::cast<std::string>(given["isolation"]) == "thread") return {function_kind(std::move(spec))};
    return process_kind(std::move(spec));
}

}  // namespace

std::optional<streaming::FilterKind::Recipe> pickled(const FilterSpec& spec) {
    streaming::FilterKind::Recipe recipe{"python", {}, {}};
    in_python([&] {
        const auto [version, bytes] = nb::cast<std::tuple<std::string, nb::bytes>>((*spec.recipe)());
        recipe.name = version;
        const auto* const begin = static_cast<const std::byte*>(bytes.data());
        recipe.bytes.assign(begin, begin + bytes.size());
    });
    return recipe;
}

bool interrupted_in_filter() noexcept { return std::exchange(interrupted, false); }

void throw_raised(nb::python_error& error) {
    interrupted = interrupted || error.matches(PyExc_KeyboardInterrupt);
    error.restore();
    nb::object value = raised_exception();
    auto text = described_exception(value);
    throw FilterRaised(std::move(text), hold(std::move(value)));
}

nb::object SpecFilter::argument(std::size_t i, Firing& firing) {
    auto& buffers = firing.inputs[i];
    const auto& element = *spec().inputs[i];
    if (inputs[i]->options().at_least <= 1)
        return buffers.empty() ? nb::none() : array_over(std::move(buffers.front()), element, spec().in_place);
    nb::list all;
    for (auto& buffer : buffers) all.append(array_over(std::move(buffer), element, spec().in_place));
    return all;
}

SpecFilter::Firing SpecFilter::begin() {
    Firing firing;
    firing.inputs.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto most = inputs[i]->options().at_least;
        for (std::size_t n = 0; n < most; ++n) {
            auto buffer = input(i).read_if_any();
            if (!buffer) break;
            firing.inputs[i].push_back(std::move(*buffer));
        }
    }
    return firing;
}

RawBuffer SpecFilter::make(std::size_t o, const Firing& firing) {
    const Shape& shape = spec().shapes[o];
    if (!shape.extents.empty()) return output(o).make(shape.extents);
    const auto& like = firing.inputs[shape.as_input];
    if (like.empty())
        throw UsageError("output '" + outputs[o]->name() + "' is to be as large as what came at input '" +
                         inputs[shape.as_input]->name() + "', where nothing came");
    std::size_t extents[streaming::Block::max_rank];
    const auto rank = like.front().rank();
    for (std::size_t d = 0; d < rank; ++d) extents[d] = like.front().extent(d);
    return output(o).make({extents, rank});
}

void SpecFilter::write(Firing& firing) {
    firing.inputs.clear();
    for (auto& [o, buffer] : firing.results) output(o).write(std::move(buffer));
    firing.results.clear();
    for (auto& [o, value] : firing.events) send_event(o, std::move(value));
    firing.events.clear();
}

/// False: there is no event output of this name.
bool SpecFilter::take_event(nb::handle name, nb::handle value, Firing& firing) {
    for (std::size_t o = 0; o < event_outputs.size(); ++o)
        if (nb::cast<std::string>(name) == event_outputs[o]->name()) {
            firing.events.emplace_back(o, setting_of(value));
            return true;
        }
    return false;
}

void SpecFilter::take_value(std::size_t o, nb::object value, Firing& firing) {
    if (value.is_none()) return;
    firing.results.emplace_back(
        o, buffer_of(std::move(value), *spec().outputs[o],
                     [&](std::span<const std::size_t> extents) { return output(o).make(extents); }));
}

void SpecFilter::take_written(nb::handle returned, std::span<nb::object> written, Firing& firing) {
    if (!returned.is_none())
        throw UsageError(spec().type() + " writes into the arrays that it is given, and returns None");
    for (std::size_t o = 0; o < written.size(); ++o) take_value(o, std::move(written[o]), firing);
}

/// None; an array, where there is one output; a tuple with one for each output; or a dict by their names.
void SpecFilter::take_one(nb::object result, Firing& firing) {
    if (result.is_none()) return;
    if (nb::isinstance(result, stream_names().event)) {
        if (!take_event(result[0], result[1], firing))
            throw UsageError(spec().type() + " sends an event by '" + nb::cast<std::string>(result[0]) +
                             "', which is no event output of it: declare events={'name': value}");
        return;
    }
    if (outputs.empty() && !(nb::isinstance<nb::dict>(result) && !event_outputs.empty()))
        throw UsageError(spec().type() +
                         " returned a value, but has no output that it could go to; return None, or declare one");
    if (nb::isinstance<nb::dict>(result)) {
        for (std::size_t o = 0; o < outputs.size(); ++o) {
            const nb::str name(outputs[o]->name().c_str());
            if (PyDict_Contains(result.ptr(), name.ptr()) != 1) continue;
            nb::object value = result[name];
            if (PyDict_DelItem(result.ptr(), name.ptr()) != 0) throw nb::python_error();
            take_value(o, std::move(value), firing);
        }
        for (const auto* const event : event_outputs) {
            const nb::str name(event->name().c_str());
            if (PyDict_Contains(result.ptr(), name.ptr()) != 1) continue;
            const nb::object value = result[name];
            if (PyDict_DelItem(result.ptr(), name.ptr()) != 0) throw nb::python_error();
            if (!value.is_none()) static_cast<void>(take_event(name, value, firing));
        }
        if (nb::len(result) != 0)
            throw UsageError(spec().type() + " returned values for " +
                             nb::cast<std::string>(nb::repr(nb::list(result))) + ", which are no outputs of it");
        return;
    }
    if (outputs.size() == 1) return take_value(0, std::move(result), firing);
    if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != outputs.size())
        throw UsageError(spec().type() + " has " + std::to_string(outputs.size()) +
                         " outputs: return a tuple of as many arrays (None: nothing there), or a dict by their names");
    std::vector<nb::object> values;
    for (nb::handle value : nb::borrow<nb::tuple>(result)) values.push_back(nb::borrow(value));
    result.reset();  // so that nobody but `values` holds them
    for (std::size_t o = 0; o < values.size(); ++o) take_value(o, std::move(values[o]), firing);
}

void SpecFilter::take_result(nb::object result, Firing& firing) {
    const StreamNames& names = stream_names();
    if (!nb::isinstance(result, names.generator) && !nb::isinstance(result, names.several))
        return take_one(std::move(result), firing);
    const auto items = nb::steal(PyObject_GetIter(result.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    while (auto item = nb::steal(PyIter_Next(items.ptr()))) take_one(std::move(item), firing);
    if (PyErr_Occurred()) throw nb::python_error();
}

nb::object object_of(const SettingValue& value) { return nb::cast(value); }

SettingValue setting_of(nb::handle value) {
    if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
    if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
    if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
    if (const auto index = nb::steal(PyNumber_Index(value.ptr())); index.is_valid()) {
        const long long number = PyLong_AsLongLong(index.ptr());
        if (number != -1 || !PyErr_Occurred()) return static_cast<std::int64_t>(number);
        PyErr_Clear();
        throw UsageError("a setting or the value of an event has 64 bits at most");
    }
    PyErr_Clear();
    if (const auto number = nb::steal(PyNumber_Float(value.ptr())); number.is_valid()) return nb::cast<double>(number);
    PyErr_Clear();
    throw UsageError("a setting or the value of an event is True or False, a number or a text, not " +
                     nb::cast<std::string>(nb::repr(value)));
}

nb::list list_of(const std::vector<SettingDescription>& settings) {
    nb::list all;
    for (const auto& [name, value, limits] : settings)
        all.append(
            nb::make_tuple(name, object_of(value), limits.unit, limits.least, limits.most, limits.choices, limits.doc));
    return all;
}

nb::object object_of(const Event& event) {
    return stream_names().event(nb::str(event.name.c_str()), object_of(event.value));
}

void bind_filter_kind(nb::module_& module) {
    final_class<PythonKind>(module, "FilterKind", "How the copies of a filter are made. Made by penstock.filter().")
        .def_static("of", &kind_of)
        .def("bind", &bind_site);
}

}  // namespace penstock::python
