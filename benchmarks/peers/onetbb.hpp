// The oneTBB arena that the benchmarks share, for programs that compare more than null tasks.
#pragma once

#include <oneapi/tbb/task_group.h>

#include <functional>

namespace bench {

/// Runs `batch` on the calling thread inside the arena: one slot for it, a pinned worker for each other processor.
void in_onetbb_arena(const std::function<void()>& batch);

}  // namespace bench
