// What the commands for applications share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "penstock/application.hpp"

namespace penstock::python {

namespace nb = nanobind;

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Folders = std::vector<std::string>;

/// A dict for each: kind ('error', 'warning'), file, line, column, message, text.
nb::list list_of(const std::vector<Finding>& findings);

void bind_application(nb::module_& module);

}  // namespace penstock::python
