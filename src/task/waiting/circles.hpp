// task layer: the waits inside tasks, and how it is found that one can never end.
//
// A thread that waits inside a task can go on with nothing that it is in until that wait ends. So there is an arrow
// from one wait to another when what the first waits for is on the other's stack, or comes after what is there, or is
// for that target alone. A wait can never end when the arrows lead from it back to it. They are followed under a lock
// that every wait inside a task takes when it begins and ends: what is found holds at one moment for all of them, and a
// circle is found by the wait that closes it.
#pragma once

#include <mutex>
#include <optional>

#include "task/waiting/awaited.hpp"

namespace penstock {

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
