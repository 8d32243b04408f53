#include "python/streams/stream_names.hpp"

namespace penstock::python {
namespace {

const StreamNames* known = nullptr;  // under the interpreter's lock

}  // namespace

const StreamNames& stream_names() {
    if (known != nullptr) [[likely]]
        return *known;
    const auto numpy = nb::module_::import_("numpy"), filters = nb::module_::import_("penstock.filters"),
               firing = nb::module_::import_("penstock._firing"), core = nb::module_::import_("penstock._core");
    auto* const made = new StreamNames{numpy.attr("ndarray"),
                                       numpy.attr("dtype"),
                                       filters.attr("_converted"),
                                       filters.attr("Tags"),
                                       filters.attr("Event"),
                                       nb::module_::import_("types").attr("GeneratorType"),
                                       firing.attr("Several"),
                                       filters.attr("_tagged"),
                                       core.attr("In"),
                                       core.attr("Out"),
                                       firing.attr("ENDED"),
                                       nb::module_::import_("penstock.errors").attr("StateLost"),
                                       nb::dict()};
    if (known == nullptr) known = made;  // imports let other threads run
    else delete made;
    return *known;
}

}  // namespace penstock::python
