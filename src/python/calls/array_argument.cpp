#include "python/calls/array_argument.hpp"

#include <iterator>

namespace penstock::python {
namespace {

std::string shape_text(const ArrayArgument& argument) {
    std::string text;
    for (std::size_t d = 0; d < argument.dimensions(); ++d)
        text += (d == 0 ? "" : " x ") + std::to_string(argument.extent(d));
    return text.empty() ? "1" : text;
}

std::string represent(const ArrayArgument& argument) {
    return "penstock." + std::string(argument.tag()) + "(" + name_of(argument.element()) + ", " + shape_text(argument) +
           (argument.contiguous() ? ")" : ", strided)");
}

template <class Tag>
void bind_tag(nb::module_& module, const char* name, const char* doc) {
    note_class(
        final_class<Tag>(module, name, doc)
            .def(nb::init<nb::handle>(), nb::arg("array").none(), nb::sig("def __init__(self, array: Any) -> None"))
            .def_prop_ro(
                "array", [](const Tag& tag) { return tag.object(); }, nb::sig("def array(self) -> Any"),
                "The object whose memory this is.")
            .def("__repr__", [](const Tag& tag) { return represent(tag); }));
}

}  // namespace

ArrayArgument::ArrayArgument(nb::handle object, Access access) : object_(nb::borrow(object)), access_(access) {
    if (PyObject_CheckBuffer(object.ptr())) read_buffer(object);
    else if (!read_stand_in() && !read_dlpack() && !read_as_numpy())
        refuse("is a " + class_name(object) +
               ", which has no memory to share; give it a NumPy array, or anything with the buffer protocol, "
               "DLPack or __array_interface__ in the memory of the processor");
}

std::string_view ArrayArgument::tag() const noexcept {
    return access_ == Access::in ? "In" : access_ == Access::out ? "Out" : "InOut";
}

void ArrayArgument::refuse(const std::string& what) const { throw ArgumentError(std::string(tag()), 1, what); }

bool ArrayArgument::read_stand_in() {
    stand_in_ = exactly<ResidentData>(object_);
    if (stand_in_ == nullptr) stand_in_ = exactly<ChainArray>(object_);
    if (stand_in_ == nullptr) return false;
    if (access_ != Access::in && stand_in_->only_read) refuse(stand_in_->only_read);
    element_ = stand_in_->element;
    item_bytes_ = stand_in_->element.bytes;
    count_ = stand_in_->count;
    wrong_ = stand_in_->no_memory;
    return true;
}

void ArrayArgument::read_buffer(nb::handle object) {
    if (!buffer_.request(object, PyBUF_FORMAT | PyBUF_STRIDES)) {
        const nb::python_error cause;
        refuse(std::string("cannot be exported: ") + cause.what());
    }
    const Py_buffer& buffer = buffer_.get();
    auto dimensions = static_cast<std::size_t>(buffer.ndim);
    item_bytes_ = static_cast<std::size_t>(buffer.itemsize);
    element_ = element_of_format(buffer.format, item_bytes_);
    if (element_.kind == ElementKind::other && buffer.format != nullptr &&
        std::string_view(buffer.format).find('O') != std::string_view::npos)
        refuse("holds Python objects, which a compiled body cannot use; convert it to a number type");
    if (dimensions > most_dimensions) {
        if (!PyBuffer_IsContiguous(&buffer, 'C')) refuse("has more than 8 dimensions and is not contiguous; copy it");
        dimensions = 1;
        extents_[0] = static_cast<std::size_t>(buffer.len) / std::max<std::size_t>(item_bytes_, 1);
        strides_[0] = static_cast<std::ptrdiff_t>(item_bytes_);
    } else {
        // Exporters that are contiguous may leave out the strides (ctypes does).
        auto next = static_cast<std::ptrdiff_t>(item_bytes_);
        for (std::size_t d = dimensions; d-- > 0;) {
            extents_[d] = static_cast<std::size_t>(buffer.shape[d]);
            strides_[d] = buffer.strides != nullptr ? buffer.strides[d] : next;
            next *= static_cast<std::ptrdiff_t>(extents_[d]);
        }
    }
    describe(buffer.buf, dimensions, buffer.readonly != 0);
}

/// NumPy copies where the object's memory is not an array; then it does so each time, to another place.
bool ArrayArgument::read_as_numpy() {
    if (!nb::hasattr(object_, "__array_interface__") && !nb::hasattr(object_, "__array__")) return false;
    try {
        const nb::object array = numpy("asarray")(object_), again = numpy("asarray")(object_);
        const auto place = [](const nb::object& of) {
            return nb::cast<std::uintptr_t>(of.attr("ctypes").attr("data"));
        };
        if (place(array) != place(again)) return false;
        read_buffer(array);
        return true;
    } catch (const nb::python_error& cause) {
        refuse(std::string("cannot be exported: ") + cause.what());
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
    // By DLPack's numbers: signed and unsigned integers, floats, handles, bfloats, complex numbers, booleans.
    using enum ElementKind;
    constexpr ElementKind kinds[] = {integer, natural, floating, other, other, complex, boolean};
    element_ = {type.code < std::size(kinds) ? kinds[type.code] : other, bytes};
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
    if (type != class_of<InArgument> && type != class_of<OutArgument> && type != class_of<InOutArgument>)
        return nullptr;
    // The three classes add nothing to their base, so the base is where the object begins.
    return static_cast<const ArrayArgument*>(static_cast<const InArgument*>(nb::inst_ptr<void>(object)));
}

void bind_arguments(nb::module_& module) {
    bind_tag<InArgument>(
        module, "In",
        "The task reads this array.\n\n"
        "`array`: NumPy array, or anything with the buffer protocol, DLPack or __array_interface__ (and pandas'\n"
        "columns that are one array), of any element type and up to 8 dimensions; its memory is used in place. One-\n"
        "and two-dimensional arrays may be strided (the last dimension of two contiguous), others must be contiguous\n"
        "in C order. May be used for many calls: making it costs about\n"
        "as much as a call.\n"
        "Raises ArgumentError for what has no memory to share.");
    bind_tag<OutArgument>(
        module, "Out",
        "The task writes all of this array and does not read it. As In; raises ArgumentError for read-only memory "
        "too.");
    bind_tag<InOutArgument>(
        module, "InOut", "The task reads and writes this array. As In; raises ArgumentError for read-only memory too.");
}

}  // namespace penstock::python
