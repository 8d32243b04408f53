// Buffers of streams as NumPy arrays, and arrays as buffers. An array over a buffer keeps it; handed on, it travels
// without a copy.
#pragma once

#include "python/binding.hpp"
#include "python/calls/element.hpp"

namespace penstock::python {

using RawBuffer = Buffer<std::byte>;

/// What streams need of NumPy and of the package's Python part, looked up once and held for ever.
struct StreamNames {
    nb::module_ filters = nb::module_::import_("penstock.filters"), firing = nb::module_::import_("penstock._firing"),
                core = nb::module_::import_("penstock._core");
    nb::object array = numpy("ndarray"), dtype = numpy("dtype"), converted = filters.attr("_converted"),
               tags = filters.attr("Tags"), tagged = filters.attr("Tagged"), event = filters.attr("Event"),
               several = firing.attr("Several"), ended = firing.attr("ENDED"), in = core.attr("In"),
               out = core.attr("Out"), generator = imported("types", "GeneratorType"),
               state_lost = imported("penstock.errors", "StateLost");
    nb::dict dtypes{};  ///< by name
};

/// With the interpreter's lock. No function-local static: whoever waits for one to be made would keep the lock that its
/// maker needs.
const StreamNames& stream_names();

/// What an array over a buffer holds: penstock.Buffer, its `base`.
struct ArrayBuffer {
    RawBuffer buffer;
    bool writable = false;
};

/// An array over the buffer's values, with the buffer's dimensions. A writable one has values of its own from now on.
nb::object array_over(RawBuffer&& buffer, const ElementRow& element, bool writable);

/// Makes a buffer with these extents.
using MakeBuffer = std::function<RawBuffer(std::span<const std::size_t>)>;

/// The values of `value` as a buffer with elements of this type: the buffer that lies behind the array, where all of it
/// is handed on; else a copy, converted as NumPy does it for `same_kind`. `value` is let go of. Tags of a
/// penstock.Tagged are set. Raises what NumPy raises.
RawBuffer buffer_of(nb::object value, const ElementRow& element, const MakeBuffer& make);

/// Sets the tags that are not None.
void set_tags(RawBuffer& buffer, nb::handle sequence, nb::handle time, nb::handle user);

void bind_stream_array(nb::module_& module);

}  // namespace penstock::python
