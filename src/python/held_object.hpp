// Python objects that travel with what is not Python's, and may be let go by any thread.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

namespace penstock::python {

namespace nb = nanobind;

using HeldObject = std::shared_ptr<nb::object>;

/// With the interpreter's lock. Whoever is last to let go takes it for that; when the interpreter is gone the object is
/// left alone.
inline HeldObject hold(nb::object object) {
    return {new nb::object(std::move(object)), [](nb::object* held) {
                if (!nb::is_alive()) {
                    static_cast<void>(held->release());
                    delete held;
                    return;
                }
                const nb::gil_scoped_acquire acquire;
                delete held;
            }};
}

}  // namespace penstock::python
