#include "python/streams/stream_array.hpp"

#include <nanobind/stl/array.h>

#include "penstock/described_filter.hpp"
#include "stream/buffers/pool.hpp"

namespace penstock::python {
namespace {

const StreamNames* known = nullptr;  // under the interpreter's lock

int export_memory(PyObject* self, Py_buffer* view, int flags) noexcept {
    const ArrayBuffer& held = *nb::inst_ptr<ArrayBuffer>(self);
    if (!held.buffer) {
        PyErr_SetString(PyExc_BufferError, "this buffer was handed on to a stream");
        return -1;
    }
    const auto values = held.buffer.span();
    return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(values.data()), static_cast<Py_ssize_t>(values.size()),
                             held.writable ? 0 : 1, flags);
}

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&export_memory)}, {0, nullptr}};

/// False where the object has no memory that is contiguous and of this type, with one to three dimensions.
bool take(ExportedBuffer& view, nb::handle value, const ElementRow& element) {
    if (!view.request(value, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear();
        return false;
    }
    const Py_buffer& memory = view.get();
    return memory.ndim >= 1 && memory.ndim <= static_cast<int>(streaming::Block::max_rank) &&
           element_of_format(memory.format, static_cast<std::size_t>(memory.itemsize)) == element.element;
}

/// The buffer of a stream that an array lies over, or null. `alone`: nobody but the array holds it, and nobody but the
/// caller the array.
ArrayBuffer* buffer_behind(nb::handle array, bool& alone) {
    const nb::handle array_type = stream_names().array;
    alone = true;
    nb::object at = nb::borrow(array);
    Py_ssize_t held_here = 2;  // by the caller and by `at`
    for (int depth = 0; depth < 8 && nb::isinstance(at, array_type); ++depth) {
        alone = alone && Py_REFCNT(at.ptr()) == held_here;
        nb::object base = at.attr("base");
        if (auto* const buffer = exactly<ArrayBuffer>(base)) {
            alone = alone && Py_REFCNT(base.ptr()) == 2;
            return buffer;
        }
        at = std::move(base);
        held_here = 2;  // by the array over it and by `at`
    }
    return nullptr;
}

void set_extents(RawBuffer& buffer, std::span<const std::size_t> extents) {
    auto* const block = buffer.release();
    penstock::set_extents(*block, extents);
    buffer = RawBuffer(block);
}

RawBuffer shared(RawBuffer& buffer) {
    auto* const block = buffer.release();
    buffer = RawBuffer(block);
    return RawBuffer(streaming::share(block));
}

std::array<std::uint64_t, 2> user_of(nb::handle value) {
    std::array<std::uint64_t, 2> user{};
    if (!nb::try_cast(value, user)) throw UsageError("the tag `user` is two whole numbers that are not negative");
    return user;
}

std::uint64_t number_of(const char* tag, nb::handle value) {
    std::uint64_t number = 0;
    if (!nb::try_cast(value, number))
        throw UsageError(std::string("the tag `") + tag + "` is a whole number that is not negative");
    return number;
}

ArrayBuffer& whole(ArrayBuffer& held) {
    if (!held.buffer) throw UsageError("this buffer was handed on to a stream");
    return held;
}

}  // namespace

const StreamNames& stream_names() {
    if (known != nullptr) [[likely]]
        return *known;
    auto* const made = new StreamNames;
    if (known == nullptr) known = made;  // imports let other threads run
    else delete made;
    return *known;
}

nb::object array_over(RawBuffer&& buffer, const ElementRow& element, bool writable) {
    const StreamNames& names = stream_names();
    nb::object type = nb::borrow(PyDict_GetItemString(names.dtypes.ptr(), element.name));
    if (!type.is_valid()) {
        type = names.dtype(element.name);
        if (PyDict_SetItemString(names.dtypes.ptr(), element.name, type.ptr()) != 0) throw nb::python_error();
    }
    if (writable) static_cast<void>(buffer.edit());
    std::array<std::size_t, streaming::Block::max_rank> extents{};
    const auto rank = buffer.rank();
    for (std::size_t d = 0; d < rank; ++d) extents[d] = buffer.extent(d);
    const nb::object held = nb::cast(ArrayBuffer{std::move(buffer), writable});
    nb::object shape = rank == 1   ? nb::make_tuple(extents[0])
                       : rank == 2 ? nb::make_tuple(extents[0], extents[1])
                                   : nb::make_tuple(extents[0], extents[1], extents[2]);
    return names.array(shape, type, held);
}

RawBuffer buffer_of(nb::object value, const ElementRow& element, const MakeBuffer& make) {
    nb::object tagged;
    if (PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(stream_names().tagged.ptr()))) {
        tagged = std::move(value);
        value = tagged.attr("values");
        // Nobody else can ask for them any more, so they are let go, although the program may not set them.
        if (Py_REFCNT(tagged.ptr()) == 1 &&
            PyObject_GenericSetAttr(tagged.ptr(), nb::str("values").ptr(), nb::none().ptr()) != 0)
            PyErr_Clear();  // a subclass has them elsewhere
    }
    RawBuffer made;
    ExportedBuffer view;
    if (!take(view, value, element)) {
        value = stream_names().converted(value, element.name);
        if (!take(view, value, element))
            throw UsageError("what was returned cannot be made an array of " + std::string(element.name));
    }
    const std::vector<std::size_t> extents(view.get().shape, view.get().shape + view.get().ndim);
    const void* const values = view.get().buf;
    const auto bytes = static_cast<std::size_t>(view.get().len);
    bool alone = false;
    ArrayBuffer* const held = buffer_behind(value, alone);
    if (held != nullptr && held->buffer && held->buffer.span().data() == values && held->buffer.size() == bytes) {
        view.release();
        if (alone) {
            made = std::move(held->buffer);
        } else {  // somebody may look at it still, so it is not written any more
            if (held->writable) value.attr("flags").attr("writeable") = false;
            made = shared(held->buffer);
        }
        set_extents(made, extents);
    } else {
        made = make(extents);
        if (bytes != 0) std::memcpy(made.edit().data(), values, bytes);
    }
    if (tagged.is_valid())
        set_tags(made, nb::object(tagged.attr("sequence")), nb::object(tagged.attr("time")),
                 nb::object(tagged.attr("user")));
    return made;
}

void set_tags(RawBuffer& buffer, nb::handle sequence, nb::handle time, nb::handle user) {
    if (!sequence.is_none()) buffer.edit_tags().sequence = number_of("sequence", sequence);
    if (!time.is_none()) buffer.edit_tags().time = number_of("time", time);
    if (!user.is_none()) buffer.edit_tags().user = user_of(user);
}

void bind_stream_array(nb::module_& module) {
    note_class(
        final_class<ArrayBuffer>(module, "Buffer", nb::type_slots(buffer_slots),
                                 "The buffer of a stream behind an array: array.base. It holds the memory, and the "
                                 "tags that travel with it.")
            .def_prop_rw(
                "sequence", [](ArrayBuffer& held) { return whole(held).buffer.tags().sequence; },
                [](ArrayBuffer& held, std::uint64_t value) { whole(held).buffer.edit_tags().sequence = value; },
                "Number in the stream of the source: 0, 1, 2... unless the source sets it.")
            .def_prop_rw(
                "time", [](ArrayBuffer& held) { return whole(held).buffer.tags().time; },
                [](ArrayBuffer& held, std::uint64_t value) { whole(held).buffer.edit_tags().time = value; },
                "Time stamp, in whatever unit the source uses.")
            .def_prop_rw(
                "user",
                [](ArrayBuffer& held) {
                    return nb::make_tuple(whole(held).buffer.tags().user[0], held.buffer.tags().user[1]);
                },
                [](ArrayBuffer& held, nb::handle value) { whole(held).buffer.edit_tags().user = user_of(value); },
                nb::for_getter(nb::sig("def user(self) -> tuple[int, int]")),
                nb::for_setter(nb::sig("def user(self, value: tuple[int, int], /) -> None")),
                "Two numbers of the program's own."));
}

}  // namespace penstock::python
