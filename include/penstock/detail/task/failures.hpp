// task layer: the failures of one ring's tasks, kept until somebody asks, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/detail/task/forgotten_numbers.hpp"

namespace penstock {

/// A task that ended by an exception, or was cancelled, until somebody asks.
struct Failure {
    std::uint64_t number = 0;
    std::string task;
    int target = -1;
    std::exception_ptr cause;  ///< null, of a cancelled task: it is made when somebody asks
    bool cancelled = false;
    std::size_t others = 0;  ///< failures that are counted here because only their numbers are left
};

/// Not synchronised. A barrier asks for what nobody was told; a handle may ask again for what it was told, so that is
/// kept too, apart from the rest, and costs later barriers nothing. Of each kind `most` are kept, of what nobody was
/// told the oldest among them, since a barrier throws that. Of the others the number is left (forgotten_numbers.hpp):
/// they go on being failures.
class Failures {
    using ByNumber = std::map<std::uint64_t, Failure>;

  public:
    /// A failure that is no longer kept. Its exception is the user's: it should die where no lock is held.
    using Dropped = ByNumber::node_type;

    /// Where memory is refused only the number is kept. `failure` is left as it was then, and has the older one where
    /// there was one.
    [[nodiscard]] Dropped keep(Failure&& failure, std::size_t most) noexcept;
    /// The failure of this task, which counts as told from here on.
    std::optional<Failure> tell(std::uint64_t number, std::size_t most, Dropped& dropped);
    /// The same, and changes nothing.
    std::optional<Failure> look(std::uint64_t number) const;
    /// Takes those that nobody was told, of tasks above `after` and up to `until`, oldest first. There is room for one
    /// more behind them.
    std::vector<Failure> take(std::uint64_t after, std::uint64_t until);
    /// How many nobody was told. Cancelled tasks are not counted: no barrier throws for them.
    std::size_t untold() const noexcept { return untold_.size() + forgotten_.untold(); }
    /// No task with a higher number failed.
    std::uint64_t newest() const noexcept;

  private:
    Dropped drop(ByNumber& kept, ByNumber::iterator which) noexcept;

    ByNumber untold_;
    ByNumber told_;  ///< and cancellations
    ForgottenNumbers forgotten_;
};

}  // namespace penstock
