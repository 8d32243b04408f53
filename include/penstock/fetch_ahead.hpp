// For the body of a task that takes a while: it says where there is room to fetch something for the next one.
#pragma once

namespace penstock {

/// Asks for a part of what the next task on this thread will read and write, where prefetching pays
/// (MachineOptions::prefetch). Called between the parts of a body, each some hundred nanoseconds long: eight to sixteen
/// times a task. How many parts there are is learnt from the task before.
///
/// Without it, all that the next task needs is asked for before this one begins, and this one waits for a good part of
/// it, since a processor has only so many lines of memory on the way at once. It never changes results. Costs about
/// 2 ns where nothing waits to be asked for, and may be called anywhere, outside of tasks too. In worker processes
/// nothing is prefetched, so it does nothing there.
/// `./bench prefetch` prints what it gains.
void fetch_ahead() noexcept;

}  // namespace penstock
