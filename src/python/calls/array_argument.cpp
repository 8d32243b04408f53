#include "python/calls/array_argument.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "penstock/error.hpp"
#include "python/calls/chain.hpp"
#include "python/calls/resident_call.hpp"

namespace penstock::python {
namespace {

// The three classes, borrowed from the module, which lives as long as they are used.
PyTypeObject* in_type = nullptr;
PyTypeObject* out_type = nullptr;
PyTypeObject* inout_type = nullptr;

std::string shape_text(const ArrayArgument& argument) {
    std::string text;
    for (std::size_t d = 0; d < argument.dimensions(); ++d)
        text += (d == 0 ? "" : " x ") + std::to_string(argument.extent(d));
    return text.empty() ? "1" : text;
}

std::string represent(const ArrayArgument& argument) {
    return "penstock." + std::string(argument.tag()) + "(" + std::string(name_of(argument.element())) + ", " +
           shape_text(argument) + (argument.contiguous() ? ")" : ", strided)");
}

}  // namespace

const StandIn* stand_in_of(nb::handle object) noexcept {
    if (const StandIn* const found = resident_of(object)) return found;
    return chain_array_of(object);
}

ArrayArgument::ArrayArgument(nb::handle object, Access access) : object_(nb::borrow(object)), access_(access) {
    if (PyObject_CheckBuffer(object.ptr())) {
        read_buffer();
    } else if (const StandIn* const stand_in = stand_in_of(object)) {
        if (access != Access::in && stand_in->only_read) refuse(stand_in->only_read);
        stand_in_ = stand_in;
        element_ = stand_in->element;
        item_bytes_ = stand_in->element.bytes;
        count_ = stand_in->count;
        wrong_ = stand_in->no_memory;
    } else if (!read_dlpack()) {
        refuse("is a " + nb::cast<std::string>(nb::type_name(object.type())) +
               ", which has no memory to share; give it a NumPy array, or anything with the buffer protocol or "
               "DLPack in the memory of the processor");
    }
}

ArrayArgument::~ArrayArgument() {
    if (has_buffer_) PyBuffer_Release(&buffer_);
}

std::string_view ArrayArgument::tag() const noexcept {
    return access_ == Access::in ? "In" : access_ == Access::out ? "Out" : "InOut";
}

void ArrayArgument::refuse(const std::string& what) const { throw ArgumentError(std::string(tag()), 1, what); }

void ArrayArgument::read_buffer() {
    if (PyObject_GetBuffer(object_.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
        const nb::python_error cause;
        refuse(std::string("cannot be exported: ") + cause.what());
    }
    has_buffer_ = true;
    // A constructor that throws runs no destructor, so the export is given back by hand.
    try {
        const auto dimensions = static_cast<std::size_t>(buffer_.ndim);
        element_ = element_of_format(buffer_.format, static_cast<std::size_t>(buffer_.itemsize));
        item_bytes_ = static_cast<std::size_t>(buffer_.itemsize);
        if (element_.kind == ElementKind::other && buffer_.format != nullptr &&
            std::string_view(buffer_.format).find('O') != std::string_view::npos)
            refuse("holds Python objects, which a compiled body cannot use; convert it to a number type");
        if (dimensions > most_dimensions) {
            if (!PyBuffer_IsContiguous(&buffer_, 'C'))
                refuse("has more than 8 dimensions and is not contiguous; copy it");
            extents_[0] = static_cast<std::size_t>(buffer_.len) / std::max<std::size_t>(item_bytes_, 1);
            strides_[0] = static_cast<std::ptrdiff_t>(item_bytes_);
            describe(buffer_.buf, 1, buffer_.readonly != 0);
        } else {
            // Exporters that are contiguous may leave out the strides (ctypes does).
            auto next = static_cast<std::ptrdiff_t>(item_bytes_);
            for (std::size_t d = dimensions; d-- > 0;) {
                extents_[d] = static_cast<std::size_t>(buffer_.shape[d]);
                strides_[d] = buffer_.strides != nullptr ? buffer_.strides[d] : next;
                next *= static_cast<std::ptrdiff_t>(extents_[d]);
            }
            describe(buffer_.buf, dimensions, buffer_.readonly != 0);
        }
    } catch (...) {
        PyBuffer_Release(&buffer_);
        throw;
    }
}

bool ArrayArgument::read_dlpack() {
    if (!nb::hasattr(object_, "__dlpack__")) return false;
    nb::ndarray<nb::ro> exported;
    if (!nb::try_cast(object_, exported) || exported.device_type() != nb::device::cpu::value) return false;
    bool read_only = false;
    if (access_ != Access::in) {
        nb::ndarray<> writable;
        read_only = !nb::try_cast(object_, writable);
    }
    const auto type = exported.dtype();
    const auto bytes = static_cast<std::uint16_t>((type.bits * type.lanes + 7) / 8);
    item_bytes_ = bytes;
    using Code = nb::dlpack::dtype_code;
    switch (static_cast<Code>(type.code)) {
        case Code::Int:
            element_ = {ElementKind::integer, bytes};
            break;
        case Code::UInt:
            element_ = {ElementKind::natural, bytes};
            break;
        case Code::Float:
            element_ = {ElementKind::floating, bytes};
            break;
        case Code::Complex:
            element_ = {ElementKind::complex, bytes};
            break;
        case Code::Bool:
            element_ = {ElementKind::boolean, bytes};
            break;
        default:
            element_ = {ElementKind::other, bytes};
    }
    if (exported.ndim() > most_dimensions) refuse("has more than 8 dimensions; reshape it");
    for (std::size_t d = 0; d < exported.ndim(); ++d) {
        extents_[d] = exported.shape(d);
        strides_[d] = exported.stride(d) * static_cast<std::ptrdiff_t>(item_bytes_);
    }
    describe(exported.data(), exported.ndim(), read_only);
    dlpack_ = std::move(exported);
    return true;
}

void ArrayArgument::describe(const void* data, std::size_t dimensions, bool read_only) {
    if (read_only && access_ != Access::in)
        refuse("is read-only memory, which a task cannot write; give it a writable copy, or say In");
    base_ = reinterpret_cast<std::uintptr_t>(data);
    dimensions_ = dimensions;
    auto expected = static_cast<std::ptrdiff_t>(item_bytes_);
    for (std::size_t d = dimensions; d-- > 0;) {
        if (extents_[d] > 1 && strides_[d] != expected) contiguous_ = false;
        expected *= static_cast<std::ptrdiff_t>(extents_[d]);
        count_ *= extents_[d];
    }
    if (count_ == 0) contiguous_ = true;
    else check_memory();
}

void ArrayArgument::check_memory() {
    // Complex numbers and structures need no more alignment than a word.
    const std::size_t alignment = element_.kind == ElementKind::other     ? 1
                                  : element_.kind == ElementKind::complex ? item_bytes_ / 2
                                                                          : item_bytes_;
    if (base_ == 0) {
        wrong_ = "is null but has a size above zero; give it memory, or a size of zero";
    } else if (base_ % alignment != 0) {
        wrong_ = "is not aligned for its element type; copy it, or allocate it with the type's own alignment";
    } else if (contiguous_) {
        bounds_ = {base_, base_ + count_ * item_bytes_};
    } else {
        // Strides may be no multiple of the element (fields of structures): bytes are the unit.
        std::uintptr_t low = base_, high = base_ + item_bytes_;
        for (std::size_t d = 0; d < dimensions_; ++d) {
            const auto reach = static_cast<std::ptrdiff_t>(extents_[d] - 1) * strides_[d];
            if (reach < 0) low -= static_cast<std::uintptr_t>(-reach);
            else high += static_cast<std::uintptr_t>(reach);
            if (strides_[d] % static_cast<std::ptrdiff_t>(alignment) != 0)
                wrong_ = "has strides that misalign its elements; copy it";
        }
        bounds_ = {low, high};
    }
    if (wrong_ == nullptr && access_ != Access::in && !contiguous_ && overlaps_itself(footprint()))
        wrong_ = "is written and reaches some bytes by more than one index; copy it, or say In";
}

Footprint ArrayArgument::footprint() const {
    Footprint footprint;
    footprint.base = base_;
    footprint.element = item_bytes_;
    if (contiguous_) {
        footprint.rank = 1;
        footprint.extents[0] = count_;
        footprint.strides[0] = static_cast<std::ptrdiff_t>(item_bytes_);
    } else {
        footprint.rank = dimensions_;
        std::copy_n(extents_.begin(), dimensions_, footprint.extents.begin());
        std::copy_n(strides_.begin(), dimensions_, footprint.strides.begin());
    }
    return footprint;
}

ArgumentBlock ArrayArgument::block() const {
    const auto* const base = reinterpret_cast<const std::byte*>(base_);
    if (count_ == 0) return {base, 0, 0, 0, access_};
    if (contiguous_) return {base, 1, count_ * item_bytes_, 0, access_};
    if (dimensions_ == 1) return {base, extents_[0], item_bytes_, strides_[0], access_};
    return {base, extents_[0], extents_[1] * item_bytes_, strides_[0], access_};
}

const ArrayArgument* array_argument(nb::handle object) noexcept {
    PyTypeObject* const type = Py_TYPE(object.ptr());
    if (type != in_type && type != out_type && type != inout_type) return nullptr;
    // The three classes add nothing to their base, so the base is where the object begins.
    return static_cast<const ArrayArgument*>(static_cast<const InArgument*>(nb::inst_ptr<void>(object)));
}

namespace {

template <class Tag>
PyTypeObject* bind_tag(nb::module_& module, const char* name, const char* doc, const char* signature) {
    const auto type = nb::class_<Tag>(module, name, nb::is_final(), doc)
                          .def(nb::init<nb::handle>(), nb::arg("array").none(), nb::sig(signature))
                          .def_prop_ro(
                              "array", [](const Tag& tag) { return tag.object(); }, nb::sig("def array(self) -> Any"),
                              "The object whose memory this is.")
                          .def("__repr__", [](const Tag& tag) { return represent(tag); });
    return reinterpret_cast<PyTypeObject*>(type.ptr());
}

}  // namespace

void bind_arguments(nb::module_& module) {
    in_type = bind_tag<InArgument>(
        module, "In",
        "The task reads this array.\n\n"
        "`array`: NumPy array, or anything with the buffer protocol or DLPack, of any element type and up to 8\n"
        "dimensions; its memory is used in place. One- and two-dimensional arrays may be strided (the last dimension\n"
        "of two contiguous), others must be contiguous in C order. May be used for many calls: making it costs about\n"
        "as much as a call.\n"
        "Raises ArgumentError for what has no memory to share.",
        "def __init__(self, array: Any) -> None");
    out_type = bind_tag<OutArgument>(
        module, "Out",
        "The task writes all of this array and does not read it. As In; raises ArgumentError for read-only memory too.",
        "def __init__(self, array: Any) -> None");
    inout_type = bind_tag<InOutArgument>(
        module, "InOut", "The task reads and writes this array. As In; raises ArgumentError for read-only memory too.",
        "def __init__(self, array: Any) -> None");
}

}  // namespace penstock::python
