// The filter classes that come with Penstock: enough to try an application, and the parts of tests.
#pragma once

#include "penstock/components.hpp"

namespace penstock::language {

void add_generic_parts(Components& components);

}  // namespace penstock::language
