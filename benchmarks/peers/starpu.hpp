// StarPU as a rival: tasks whose order it derives from the handles of their data.
#pragma once

#include <cstddef>
#include <memory>

namespace bench {

/// A running StarPU with a worker for each allowed processor but the caller's, and cells registered as variables. Not
/// made: available() is false and nothing else may be called.
class StarPu {
  public:
    /// Built in at all?
    static bool available() noexcept;
    explicit StarPu(std::size_t cells);
    ~StarPu();
    StarPu(const StarPu&) = delete;
    StarPu& operator=(const StarPu&) = delete;

    /// A task that does nothing, reads three cells (those of one index are given once) and writes one.
    void insert(std::size_t left, std::size_t middle, std::size_t right, std::size_t out);
    void wait();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace bench
