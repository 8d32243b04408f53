// Messages of Open MPI, in processes of its own that are started once and asked for batches by turns with ours. They
// sleep while they are not asked.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>

#include "harness/measure.hpp"

namespace bench {

/// A team of Open MPI's ranks, each bound to a core, over shared memory. Start it while this program has one thread.
class OpenMpi {
  public:
    explicit OpenMpi(int ranks);
    ~OpenMpi();
    OpenMpi(const OpenMpi&) = delete;
    OpenMpi& operator=(const OpenMpi&) = delete;

    bool available() const noexcept { return why_.empty(); }
    /// Why it is not.
    const std::string& why() const noexcept { return why_; }
    const std::string& version() const noexcept { return version_; }

    /// "Open MPI": half a round trip of `bytes` between the first two ranks, in ns; `times` round trips a batch.
    Contestant half_round_trip(std::size_t bytes, std::uint32_t times);
    /// "Open MPI": messages of `bytes` from rank 0 to each of `destinations` ranks, ns for one to each.
    Contestant fan(std::size_t bytes, std::uint32_t times, int destinations = 1);
    /// "Open MPI": round trips of `bytes` in `pairs` pairs at the same time, half of one in ns.
    Contestant pairs(std::size_t bytes, std::uint32_t times, int pairs);

  private:
    Contestant asked(const char* work, std::size_t bytes, std::uint32_t times, int width, double share);
    std::string answer();

    std::string why_, version_;
    pid_t process_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

}  // namespace bench
