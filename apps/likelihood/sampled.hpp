// The sampler as the gallery runs it: what it writes into files and what it tells.
#pragma once

#include <functional>

#include "apps/likelihood/settings.hpp"
#include "apps/report.hpp"

namespace penstock::apps::likelihood {

/// Samples, writes the files that are asked for, and adds findings and a check to the result. `done` is told the
/// fraction done, at most some hundred times a second. Throws SystemError for files that cannot be written.
void sample_trees(const Given& given, const Sampling& sampling, const Alignment& alignment, const Patterns& patterns,
                  const Tree& tree, const Model& model, const std::function<void(double)>& done, RunResult& result);

/// A number as a text, with as many digits as tell it from any other.
std::string digits_of(double value);

}  // namespace penstock::apps::likelihood
