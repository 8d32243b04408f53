#include "penstock/version.hpp"

namespace penstock {

const char* library_version() noexcept { return PENSTOCK_VERSION; }

}  // namespace penstock
