// Which Penstock this is. CMake and the Python package read the version from here.
#pragma once

#define PENSTOCK_VERSION "0.1.0"
#define PENSTOCK_VERSION_MAJOR 0
#define PENSTOCK_VERSION_MINOR 1
#define PENSTOCK_VERSION_PATCH 0
/// To compare with: `#if PENSTOCK_VERSION_NUMBER >= 10200` asks for 1.2.0 or later.
#define PENSTOCK_VERSION_NUMBER (PENSTOCK_VERSION_MAJOR * 10000 + PENSTOCK_VERSION_MINOR * 100 + PENSTOCK_VERSION_PATCH)

namespace penstock {

/// The version of the headers that this file was compiled with.
inline constexpr const char* version = PENSTOCK_VERSION;
/// The version of the library that the program runs with, as "0.1.0": a shared library may be newer than the headers.
const char* library_version() noexcept;

}  // namespace penstock
