#include "python/workers/value_codec.hpp"

#include "task/isolated/strided_copy.hpp"

namespace penstock::python {
namespace {

template <bool in>
void copy(const ArrayArgument& array, std::byte* contiguous) noexcept {
    const auto from = array.footprint();
    if (array.count() != 0)
        isolated::copy_strided<in>(reinterpret_cast<std::byte*>(from.base), from.element,
                                   {from.extents.data(), from.rank}, {from.strides.data(), from.rank}, contiguous);
}

}  // namespace

void ByteWriter::grow(std::size_t count) {
    const std::size_t wanted = std::max(2 * capacity_, size_ + count);
    long_.resize(wanted);
    if (data_ == inline_) std::memcpy(long_.data(), inline_, size_);
    data_ = long_.data();
    capacity_ = long_.size();
}

void ByteReader::short_of_bytes() {
    throw Error("what a task or its result consists of ends early: something overwrote it");
}

void gather(const ArrayArgument& array, std::byte* contiguous) noexcept { copy<true>(array, contiguous); }
void scatter(const std::byte* contiguous, const ArrayArgument& array) noexcept {
    copy<false>(array, const_cast<std::byte*>(contiguous));  // only read, by this instance
}

nb::bytes pickled(nb::handle value, nb::handle buffers) {
    static const nb::handle dumps = imported("penstock.interpreters", "dumps").release();
    return nb::cast<nb::bytes>(dumps(value, buffers));
}

namespace {

nb::object unpickled_with(const void* bytes, std::size_t size, nb::handle buffers) {
    static const nb::handle loads = imported("pickle", "loads").release();
    const auto view = nb::steal(PyMemoryView_FromMemory(const_cast<char*>(static_cast<const char*>(bytes)),
                                                        static_cast<Py_ssize_t>(size), PyBUF_READ));
    return buffers.is_valid() ? loads(view, nb::arg("buffers") = buffers) : loads(view);
}

void write_buffer(ByteWriter& writer, nb::handle pickle_buffer, const PutBuffer& put) {
    nb::object bytes = pickle_buffer.attr("raw")();  // of one dimension
    Py_buffer view;
    if (PyObject_GetBuffer(bytes.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const AtEnd end{[&] { PyBuffer_Release(&view); }};  // the memory lives on in `bytes`
    const auto* const data = static_cast<const std::byte*>(view.buf);
    const auto size = static_cast<std::size_t>(view.len);
    if (size > most_here) return put(writer, data, size, std::move(bytes));
    writer.put(BufferWay::here);
    writer.put(static_cast<std::uint64_t>(size));
    writer.put_bytes(data, size);
}

nb::object read_buffer(ByteReader& reader, const ArraySources& sources,
                       std::vector<std::pair<std::size_t, std::size_t>>& in_tail, std::size_t number) {
    const auto way = reader.get<BufferWay>();
    const auto size = reader.get<std::uint64_t>();
    if (way == BufferWay::here)
        return nb::steal(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(reader.bytes(size)),
                                                       static_cast<Py_ssize_t>(size)));
    if (way == BufferWay::tail) {
        in_tail.emplace_back(number, size);
        return nb::none();
    }
    if (!sources.buffer) throw Error("a result lies where none can: something overwrote it");
    return sources.buffer(reader.get<HeapPlace>(), size, way == BufferWay::place);
}

nb::object read_pickled(ByteReader& reader, const ArraySources& sources) {
    const auto text = reader.text();
    nb::list buffers;
    std::vector<std::pair<std::size_t, std::size_t>> in_tail;  // which of them, and its size
    const auto count = reader.get<std::uint32_t>();
    for (std::uint32_t b = 0; b < count; ++b) buffers.append(read_buffer(reader, sources, in_tail, b));
    for (auto last = in_tail.rbegin(); last != in_tail.rend(); ++last) {
        const auto* const bytes = reinterpret_cast<const char*>(reader.tail(tail_bytes(last->second)));
        buffers[last->first] = nb::steal(PyByteArray_FromStringAndSize(bytes, static_cast<Py_ssize_t>(last->second)));
    }
    return unpickled_with(text.data(), text.size(), buffers);
}

}  // namespace

nb::object unpickled(const void* bytes, std::size_t size) { return unpickled_with(bytes, size, {}); }

void write_value(ByteWriter& writer, nb::handle value, const PutBuffer& put) {
    PyObject* const object = value.ptr();
    if (object == Py_None) return writer.put('N');
    if (object == Py_True) return writer.put('T');
    if (object == Py_False) return writer.put('F');
    if (PyLong_CheckExact(object)) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) {
            writer.put('i');
            return writer.put(static_cast<std::int64_t>(number));
        }
    } else if (PyFloat_CheckExact(object)) {
        writer.put('f');
        return writer.put(PyFloat_AsDouble(object));
    } else if (PyUnicode_CheckExact(object)) {
        Py_ssize_t size = 0;
        if (const char* text = PyUnicode_AsUTF8AndSize(object, &size)) {
            writer.put('u');
            return writer.put_text({text, static_cast<std::size_t>(size)});
        }
        PyErr_Clear();  // a lone surrogate: pickle has a way
    } else if (PyBytes_CheckExact(object)) {
        char* bytes = nullptr;
        Py_ssize_t size = 0;
        PyBytes_AsStringAndSize(object, &bytes, &size);
        writer.put('b');
        return writer.put_text({bytes, static_cast<std::size_t>(size)});
    }
    const nb::list buffers;
    const nb::bytes bytes = put ? pickled(value, buffers) : pickled(value);
    writer.put(buffers.size() == 0 ? 'p' : 'P');
    writer.put_text({bytes.c_str(), bytes.size()});
    if (buffers.size() == 0) return;
    writer.put(static_cast<std::uint32_t>(buffers.size()));
    for (const nb::handle buffer : buffers) write_buffer(writer, buffer, put);
}

void write_array(ByteWriter& writer, const ArrayArgument& array, HeapPlace place, bool contiguous) {
    nb::bytes type;
    if (array.element().kind == ElementKind::other) type = pickled(numpy("asarray")(array.object()).attr("dtype"));
    const std::size_t dimensions = array.dimensions();
    writer.put('A');
    writer.put(static_cast<std::uint64_t>(sizeof(HeapPlace) + 3 + sizeof(std::uint64_t) + 3 + sizeof(std::uint64_t) +
                                          (type.is_valid() ? type.size() : 0) +
                                          dimensions * sizeof(std::uint64_t) * (contiguous ? 1 : 2)));
    writer.put(place);
    writer.put(static_cast<std::uint8_t>(array.element().kind));
    writer.put(array.element().bytes);
    writer.put(static_cast<std::uint64_t>(array.item_bytes()));
    writer.put(static_cast<std::uint8_t>(array.access() != Access::in));
    writer.put(static_cast<std::uint8_t>(contiguous));
    writer.put(static_cast<std::uint8_t>(dimensions));
    writer.put_text(type.is_valid() ? std::string_view(type.c_str(), type.size()) : std::string_view());
    for (std::size_t d = 0; d < dimensions; ++d) writer.put(static_cast<std::uint64_t>(array.extent(d)));
    if (!contiguous)
        for (std::size_t d = 0; d < dimensions; ++d) writer.put(static_cast<std::int64_t>(array.stride(d)));
}

ArrayDescription::ArrayDescription(std::string_view description) {
    ByteReader reader(reinterpret_cast<const std::byte*>(description.data()), description.size());
    place = reader.get<HeapPlace>();
    element.kind = static_cast<ElementKind>(reader.get<std::uint8_t>());
    element.bytes = reader.get<std::uint16_t>();
    item_bytes = reader.get<std::uint64_t>();
    writable = reader.get<std::uint8_t>() != 0;
    const bool contiguous = reader.get<std::uint8_t>() != 0;
    const std::size_t dimensions = reader.get<std::uint8_t>();
    pickled_type = reader.text();
    for (std::size_t d = 0; d < dimensions; ++d) extents.push_back(reader.get<std::uint64_t>());
    auto next = static_cast<std::ptrdiff_t>(item_bytes);
    strides.resize(dimensions);
    for (std::size_t d = 0; d < dimensions && !contiguous; ++d) strides[d] = reader.get<std::int64_t>();
    for (std::size_t d = dimensions; d-- > 0 && contiguous;) {
        strides[d] = next;
        next *= static_cast<std::ptrdiff_t>(extents[d]);
    }
}

std::pair<std::ptrdiff_t, std::ptrdiff_t> ArrayDescription::reach() const noexcept {
    std::ptrdiff_t low = 0, high = static_cast<std::ptrdiff_t>(item_bytes);
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] == 0) return {0, 0};
        const auto far = static_cast<std::ptrdiff_t>(extents[d] - 1) * strides[d];
        (far < 0 ? low : high) += far;
    }
    return {low, high};
}

nb::object read_value(ByteReader& reader, const ArraySources& sources) {
    const char letter = reader.get<char>();
    if (letter == 'N') return nb::none();
    if (letter == 'T' || letter == 'F') return nb::bool_(letter == 'T');
    if (letter == 'i') return nb::steal(PyLong_FromLongLong(reader.get<std::int64_t>()));
    if (letter == 'f') return nb::steal(PyFloat_FromDouble(reader.get<double>()));
    if (letter == 'P') return read_pickled(reader, sources);
    if (letter != 'u' && letter != 'b' && letter != 'p' && (letter != 'A' || !sources.view))
        throw Error("a task or its result holds a value of an unknown kind: something overwrote it");
    const auto text = reader.text();
    const auto size = static_cast<Py_ssize_t>(text.size());
    if (letter == 'u') return nb::steal(PyUnicode_FromStringAndSize(text.data(), size));
    if (letter == 'b') return nb::steal(PyBytes_FromStringAndSize(text.data(), size));
    return letter == 'p' ? unpickled(text.data(), text.size()) : sources.view(text);
}

}  // namespace penstock::python
