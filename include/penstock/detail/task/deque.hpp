// task layer: an initiator's waiting tasks, which any free target claims, and the initiator itself while it helps.
//
// They lie in rings. A ring that may hold tasks is open: its bit in a word that claimants look at first. Rings are
// added and never taken away; one that is closed waits for its next use.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "penstock/detail/task/ring.hpp"
#include "penstock/detail/task/scope.hpp"

namespace penstock {

/// The rings of one initiator. Its thread writes all of it; any thread looks at what stands first.
class alignas(128) Deque {
  public:
    static constexpr int any_target = Ring::any_target;
    /// Rings that one initiator has at once, over all its scopes.
    static constexpr std::uint32_t max_rings = 1024;

    /// `claimants`: who counts completed tasks (pending.hpp). `seen_by`: who else sees the records, or null.
    Deque(Initiator& owner, Doorbell& owner_bell, MachineBoard& board, std::uint32_t claimants,
          OffloadBackend* seen_by) noexcept
        : owner_(owner), owner_bell_(owner_bell), board_(board), claimants_(claimants), seen_by_(seen_by) {}
    ~Deque() {
        each([](Ring& ring) { ring.release(); });
    }
    Deque(const Deque&) = delete;
    Deque& operator=(const Deque&) = delete;

    // ---- any thread ----

    enum class Look : std::uint8_t { everything, urgent, normal };
    /// The first open ring that has something for this target (any_target: for a thread that helps), or null. `from`:
    /// the place where it begins to look; those before come last. `found`: where that ring has its place.
    Ring* inviting(int target, Look look, std::uint32_t from = 0, std::uint32_t* found = nullptr) const noexcept;
    template <class Visit>
    void each(Visit&& visit) const {
        for (const auto& place : rings_) {
            Ring* const ring = place.load(std::memory_order_acquire);
            if (ring == nullptr) break;
            visit(*ring);
        }
    }

    // ---- the owner ----

    /// One more ring, closed; null where there are as many as there may be. From here on each() visits it. Throws
    /// std::bad_alloc, SystemError.
    Ring* add(Ring::Kind kind, std::uint32_t capacity, int only_target = any_target, bool urgent = false);
    /// Opens a ring for tasks of this kind: one that was closed, or a new one. The rest is as of add().
    Ring* open(std::uint32_t capacity, int only_target, bool urgent);
    /// All its tasks have been executed, and told.
    void close(Ring& ring) noexcept;

  private:
    std::atomic<std::uint32_t> words_{0};                  ///< of open_ in use
    std::atomic<std::uint64_t> open_[max_rings / 64]{};    ///< which rings may hold tasks
    std::atomic<std::uint64_t> urgent_[max_rings / 64]{};  ///< which of these hold tasks of high priority
    std::atomic<Ring*> rings_[max_rings]{};

    // The owner's own.
    Initiator& owner_;
    Doorbell& owner_bell_;
    MachineBoard& board_;
    std::uint32_t claimants_;
    OffloadBackend* seen_by_;
    std::uint32_t count_ = 0;  ///< of rings
    std::vector<Ring*> closed_;
};

}  // namespace penstock
