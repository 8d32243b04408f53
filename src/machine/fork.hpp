// machine layer, internal: what must be so at the moment of a fork.
#pragma once

namespace penstock {

/// Waits until everything that this layer works out at its first use is worked out. A local static that another thread is working out
/// at the moment of a fork would stay locked in the child for ever.
void settle_before_fork() noexcept;

}  // namespace penstock
