// task layer: the waits inside tasks, and how it is found that one can never end.
//
// A thread that waits inside a task can go on with nothing that it is in until that wait ends. So there is an arrow
// from one wait to another when what the first waits for is on the other's stack, or comes after what is there, or is
// for that target alone. A wait can never end when the arrows lead from it back to it. They are followed under a lock
// that every wait inside a task takes when it begins and ends: what is found holds at one moment for all of them, and a
// circle is found by the wait that closes it.
#pragma once

#include <optional>

#include "penstock/handle.hpp"
#include "task/waiting/watched.hpp"

namespace penstock {

class Initiator;
class Ring;
struct Scope;

/// What a wait is for: any of `handles`, and all tasks of the scope and of the rings of dependent tasks.
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

class Circles {
  public:
    /// For the length of a wait in which its thread does nothing else. Outside of tasks, and for any of several tasks,
    /// it says nothing.
    class Wait {
      public:
        /// Throws WouldDeadlock.
        explicit Wait(const AwaitedTasks& awaited);
        ~Wait();
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;

      private:
        friend class Circles;
        const AwaitedTasks awaited_;
        bool listed_ = false;
        bool seen_ = false;
        Wait* next_ = nullptr;
    };

  private:
    bool leads_back(Wait& from, const Wait& to);
    bool stands_behind(const Wait& wait, const Wait& other);
    /// What waits for plain tasks: one picture for all arrows that are looked for at once.
    const WatchedPicture& watched(const Initiator& who);
    void remove(Wait& wait) noexcept;

    std::mutex mutex_;
    Wait* first_ = nullptr;
    std::optional<WatchedPicture> watched_;
};

}  // namespace penstock
