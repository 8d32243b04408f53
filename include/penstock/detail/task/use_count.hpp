// task layer: who still uses what tasks share: the image of a chain, a version of resident data. Lets it be freed
// exactly when the last task that uses it has ended, without a line that issuers and targets write in turn.
//
// Issuers count uses begun, in one line; workers count uses ended, each in a line of its own, so that none of these
// lines moves with a task. Nobody but the one who wants to free the thing adds them up.
//
// Happens-before.
//   begin   is sequenced before the release with which the task is published, so a worker that ends a use ends one that
//           was begun
//   end     all that the task did with the thing -> fetch_add(release) -> quiet()'s load(acquire) -> its destruction.
//           It is the task's last access: what frees the thing never waits for the worker to say anything more
//   quiet   is asked once no further use can begin (its owner has let go of it), so the number begun stands still
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

template <class Policy = StandardAtomics, std::size_t lines = 8>
class UseCount {
  public:
    /// Called before the task is published.
    void begin() noexcept { begun_.count.fetch_add(1, std::memory_order_relaxed); }
    /// Takes one back whose task was refused after all.
    void give_up() noexcept { begun_.count.fetch_sub(1, std::memory_order_relaxed); }
    /// The last thing that a task does with what is counted. `worker`: number of its local store.
    void end(std::uint32_t worker) noexcept { ended_[worker % lines].count.fetch_add(1, std::memory_order_release); }
    /// Has every use that was begun ended?
    bool quiet() const noexcept {
        std::uint64_t ended = 0;
        for (const auto& line : ended_) ended += line.count.load(std::memory_order_acquire);
        return ended == begun_.count.load(std::memory_order_relaxed);
    }

  private:
    struct alignas(64) Line {
        typename Policy::template Atomic<std::uint64_t> count{0};
    };
    Line begun_;
    std::array<Line, lines> ended_;
};

/// Something that tasks may still use when nobody else holds it any more.
class Shared {
  public:
    Shared() = default;
    virtual ~Shared() = default;
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    UseCount<> uses;
    /// Ends a use that a task in a worker process had, which cannot count here itself.
    virtual void end_elsewhere() noexcept { uses.end(0); }

  private:
    friend struct LetGo;
    Shared* next_ = nullptr;  ///< of those that wait for their last task
};

/// A deleter: frees the thing at once, or when the tasks that use it have ended. Looked for whenever something else is
/// let go of, and when a machine ends.
struct LetGo {
    void operator()(Shared* shared) const noexcept;
    /// Frees what was let go of and has become quiet since. Returns how many still wait.
    static std::size_t sweep() noexcept;
};

}  // namespace penstock
