// Where the time went. Everything of the trace layer; see the four headers for the parts.
//
// A program that runs writes counters (always) and timelines (only while somebody asked for one); a program that reports
// takes a Snapshot, subtracts an earlier one, and turns the difference into a Breakdown, a picture or a file.
#pragma once

#include <penstock/trace_counters.hpp>
#include <penstock/trace_timeline.hpp>
