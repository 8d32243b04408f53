#include "python/words.hpp"

#include <cmath>

namespace penstock::python {
namespace {

ArgumentKind kind_of(const ArrayArgument* array) noexcept {
    return array == nullptr ? ArgumentKind::scalar : static_cast<ArgumentKind>(array->access());
}

}  // namespace

Words::Words(const Body& body, const nb::args& arguments, Takes takes) : takes_(takes) {
    // Kept between calls so that a call allocates nothing; nothing between here and the last use runs Python code that
    // calls.
    thread_local std::vector<const ArrayArgument*> arrays;
    thread_local std::vector<ArgumentKind> kinds;
    arrays.clear();
    kinds.clear();
    for (nb::handle argument : arguments) {
        arrays.push_back(array_argument(argument));
        kinds.push_back(kind_of(arrays.back()));
    }
    plan_ = &body.procedure().plan(kinds);
    const std::size_t total = plan_->counts().total() + 1;
    if (total > inline_words) {
        long_.resize(total);
        words_ = long_.data();
    }
    words_[0] = body.address();
    bool writes = false;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const Slot& slot = plan_->slots()[i];
        if (arrays[i] == nullptr) continue;
        place_array(slot, *arrays[i], static_cast<int>(i) + 1);
        writes = writes || slot.access != Access::in;
    }
    if (writes) check_overlap(plan_->name(), arrays);
    // Last, because converting a number may run Python code.
    for (std::size_t i = 0; i < plan_->slots().size(); ++i)
        if (!plan_->slots()[i].is_array()) place_scalar(plan_->slots()[i], arguments[i], static_cast<int>(i) + 1);
}

void Words::refuse(int number, const std::string& what) const { throw ArgumentError(plan_->name(), number, what); }

void Words::place_array(const Slot& slot, const ArrayArgument& array, int number) {
    if (slot.element.kind != ElementKind::other && array.element() != slot.element) [[unlikely]]
        refuse(number, "has elements of type " + name_of(array.element()) + ", but the body takes " +
                           name_of(slot.element) + "; convert the array with astype()");
    if (array.wrong() != nullptr) [[unlikely]]
        return place_stand_in(slot, array, number);
    words_[slot.words[0]] = array.base();
    if (slot.form == Slot::Form::contiguous) {
        if (!array.contiguous()) [[unlikely]]
            refuse(number,
                   "is not contiguous, but the body takes T*, intptr_t n; copy it, or write the body for a strided "
                   "argument: T*, intptr_t rows, intptr_t columns, intptr_t pitch");
        words_[slot.words[1]] = array.count();
        return;
    }
    const auto [rows, columns, pitch] = rows_of(plan_->name(), array, number);
    words_[slot.words[1]] = rows;
    words_[slot.words[2]] = columns;
    words_[slot.words[3]] = static_cast<std::uint64_t>(pitch);
}

/// Also for memory that no task may have, which is refused.
void Words::place_stand_in(const Slot& slot, const ArrayArgument& array, int number) {
    const StandIn* const stand_in = array.stand_in();
    if (stand_in == nullptr || stand_in->taken_by != takes_) refuse(number, array.wrong());
    words_[slot.words[0]] = 0;
    if (slot.form == Slot::Form::contiguous) {
        words_[slot.words[1]] = stand_in->count;
    } else {
        words_[slot.words[1]] = stand_in->rows;
        words_[slot.words[2]] = words_[slot.words[3]] = stand_in->columns;
    }
    later_.push_back({&slot, stand_in, slot.access, number});
}

RowsOf rows_of(const std::string& task, const ArrayArgument& array, int number) {
    const auto refuse = [&](const std::string& what) { throw ArgumentError(task, number, what); };
    const auto item = static_cast<std::ptrdiff_t>(array.item_bytes());
    std::size_t rows = 1, columns = array.count();
    std::ptrdiff_t pitch = static_cast<std::ptrdiff_t>(columns) * item;
    if (array.dimensions() == 2) {
        rows = array.extent(0);
        columns = array.extent(1);
        pitch = array.stride(0);
        if (columns > 1 && array.stride(1) != item) [[unlikely]]
            refuse("has a last dimension that is not contiguous; copy it, or transpose what you pass");
    } else if (array.dimensions() == 1 && !array.contiguous()) {
        rows = columns;
        columns = 1;
        pitch = array.stride(0);
    } else if (array.dimensions() > 2) {
        refuse("has " + std::to_string(array.dimensions()) +
               " dimensions, but the body takes rows, columns and pitch; pass one plane");
    }
    if (pitch % item != 0) [[unlikely]]
        refuse("has rows whose distance is no whole number of elements; copy it");
    return {rows, columns, pitch / item};
}

void Words::place_scalar(const Slot& slot, nb::handle value, int number) {
    if (takes_ == Takes::chains) [[unlikely]] {
        if (const StandIn* const stand_in = exactly<ChainScalar>(value)) {
            if (stand_in->element != slot.element)
                refuse(number, "stands for a " + name_of(stand_in->element) + ", but the body takes a " +
                                   name_of(slot.element) + "; a scalar parameter has exactly the type of the step's");
            words_[slot.words[0]] = 0;
            later_.push_back({&slot, stand_in, Access::in, number});
            return;
        }
    }
    words_[slot.words[0]] = scalar_word(plan_->name(), slot.element, value, number);
}

std::uint64_t scalar_word(const std::string& task, Element element, nb::handle value, int number) {
    // What Python raised is told in our words.
    const auto refuse = [&](const std::string& what) {
        PyErr_Clear();
        throw ArgumentError(task, number, what);
    };
    const auto wanted = [&] { return name_of(element); };
    if (element.kind == ElementKind::floating) {
        const double given = PyFloat_AsDouble(value.ptr());
        if (given == -1 && PyErr_Occurred()) refuse("is a " + class_name(value) + ", but the body takes a " + wanted());
        const bool wide = element.bytes == sizeof(double);
        if (PyLong_Check(value.ptr()) && std::abs(given) >= (wide ? 0x1p53 : 0x1p24)) {
            const auto kept = nb::steal(PyLong_FromDouble(wide ? given : static_cast<float>(given)));
            if (!kept.is_valid() || PyObject_RichCompareBool(kept.ptr(), value.ptr(), Py_EQ) != 1)
                refuse("is an integer that a " + wanted() + " cannot hold exactly; say float(x)");
        }
        if (wide) return std::bit_cast<std::uint64_t>(given);
        if (std::isfinite(given) && std::abs(given) > std::numeric_limits<float>::max())
            refuse("is too large for a float32");
        return std::bit_cast<std::uint32_t>(static_cast<float>(given));
    }
    const auto index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) {
        PyErr_Clear();
        if (element.kind == ElementKind::boolean && nb::hasattr(value, "dtype") &&
            class_name(value).starts_with("bool"))
            return PyObject_IsTrue(value.ptr()) == 1;
        refuse("is a " + class_name(value) + ", but the body takes a " + wanted() +
               (PyFloat_Check(value.ptr())          ? "; round it yourself"
                : PyObject_CheckBuffer(value.ptr()) ? "; say In(x), Out(x) or InOut(x) for arrays"
                                                    : ""));
    }
    const auto require = [&](bool fits) {
        if (!fits || PyErr_Occurred()) refuse("does not fit a " + wanted());
    };
    const int bits = element.bytes * 8;
    if (element.kind == ElementKind::natural) {
        const std::uint64_t given = PyLong_AsUnsignedLongLong(index.ptr());
        require(bits == 64 || given >> bits == 0);
        return given;
    }
    const std::int64_t given = PyLong_AsLongLong(index.ptr());
    require(element.kind == ElementKind::boolean ? given == 0 || given == 1
                                                 : bits == 64 || given >> (bits - 1) == 0 || given >> (bits - 1) == -1);
    return static_cast<std::uint64_t>(given);
}

void check_overlap(const std::string& name, const std::vector<const ArrayArgument*>& arrays) {
    for (std::size_t i = 1; i < arrays.size(); ++i) {
        if (arrays[i] == nullptr) continue;
        for (std::size_t j = 0; j < i; ++j) {
            if (arrays[j] == nullptr || !arrays[i]->bounds().meets(arrays[j]->bounds())) continue;
            if (arrays[i]->access() == Access::in && arrays[j]->access() == Access::in) continue;
            if (overlap(arrays[i]->footprint(), arrays[j]->footprint()))
                throw ArgumentError(name, static_cast<int>(i) + 1,
                                    "overlaps argument " + std::to_string(j + 1) + ", and one of the two is written");
        }
    }
}

}  // namespace penstock::python
