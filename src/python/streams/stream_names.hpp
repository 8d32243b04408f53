// What the streams need of NumPy and of the package's Python part, looked up once.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

namespace nb = nanobind;

/// Held for ever.
struct StreamNames {
    nb::object array, dtype, converted, tags, event, generator, several, tagged, in, out, ended, state_lost;
    nb::dict dtypes;  ///< by name
};

/// With the interpreter's lock. No function-local static: whoever waits for one to be made would keep the lock that its
/// maker needs.
const StreamNames& stream_names();

}  // namespace penstock::python
