// language layer: applications that are written down, rewritten by passes. What an application computes stays the same.
//
//     const auto flat = transform("tissue.xml", {"inline", "expand"});                   // XML again
//     const auto placed = transform("tissue.xml", {"place=4", "size"}, {.profile = profile_text});
//
// The same file, passes and options give the same bytes. Comments stay with the elements that they stand before.
#pragma once

#include <string>
#include <vector>

#include "penstock/application.hpp"

namespace penstock {

/// What one pass has done.
struct Transformation {
    std::string name;      ///< the pass's
    std::string purpose;   ///< one line
    std::string argument;  ///< what stands behind "NAME=", in words; empty: nothing may
};

/// All passes, in the order in which they are of use.
const std::vector<Transformation>& transformations();

/// What the passes are given.
struct TransformOptions {
    /// Settings become the defaults of their parameters.
    ApplicationOptions application{};
    /// What `penstock profile` wrote, as text; for the passes `place` and `size`.
    std::string profile{};
};

/// The application of a file after these passes ("expand", "unroll=4"), as XML. Groups of included files are taken into
/// it. Throws ApplicationError for a file that is wrong; UsageError for a pass that there is not, or that lacks what it
/// needs; SystemError when the file cannot be read.
std::string transform(const std::string& path, const std::vector<std::string>& passes,
                      const TransformOptions& options = {});
/// The same with a text; `file` is its name in messages, and its folder the one from which files may be included.
std::string transform_text(const std::string& text, const std::vector<std::string>& passes,
                           const std::string& file = "application.xml", const TransformOptions& options = {});

}  // namespace penstock
