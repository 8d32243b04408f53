// The application for the gallery.
#pragma once

#include <vector>

#include "apps/gallery.hpp"

namespace penstock::apps::likelihood {

/// Evaluates the likelihood of a tree in each way. Settings of its own: all_settings(). Also: rows and columns
/// (sequences and sites of a made alignment; 42 and 1,000), block_rows (patterns of one task; 0: one task a
/// worker), seed. Input "alignment" (sequences x sites, uint8: sets of bases as bits, A 1, C 2, G 4, T 8).
/// Arrays kept: "alignment", "weights" (how often each pattern occurs) and "site log-likelihoods" (of each pattern).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

/// The settings, for App::texts.
std::vector<App::Text> texts();

}  // namespace penstock::apps::likelihood
