// language layer: component classes that do real work on the user's own files: pictures, slides, films, sounds, raw
// bytes, and the kernels between them (docs/components.md). They lie in a library of their own: link
// penstock::component_classes.
//
//     penstock::register_component_classes();
//     Application::read("web.xml", {.settings = {{"input", "photos"}, {"output", "web"}}}).start(machine).finish();
#pragma once

#include "penstock/components.hpp"

namespace penstock {

/// Makes them known to all applications that are read later. Once for the process; again it does nothing. A class of
/// the program that has a name of theirs is the one that is meant.
void register_component_classes();

}  // namespace penstock
