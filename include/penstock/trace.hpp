// Where the time went: everything of the trace layer.
//
// A program that runs writes counters (always, trace_counters.hpp) and timelines (only while somebody asked for one,
// trace_timeline.hpp). Whoever reports takes a Snapshot, subtracts an earlier one (trace_snapshot.hpp), and turns the
// difference into a Breakdown (trace_breakdown.hpp), a picture or a file (trace_export.hpp).
#pragma once

#include <penstock/detail/trace/breakdown.hpp>
#include <penstock/detail/trace/counters.hpp>
#include <penstock/detail/trace/export.hpp>
#include <penstock/detail/trace/snapshot.hpp>
#include <penstock/detail/trace/timeline.hpp>
