// stream layer: what can be wrong with a graph, and what can go wrong while it runs.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/stream_statistics.hpp"

namespace penstock {

/// A graph, or an edit of one, that cannot run; nothing was started or changed. what() lists everything that is wrong
/// with it.
class GraphError : public UsageError {
  public:
    explicit GraphError(std::vector<std::string> problems);
    /// Everything that is wrong, in words.
    const std::vector<std::string>& problems() const noexcept { return problems_; }

  private:
    std::vector<std::string> problems_;
};

/// What went with the worker process in which a filter lived.
struct Loss {
    bool process = false;               ///< false: the filter threw, and its process lives
    std::vector<LostBuffer> buffers{};  ///< which
    /// Filters without state() that lived in the same process and begin afresh, by name
    std::string others{};
};

/// A filter threw, or ended its worker process. `cause()` is what it threw.
class FilterFailed : public Error {
  public:
    FilterFailed(std::string filter, int copy, std::uint64_t firing, std::exception_ptr cause, std::uint64_t others,
                 Loss loss = {});
    /// Which filter.
    const std::string& filter() const noexcept { return filter_; }
    /// Which of its copies.
    int copy() const noexcept { return copy_; }
    std::uint64_t firing() const noexcept { return firing_; }     ///< of this copy, from 0
    std::exception_ptr cause() const noexcept { return cause_; }  ///< never null; WorkerDied where its process ended
    std::uint64_t others() const noexcept { return others_; }     ///< firings that failed later
    /// What went with it.
    const Loss& loss() const noexcept { return loss_; }

  private:
    std::string filter_;
    int copy_;
    std::uint64_t firing_;
    std::exception_ptr cause_;
    std::uint64_t others_;
    Loss loss_;
};

/// Nothing in the graph can go on, although it has not ended: what() says which filter waits for what.
struct StreamStalled : Error {
    using Error::Error;
};

/// A buffer was written to a full stream that says WhenStreamFull::fail.
struct StreamFull : Error {
    using Error::Error;
};

/// The run has ended or was stopped, so nothing can be written, sent or edited any more.
struct RunEnded : UsageError {
    using UsageError::UsageError;
};

}  // namespace penstock
