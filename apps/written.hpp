// The applications of the gallery that are written down: their texts are part of the program, and their filters are
// known by name.
#pragma once

#include <span>
#include <string>

#include "penstock/application.hpp"

namespace penstock::apps {

struct Written {
    const char* name;  ///< "tissue", of tissue.xml
    const char* text;
};

/// In alphabetical order.
std::span<const Written> all_written();

/// The text of this name, checked, with its parameters filled in. Throws UsageError for a name, ApplicationError.
Application application(const std::string& name, const ApplicationOptions& options = {});

/// The text that a path means when there is no such file and it is no more than the name of one of these
/// ("tissue.xml"); else null.
const char* text_instead_of(const std::string& path);

/// Adds the filters of all of them, which read and write files. Throws as Components::add().
void add_components(Components& components);

/// Adds them to Components::known(), once for the process.
void register_components();

/// `print`, the only one of the general classes that the applications use, which prints nothing: for programs that give
/// an application memory to work in, and look there.
Components silent_components();

}  // namespace penstock::apps
