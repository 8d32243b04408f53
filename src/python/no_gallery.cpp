// In the place of the gallery, where Penstock is built without its applications (PENSTOCK_APPS=OFF).
#include "python/calls/python_machine.hpp"

namespace penstock::python {

void bind_gallery(nb::module_& module) {
    const auto refuse = [](const nb::args&, const nb::kwargs&) {
        throw UsageError("this Penstock was built without the applications of its gallery (PENSTOCK_APPS=OFF)");
    };
    module.def("gallery", [] { return nb::list(); });
    module.def("app_ways", refuse);
    module.def("app_settings", refuse);
    module.def("run_app", refuse);
}

}  // namespace penstock::python
