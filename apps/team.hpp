// Threads by hand: what an application is compared with. A fixed number of pinned threads that run one body together
// and meet at a barrier of spinning flags. No queue, no task, no runtime: the floor that tagged calls are measured
// against.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock::apps {

/// A half-open range of indices.
struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A team of threads, each pinned to a processor of its own where there are enough. The thread that makes the team is
/// rank 0; it stays pinned, and the only one to call `run`, until it destroys the team. The others sleep when no run
/// comes within 50 us.
class Team {
  public:
    static constexpr int anywhere = -1;

    /// `size` threads on the first processors that this process may use, beginning with the caller's. Throws UsageError
    /// when size is below 1.
    explicit Team(int size);

    /// A thread on each of these processors (by index; `anywhere` for one that is not pinned), the caller on the first.
    /// Throws UsageError for an empty list.
    explicit Team(std::vector<int> processors);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const noexcept { return size_; }

    /// Runs body(rank) on every thread and returns the seconds from the moment when all were awake to the moment when
    /// all had finished. The body must not throw.
    double run(const std::function<void(int rank)>& body);

    /// Inside a body: waits until every thread came here. Costs about one cache line from each core and back for two
    /// threads (a dissemination barrier: each thread spins on a line that one other thread writes).
    void barrier(int rank) noexcept;

    /// The part of 0 ... count that is this rank's when all get equally many (to within one).
    Range share(int rank, std::size_t count) const noexcept;

  private:
    static constexpr int rounds_limit = 16;  // enough for 65,536 threads

    // Written by one other thread in each round, read by its owner; a line of its own, two with the neighbour's
    // prefetch.
    struct alignas(128) Flag {
        std::atomic<std::uint64_t> epoch{0};
    };
    struct alignas(128) Member {
        std::uint64_t epoch = 0;  // how many barriers this thread has entered
        Flag arrived[rounds_limit];
    };

    void serve(int rank);
    bool pin(int rank) const;

    std::vector<int> processors_;  // of each rank
    int size_;
    std::vector<Member> members_;
    bool pinned_ = false;  // the caller, by the constructor
    const std::function<void(int)>* body_ = nullptr;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<std::uint64_t> run_{0};  // how many have begun; written under the mutex
    bool closing_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace penstock::apps
