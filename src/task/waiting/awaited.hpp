// task layer: what a wait is for, and how a task that waits runs that itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/handle.hpp"
#include "task/waiting/watched.hpp"

namespace penstock {

class Initiator;
class Ring;
struct Scope;

/// Any of `handles`, and all tasks of the scope and of the rings of dependent tasks.
struct AwaitedTasks {
    Initiator& who;  ///< waits
    std::span<const Handle> handles{};
    const Scope* scope = nullptr;
    const std::vector<Ring*>* dependents = nullptr;

    // ---- by whoever looks for circles ----

    /// Is this task one of them?
    bool include(Ring& ring, std::uint64_t number) const;
    /// May there be a dependent task among them?
    bool may_depend() const noexcept;
    /// Does one of them come after this task? The task must not be able to complete meanwhile: then what comes after it
    /// cannot start, the lists stay as they are but for what is added, and can be followed. `node`: null for a plain
    /// task.
    bool come_after(const Handle& task, DependentNode* node, const WatchedPicture& watched) const;

    // ---- by who waits ----

    /// Has one of them that may run here not begun?
    bool can_run() const noexcept;
    /// For a task whose wait finds nothing else to do. What its thread has claimed and not begun is for everybody from
    /// here on. True when it ran something. Throws NestingTooDeep.
    bool run() const;
};

}  // namespace penstock
