// task layer: the failures of one ring's tasks, kept until somebody asks, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// A task that ended by an exception, or was cancelled, until somebody asks.
struct Failure {
    std::uint64_t number = 0;
    std::string task;
    int target = -1;
    std::exception_ptr cause;
    bool cancelled = false;
    std::size_t others = 0;  ///< failures that are counted here because nothing more is known of them
};

/// Not synchronised. A barrier asks for what nobody was told; a handle may ask again for what it was told, so that is kept too, apart
/// from the rest, and costs later barriers nothing. Of each kind `most` are kept. Of those that nobody was told the oldest stays, since a
/// barrier throws that, and what does not fit is counted; a handle that asks for one of these is told that nothing is known of its task.
class Failures {
  public:
    /// Where memory is refused the failure is counted, and nothing more is known of it.
    void keep(Failure failure, std::size_t most) noexcept;
    /// The failure of this task, which counts as told from here on.
    std::optional<Failure> tell(std::uint64_t number, std::size_t most);
    /// The same, and changes nothing.
    std::optional<Failure> look(std::uint64_t number) const;
    /// Takes those that nobody was told, of tasks above `after` and up to `until`, oldest first.
    std::vector<Failure> take(std::uint64_t after, std::uint64_t until);
    /// How many nobody was told. Cancelled tasks are not counted: no barrier throws for them.
    std::size_t untold() const noexcept { return untold_.size() + forgotten_; }
    /// No task with a higher number failed.
    std::uint64_t newest() const noexcept;
    void clear() noexcept { *this = {}; }

  private:
    using ByNumber = std::map<std::uint64_t, Failure>;
    bool forgot(std::uint64_t number) const noexcept { return number >= first_forgotten_ && number <= last_forgotten_; }
    void forget(std::uint64_t number) noexcept;

    ByNumber untold_;
    ByNumber told_;  ///< and cancellations
    // Failures that nobody was told and that are not kept lie between these two.
    std::uint64_t first_forgotten_ = ~std::uint64_t{0};
    std::uint64_t last_forgotten_ = 0;
    std::size_t forgotten_ = 0;
};

}  // namespace penstock
