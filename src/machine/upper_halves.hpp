// What a thread tells its processor when it comes back from a sleep.
#pragma once

namespace penstock {

/// Says that nobody needs the upper halves of the vector registers (VZEROUPPER); nothing elsewhere. For a thread that
/// has slept: after a virtual processor has halted these halves count as in use, though they hold zero, and code with
/// 16-byte vectors (SSE, what compilers make unless told otherwise) keeps them at each step. On a virtual EPYC such
/// code then takes 1.14 times as long until the thread is switched out or somebody says this
/// (docs/performance/2-vcpu-epyc.md). Costs a nanosecond. Every call may lose these halves, so nobody keeps anything
/// there.
void forget_upper_halves() noexcept;

}  // namespace penstock
