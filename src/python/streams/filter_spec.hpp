// What a filter of Python is, as penstock.filters describes it: ports, settings, and what a firing calls.
#pragma once

#include "penstock/described_filter.hpp"
#include "python/streams/stream_array.hpp"

namespace penstock::python {

class ProcessSite;

/// How large the buffers are that are made before a firing: as those of an input, or fixed.
struct Shape {
    std::size_t as_input = 0;
    std::vector<std::size_t> extents{};  ///< empty: as the input
};

struct FilterSpec {
    FilterDescription description;
    std::vector<const ElementRow*> inputs, outputs;
    std::vector<Shape> shapes;  ///< of the outputs
    bool fills = false;         ///< outputs are made before the firing, which writes into them
    /// The buffer of each input is written, and becomes that of the output with its number
    bool in_place = false;
    bool keeps_state = false;           ///< an object of a class: settings are its attributes
    HeldObject recipe{};                ///< called for what another interpreter makes the filter of, pickled
    HeldObject make{};                  ///< called for each copy: what is called in each firing
    std::chrono::nanoseconds limit{0};  ///< in worker interpreters: longest firing

    const std::string& type() const noexcept { return description.type; }
};

/// How another interpreter makes it. Throws UsageError where it cannot be pickled.
std::optional<streaming::FilterKind::Recipe> pickled(const FilterSpec& spec);

/// What all three kinds do: inputs are read before, and outputs are written after Python had its turn.
class SpecFilter : public DescribedFilter {
  public:
    explicit SpecFilter(std::shared_ptr<const FilterSpec> spec)
        : DescribedFilter(spec->description), spec_(std::move(spec)) {}

  protected:
    /// The buffers of one firing: those of each input, and what goes to the outputs.
    struct Firing {
        std::vector<std::vector<RawBuffer>> inputs;
        std::vector<std::pair<std::size_t, RawBuffer>> results;
        std::vector<std::pair<std::size_t, SettingValue>> events;  ///< by event output
    };
    Firing begin();
    RawBuffer make(std::size_t output, const Firing& firing);
    void write(Firing& firing);
    const FilterSpec& spec() const noexcept { return *spec_; }

    /// What Python is given for input i: an array; a list of them where several are asked for; None where nothing came.
    nb::object argument(std::size_t i, Firing& firing);
    /// Puts what a firing returned among the results. With the interpreter's lock.
    void take_result(nb::object result, Firing& firing);
    /// Puts what a firing wrote into among them, in the order of the outputs. `returned`: which must be None.
    void take_written(nb::handle returned, std::span<nb::object> written, Firing& firing);

  private:
    void take_value(std::size_t output, nb::object value, Firing& firing);
    void take_one(nb::object result, Firing& firing);
    bool take_event(nb::handle name, nb::handle value, Firing& firing);

    std::shared_ptr<const FilterSpec> spec_;
};

/// Makes the copies of a filter, each of the specification and what else all of them are given.
template <class Filter, class... Given>
struct SpecKind final : streaming::FilterKind {
    SpecKind(std::shared_ptr<const FilterSpec> of, Given... all) : spec(std::move(of)), given(std::move(all)...) {
        may_be_copied = spec->description.may_be_copied;
        on_any_input = spec->description.on_any_input;
    }
    std::unique_ptr<streaming::AnyFilter> make() const override {
        return std::apply([this](const auto&... each) { return std::make_unique<Filter>(spec, each...); }, given);
    }
    std::optional<Recipe> recipe() const override { return pickled(*spec); }
    const std::shared_ptr<const FilterSpec> spec;
    const std::tuple<Given...> given;
};

/// A filter's kind, and where its firings go if they go to worker interpreters.
struct PythonKind {
    std::shared_ptr<streaming::FilterKind> kind;
    std::shared_ptr<ProcessSite> site{};
};

nb::object object_of(const SettingValue& value);
SettingValue setting_of(nb::handle value);
/// A tuple for each: name, value, unit, least, most.
nb::list list_of(const std::vector<SettingDescription>& settings);
/// A penstock.Event.
nb::object object_of(const Event& event);

/// What a filter raised in Python, where exceptions of C++ travel.
struct FilterRaised : Error {
    FilterRaised(const std::string& what, HeldObject error) : Error(what), raised(std::move(error)) {}
    HeldObject raised;
};
/// Throws FilterRaised; notes that it was KeyboardInterrupt. With the interpreter's lock.
[[noreturn]] void throw_raised(nb::python_error& error);
/// Calls `work` with the interpreter's lock. Throws FilterRaised for what it raises.
template <class Work>
void in_python(Work&& work) {
    const nb::gil_scoped_acquire acquire;
    try {
        work();
    } catch (nb::python_error& error) {
        throw_raised(error);
    }
}
/// Was a filter interrupted in this thread since this was asked last?
bool interrupted_in_filter() noexcept;

/// A Python callable, in whichever thread runs the filter. Its object is the first copy's, for penstock.Filter.
std::shared_ptr<streaming::FilterKind> function_kind(std::shared_ptr<const FilterSpec> spec);
/// A compiled function (penstock.Body). Throws ArgumentError where its parameters are not those that the ports ask for.
std::shared_ptr<streaming::FilterKind> body_kind(std::shared_ptr<const FilterSpec> spec, nb::object body);
/// The machine's worker interpreters.
PythonKind process_kind(std::shared_ptr<const FilterSpec> spec);
/// They are those of this PythonMachine from now on.
void bind_site(const PythonKind& kind, nb::object machine);
/// What `make` made for this filter, where it is one of Python's; else None.
nb::object instance_of(streaming::AnyFilter& filter);
/// Calls successor.take_over(predecessor), where it has that.
void take_over(streaming::AnyFilter& successor, streaming::AnyFilter& predecessor);

void bind_filter_kind(nb::module_& module);
}  // namespace penstock::python
