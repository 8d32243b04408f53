// What the bindings for applications share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::python {

namespace nb = nanobind;

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Folders = std::vector<std::string>;

/// The text that a path means when there is no such file but an application of that name is part of the program; else
/// null. Set by the gallery, where there is one.
inline const char* (*known_text)(const std::string& path) = [](const std::string&) -> const char* { return nullptr; };

}  // namespace penstock::python
