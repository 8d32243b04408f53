#include "python/calls/chain.hpp"

#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

constexpr std::size_t array_words = 5;
enum ArrayWord : std::size_t { address, elements, rows, columns, pitch };

constexpr const char* not_of_a_call =
    "stands for memory of a chain; give it to a step of that chain, and the memory itself to a call";

Element element_of(const std::string& type) {
    const Element element = element_named(type);
    if (element.kind == ElementKind::other)
        throw UsageError(
            "the type " + type +
            " is not known here; use a NumPy type name, 'float32', and 'float32[]' for an array parameter");
    return element;
}

/// The task of a chain. `Values`: an array inside the descriptor, or a vector.
template <class Values>
struct ChainCall {
    using TakesStore = void;
    using RunsInStore = void;
    using IsChain = void;
    chain::Image* image;
    Values words;

    void run(LocalStore& store) const {
        const AtEnd end{[&] { image->end(store.worker()); }};
        image->run(store, reinterpret_cast<const std::byte*>(std::data(words)));
    }
    void discard() const noexcept { image->end(0); }
};
template <class F>
concept ChainTask = requires { typename F::IsChain; };

}  // namespace
}  // namespace penstock::python

template <penstock::python::ChainTask F>
struct penstock::procedure::ClosureName<F> {
    static constexpr std::string_view value = "chain";
};

namespace penstock::python {

PythonChain::PythonChain(const std::vector<std::string>& parameters, const std::string& name)
    : label_(name.empty() ? "a chain" : "chain " + name), description_(name, parameters.size()) {
    for (const std::string& text : parameters) {
        const bool array = text.ends_with("[]");
        parameters_.push_back({element_of(array ? text.substr(0, text.size() - 2) : text), array,
                               static_cast<std::uint16_t>(value_words_)});
        value_words_ += array ? array_words : 1;
    }
}

nb::tuple PythonChain::parameters() const {
    nb::list made;
    for (std::uint32_t i = 0; i < parameters_.size(); ++i) {
        StandIn stand_in{parameters_[i].element, Takes::chains, not_of_a_call};
        stand_in.place = {description_.id(), false, i, 0};
        made.append(parameters_[i].array ? nb::cast(ChainArray{stand_in}) : nb::cast(ChainScalar{stand_in}));
    }
    return nb::tuple(made);
}

ChainArray PythonChain::local(nb::handle shape, const std::string& type) {
    const nb::object extents =
        PyLong_Check(shape.ptr()) ? nb::object(nb::make_tuple(shape)) : nb::object(nb::tuple(shape));
    std::vector<std::size_t> sizes;
    for (nb::handle extent : extents) sizes.push_back(nb::cast<std::size_t>(extent));
    if (sizes.empty() || sizes.size() > 2) throw UsageError("a local block has one dimension or two");
    StandIn stand_in{element_of(type), Takes::chains, not_of_a_call};
    stand_in.rows = sizes.size() == 2 ? sizes[0] : 1;
    stand_in.columns = sizes.back();
    if (__builtin_mul_overflow(stand_in.rows, stand_in.columns, &stand_in.count))
        throw UsageError("a local block of that shape fits no local store");
    stand_in.place = description_.add_local(stand_in.count, stand_in.element.bytes);
    change();
    return {stand_in};
}

void PythonChain::add(nb::handle object, const nb::args& arguments, nb::handle signature) {
    nb::object body = body_of(object, signature);
    const Words words(*nb::inst_ptr<Body>(body), arguments, Takes::chains);
    const CallPlan& plan = words.plan();
    if (words.count() > extension_words)
        throw UsageError("step " + plan.name() + " of a chain has " + std::to_string(words.count() - 1) +
                         " words of arguments and may have " + std::to_string(extension_words - 1) +
                         "; give it an array of some of them");
    change();
    const std::size_t literals = literals_.size();
    try {
        check_step(arguments, words);
        const bool in_line = words.count() <= line_words;
        const std::size_t base = in_line ? 0 : offsetof(chain::Packed, extension);
        for (const LaterArgument& later : words.later()) note(later, plan.name(), base);
        chain::Packed packed{};
        const CallPlan* const its_plan = &plan;
        auto* const at = reinterpret_cast<std::byte*>(&packed) + base;
        std::memcpy(at, &its_plan, sizeof its_plan);
        std::memcpy(at + sizeof its_plan, words.data(), words.count() * sizeof(std::uint64_t));
        description_.add_step(plan.entry(), packed, !in_line);
    } catch (...) {
        description_.give_up_step();
        literals_.resize(literals);
        throw;
    }
    held_.push_back(std::move(body));
    held_.push_back(nb::borrow(arguments));
}

/// One block twice in a step, one of them written; and what the issue must look at: memory beside parameters.
void PythonChain::check_step(const nb::args& arguments, const Words& words) {
    const auto& later = words.later();
    for (std::size_t i = 0; i < later.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const auto &a = later[i].stand_in->place, &b = later[j].stand_in->place;
            if (a.chain == b.chain && a.local == b.local && a.index == b.index &&
                (later[i].access != Access::in || later[j].access != Access::in))
                throw ArgumentError(words.plan().name(), std::max(later[i].number, later[j].number),
                                    "overlaps argument " + std::to_string(std::min(later[i].number, later[j].number)) +
                                        ", and one of the two is written");
        }
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const ArrayArgument* const memory = array_argument(arguments[i]);
        if (memory == nullptr || memory->stand_in() != nullptr) continue;
        for (const LaterArgument& beside : later) {
            if (!beside.slot->is_array() || beside.stand_in->place.local) continue;
            if (beside.access != Access::in || memory->access() != Access::in)
                literals_.push_back(
                    {beside.stand_in->place.index, memory, words.plan().name(), static_cast<int>(i) + 1});
        }
    }
}

void PythonChain::note(const LaterArgument& later, const std::string& step, std::size_t base) {
    using chain::Patch;
    const chain::Location& place = later.stand_in->place;
    const Slot& slot = *later.slot;
    description_.use(place, later.access, step, later.number);  // refuses another chain's
    const auto word_at = [&](std::size_t word) {
        return static_cast<std::uint16_t>(base + sizeof(const CallPlan*) + slot.words[word] * sizeof(std::uint64_t));
    };
    if (place.local) return description_.add_patch({Patch::Kind::local, word_at(0), place.index});
    Parameter& parameter = parameters_[place.index];
    const auto value_at = [&](std::size_t word) {
        return static_cast<std::uint32_t>((parameter.value + word) * sizeof(std::uint64_t));
    };
    const auto copy_word = [&](std::size_t word, std::size_t from) {
        description_.add_patch({Patch::Kind::bytes, word_at(word), 0, value_at(from), sizeof(std::uint64_t)});
    };
    if (!slot.is_array()) return copy_word(0, 0);
    description_.add_patch({Patch::Kind::part, word_at(0), place.index, value_at(address)});
    if (slot.form == Slot::Form::contiguous) {
        copy_word(1, elements);
        parameter.contiguous = true;
    } else {
        copy_word(1, rows);
        copy_word(2, columns);
        copy_word(3, pitch);
    }
    parameter.written = parameter.written || later.access != Access::in;
}

PythonChain::Issue PythonChain::begin(const Initiator& initiator, const nb::args& arguments) {
    if (arguments.size() != parameters_.size())
        throw UsageError(label_ + " has " + std::to_string(parameters_.size()) + " parameters, but the call has " +
                         std::to_string(arguments.size()) + " arguments");
    std::vector<std::uint64_t> values(value_words_);
    std::vector<const ArrayArgument*> arrays;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const int number = static_cast<int>(i) + 1;
        const Parameter& parameter = parameters_[i];
        arrays.push_back(array_argument(arguments[i]));
        if (parameter.array != (arrays[i] != nullptr))
            throw ArgumentError(label_, number,
                                parameter.array ? "is no array; say In(x), Out(x) or InOut(x)"
                                                : "is an array, but the parameter is a scalar");
        if (parameter.array) place(values, i, *arrays[i]);
    }
    check_overlap(label_, arrays);
    for (const Literal& literal : literals_) {
        const ArrayArgument& given = *arrays[literal.parameter];
        if (given.bounds().meets(literal.memory->bounds()) && overlap(given.footprint(), literal.memory->footprint()))
            throw ArgumentError(label_, static_cast<int>(literal.parameter) + 1,
                                "overlaps memory that is argument " + std::to_string(literal.argument) +
                                    " of the step " + literal.step + ", and one of the two is written");
    }
    // Last, because converting a number may run Python code.
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (!parameters_[i].array)
            values[parameters_[i].value] =
                scalar_word(label_, parameters_[i].element, arguments[i], static_cast<int>(i) + 1);
    if (image_ == nullptr) image_ = new chain::Image(description_);
    if (image_->local_bytes() > initiator.local_store_bytes())
        image_->refuse_local_store(initiator.local_store_bytes());
    image_->uses.begin();
    return {image_, std::move(values)};
}

void PythonChain::place(std::vector<std::uint64_t>& values, std::size_t number, const ArrayArgument& array) const {
    const Parameter& parameter = parameters_[number];
    const int argument = static_cast<int>(number) + 1;
    const auto refuse = [&](const std::string& what) { throw ArgumentError(label_, argument, what); };
    if (array.element() != parameter.element)
        refuse("has elements of type " + name_of(array.element()) + ", but the parameter has " +
               name_of(parameter.element) + "; convert the array with astype()");
    if (array.wrong() != nullptr) refuse(array.wrong());
    if (array.access() == Access::in && parameter.written)
        refuse("is In, but a step writes it; say Out(x) or InOut(x)");
    if (array.access() == Access::out && description_.requirements()[number].read_first)
        refuse("is Out, but the first step that uses it reads it; say InOut(x)");
    if (parameter.contiguous && !array.contiguous())
        refuse("is not contiguous, but a step takes T*, intptr_t n; copy it");
    std::uint64_t* const to = values.data() + parameter.value;
    to[address] = array.base();
    to[elements] = array.count();
    if (array.dimensions() > 2) {  // contiguous, or no step could take it
        if (!array.contiguous()) refuse("has more than two dimensions and is not contiguous; copy it");
        to[rows] = 1;
        to[columns] = to[pitch] = array.count();
        return;
    }
    const auto shape = rows_of(label_, array, argument);
    to[rows] = shape.rows;
    to[columns] = shape.columns;
    to[pitch] = static_cast<std::uint64_t>(shape.pitch);
}

Handle issue_chain(Machine& machine, int target, const OptionsOrHandles* way, const PythonChain::Issue& issue) {
    chain::Image* const image = issue.image;
    try {
        if (comes_after_others(way))
            throw UsageError("a chain cannot be called after others; wait for them, or make them its first steps");
        return issue_smallest<ChainCall>(image, issue.values, [&](auto&& closure) {
            return issue_closure(machine, target, way, std::move(closure));
        });
    } catch (...) {
        image->end(0);
        throw;
    }
}

void bind_chain(nb::module_& module) {
    note_class(final_class<ChainArray>(
        module, "ChainArray",
        "What stands for an array parameter or a local block of a chain: In(x), Out(x), InOut(x)."));
    note_class(final_class<ChainScalar>(module, "ChainScalar", "What stands for a scalar parameter of a chain."));
    note_class(
        final_class<PythonChain>(
            module, "Chain",
            "Calls of compiled bodies that are issued as one task, described once and issued often:\n\n"
            "    sharpen = penstock.Chain('float32[]', 'float32[]', 'float32', name='sharpen')\n"
            "    image, result, amount = sharpen.parameters()\n"
            "    blurred = sharpen.local(n, 'float32')                    # in the local store of whichever target "
            "runs it\n"
            "    sharpen.add(blur, penstock.In(image), penstock.Out(blurred))\n"
            "    sharpen.add(mix, penstock.In(image), penstock.In(blurred), penstock.Out(result), amount)\n"
            "    machine.call(sharpen, penstock.In(a), penstock.Out(b), 0.5)\n\n"
            "Its steps run in order on one target. When one fails those behind it do not run; TaskFailed.task names\n"
            "it. Tasks run the chain as it was when they were issued.")
            .def(
                "__init__",
                [](PythonChain* self, const nb::args& parameters, const std::string& name) {
                    std::vector<std::string> types;
                    for (nb::handle parameter : parameters) types.push_back(nb::cast<std::string>(nb::str(parameter)));
                    new (self) PythonChain(types, name);
                },
                nb::arg("parameters"), nb::kw_only(), nb::arg("name") = "",
                nb::sig("def __init__(self, *parameters: str, name: str = '') -> None"),
                "`parameters`: 'float32[]' for arrays and 'float32' for scalars, by NumPy's names. `name`: for the\n"
                "messages of failures. Raises UsageError for a type that is not known.")
            .def("parameters", &PythonChain::parameters, nb::sig("def parameters(self) -> tuple[Any, ...]"),
                 "What stands for the parameters, in their order.")
            .def("local", &PythonChain::local, nb::arg("shape"), nb::arg("dtype") = "float64",
                 nb::sig("def local(self, shape: int | Sequence[int], dtype: str = 'float64') -> ChainArray"),
                 "A block of one dimension or two in the local store, undefined until a step writes it. Blocks that\n"
                 "are not needed at the same time share room. Raises UsageError for one that no local store can\n"
                 "hold.")
            .def(
                "add",
                [](nb::handle self, nb::handle body, const nb::args& arguments, nb::handle signature) {
                    nb::inst_ptr<PythonChain>(self)->add(body, arguments, signature);
                    return nb::borrow(self);
                },
                nb::arg("body").none(), nb::arg("arguments"), nb::kw_only(), or_none("signature"),
                nb::sig("def add(self, body: Any, *arguments: Any, signature: str | None = None) -> Chain"),
                "Adds a step: a compiled body with parameters and local blocks of the chain, arrays and numbers as\n"
                "arguments. Returns the chain. Raises what machine.call raises, and ArgumentError for a local block\n"
                "that is read before a step has written it.")
            .def("__len__", &PythonChain::size, "Number of steps.")
            .def_prop_ro("local_bytes", &PythonChain::local_bytes, "Bytes of local store that a run takes."));
}

}  // namespace penstock::python
