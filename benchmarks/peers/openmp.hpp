// The team of OpenMP threads that the benchmarks share.
#pragma once

namespace bench {

/// A thread for each allowed processor, at least two.
int openmp_team_size();

/// Keeps the team's threads on processors of their own, the first excepted (it is the caller's): what
/// OMP_PROC_BIND=true does, which cannot be asked for once the program runs.
void bind_openmp_team();

}  // namespace bench
