// penstock._core
#include <nanobind/nanobind.h>

#include "array_argument.hpp"
#include "body.hpp"
#include "python_machine.hpp"

NB_MODULE(_core, module) {
    using namespace penstock::python;
    module.doc() = "The compiled part of penstock; import penstock.";
    bind_errors(module);
    bind_arguments(module);
    bind_bodies(module);
    bind_machine(module);
    bind_topology(module);
    bind_gallery(module);
}
