// Values of a program's parameters, from the texts of its command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "penstock/application_program.hpp"

namespace penstock::language {

/// By the rules of files: the parameters as elements of an application that has nothing else. Throws UsageError with
/// all that is wrong.
ParameterValues values_of(const ApplicationProgram& program,
                          const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace penstock::language
