// Filters whose firings call Python in whichever thread runs them, with the interpreter's lock.

#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

class FunctionFilter final : public SpecFilter {
  public:
    explicit FunctionFilter(std::shared_ptr<const FilterSpec> given) : SpecFilter(std::move(given)) {
        const nb::gil_scoped_acquire acquire;
        callable_ = hold((*spec().make)());
        shown_.resize(settings.size());
        if (!spec().keeps_state) return;
        handles_events_ = nb::hasattr(*callable_, "on_event");
        show_settings();
    }

    bool fire() override {
        Firing firing = begin();
        std::vector<RawBuffer> made;
        if (spec().fills)
            for (std::size_t o = 0; o < outputs.size(); ++o) made.push_back(make(o, firing));
        const bool more = with_python(firing, [&] { return call(firing, made); });
        write(firing);
        return more;
    }
    void start() override { call_hook("start"); }
    void finish() override { call_hook("finish"); }
    void handle(const Event& event) override {
        Firing firing;
        static_cast<void>(with_python(firing, [&] {
            show_settings();
            take_result(callable_->attr("on_event")(object_of(event)), firing);
            return true;
        }));
        write(firing);
    }
    bool handles_events() const noexcept override { return handles_events_; }
    nb::object callable() const { return *callable_; }

  private:
    /// False when Python says that the filter has ended. What it has written so far is dropped when it raises anything
    /// else.
    template <class Work>
    bool with_python(Firing& firing, Work&& work) {
        const nb::gil_scoped_acquire acquire;
        try {
            return work();
        } catch (nb::python_error& error) {
            firing = {};
            if (error.matches(PyExc_StopIteration)) return false;
            throw_raised(error);
        } catch (...) {
            firing = {};
            throw;
        }
    }

    bool call(Firing& firing, std::vector<RawBuffer>& made) {
        std::vector<nb::object> arguments;
        for (std::size_t i = 0; i < inputs.size(); ++i) arguments.push_back(argument(i, firing));
        for (std::size_t o = 0; o < made.size(); ++o)
            arguments.push_back(array_over(std::move(made[o]), *spec().outputs[o], true));
        nb::object names;
        const std::size_t positional = arguments.size();
        if (spec().keeps_state) show_settings();
        else names = add_settings(arguments);
        static_assert(sizeof(nb::object) == sizeof(PyObject*));
        auto result = nb::steal(PyObject_Vectorcall(
            callable_->ptr(), reinterpret_cast<PyObject* const*>(arguments.data()), positional, names.ptr()));
        if (!result.is_valid()) throw nb::python_error();
        if (!spec().fills && !spec().in_place) {
            arguments.clear();
            take_result(std::move(result), firing);
            return true;
        }
        take_written(result, std::span(arguments).subspan(spec().fills ? inputs.size() : 0, outputs.size()), firing);
        return true;
    }

    nb::object add_settings(std::vector<nb::object>& arguments) {
        if (settings.empty()) return {};
        if (!names_) {
            nb::list names;
            for (const auto* const setting : settings) names.append(nb::str(setting->name().c_str()));
            names_ = hold(nb::tuple(names));
        }
        for (std::size_t i = 0; i < settings.size(); ++i) arguments.push_back(object_of(setting(i)));
        return *names_;
    }

    /// Gives the object the settings that have changed, as attributes.
    void show_settings() {
        for (std::size_t i = 0; i < settings.size(); ++i) {
            const auto value = setting(i);
            if (shown_[i] == value) continue;
            callable_->attr(settings[i]->name().c_str()) = object_of(value);
            shown_[i] = value;
        }
    }

    void call_hook(const char* name) {
        if (!spec().keeps_state) return;
        Firing firing;
        static_cast<void>(with_python(firing, [&] {
            if (!nb::hasattr(*callable_, name)) return true;
            show_settings();
            take_result(callable_->attr(name)(), firing);
            return true;
        }));
        write(firing);
    }

    HeldObject callable_;
    HeldObject names_;
    std::vector<std::optional<SettingValue>> shown_;
    bool handles_events_ = false;
};

}  // namespace

std::shared_ptr<streaming::FilterKind> function_kind(std::shared_ptr<const FilterSpec> spec) {
    return std::make_shared<SpecKind<FunctionFilter>>(std::move(spec));
}

nb::object instance_of(streaming::AnyFilter& filter) {
    const auto* const found = dynamic_cast<FunctionFilter*>(&filter);
    return found == nullptr ? nb::none() : found->callable();
}

void take_over(streaming::AnyFilter& successor, streaming::AnyFilter& predecessor) {
    in_python([&] {
        const nb::object object = instance_of(successor), old = instance_of(predecessor);
        if (object.is_none() || old.is_none() || !nb::hasattr(object, "take_over")) return;
        object.attr("take_over")(old);
    });
}

}  // namespace penstock::python
