// The process from which others are forked.
#pragma once

namespace penstock {

/// Starts a small process from which the processes of teams are forked later, when this one has threads and much
/// memory. To be called on main's first line; a second call does nothing. It ends when this process ends. Throws
/// UsageError when this process has threads already, SystemError. Costs one fork.
void launch();

}  // namespace penstock
