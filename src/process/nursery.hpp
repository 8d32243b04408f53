// The small early process from which others are forked on behalf of a program that has threads by now.
#pragma once

#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock::process {

/// Has launch() started the process that forks for this one?
bool launched() noexcept;

/// Starts a process that is a copy of this one as it was when it called launch(), and there calls `program` with the
/// other end of the socket (SOCK_SEQPACKET) that is returned. It has one thread, and stdin, stdout and stderr of that
/// moment. Throws UsageError when launch() was not called, SystemError.
OwnedDescriptor start_early(void (*program)(int socket));

/// Has this process one thread? Waits a little for joined threads that are still on their way out of the kernel.
bool has_one_thread();

}  // namespace penstock::process
