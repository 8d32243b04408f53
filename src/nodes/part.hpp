// What an agent is told of a run: the whole graph, where each copy runs, and how the filters that are its own are made.
#pragma once

#include "nodes/messages.hpp"
#include "nodes/recipe.hpp"
#include "stream/description/model.hpp"
#include "stream/far/far_run.hpp"

namespace penstock::nodes {

struct Part {
    streaming::Model model;
    streaming::Placement placement;
};

/// Throws GraphError, naming each filter that cannot be made elsewhere.
std::vector<std::byte> part_of(const streaming::Model& model, const streaming::Placement& placement,
                               const Components& components);
/// For this site: filters of others have ports and nothing else. Throws Error, UsageError.
Part part_from(std::span<const std::byte> bytes, wire::Site here, const Components& components);

}  // namespace penstock::nodes
