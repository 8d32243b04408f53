// The gallery's applications as `penstock compile` writes them: write_programs writes them while this benchmark is
// built.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "penstock/application_program.hpp"

namespace bench {

/// What cannot be set any more in a compiled application, and so must be the same when it is written and when it is
/// measured.
std::vector<std::pair<std::string, std::string>> fixed_settings(const std::string& application);

/// Returns 0.
int keep_program(const std::string& application, const penstock::ApplicationProgram& program);
/// Throws std::out_of_range.
const penstock::ApplicationProgram& program_of(const std::string& application);

}  // namespace bench
