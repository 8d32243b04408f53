// Which processors there are and how a thread stays on one. On its own feet, so that the floors do not depend on the
// library that is measured against them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The processors that this program may use, by the numbers of the operating system, as of the first call.
const std::vector<int>& allowed_processors();

/// Keeps the calling thread on one processor for good.
void pin_this_thread(int processor);

/// Keeps the calling thread on one processor while it lives; then the thread may use what it could use before.
/// Threads that are started meanwhile inherit the one processor: start them before.
class Pinned {
  public:
    explicit Pinned(int processor);
    ~Pinned();
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

  private:
    std::vector<int> before_;
};

/// Facts of the machine for the report: processor, how many, last-level cache, memory, system, compiler.
std::vector<std::pair<std::string, std::string>> machine_facts();

/// The same in one line.
std::string machine_in_words();

/// Bytes of the last-level cache as the system tells it; 32 MiB where it does not.
std::size_t last_level_cache_bytes();

}  // namespace bench
