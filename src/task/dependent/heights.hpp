// task layer: which of the ready tasks of a large graph goes first, where its tasks are long.
//
// A task's height is the number of tasks on the longest way from it to the end of its graph. Who always takes the
// highest goes along the critical path, and keeps for later what can wait: that is list scheduling by levels (T. C. Hu,
// Parallel Sequencing and Assembly Line Problems, 1961). A task that is being issued does not know its height, since it
// follows from what comes after it. So the thread that issued a graph and waits for it measures the heights then, if it
// finds the tasks long enough: that costs about 0.1 us a task, and each ready task then goes through one lock of the
// machine. Short tasks are ordered by each worker for itself (ready_queue.hpp). `./bench scale` prints what it gains.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "machine/spin_lock.hpp"
#include "penstock/detail/task/dependent.hpp"

namespace penstock {

struct Scope;

/// Of one machine. Any thread, but for what is said below.
class alignas(64) Heights {
  public:
    /// Nanoseconds that a task must take, at least, before heights are measured: for up to so many workers. With more
    /// of them each may come to the lock as seldom.
    static constexpr double worth_it = 20'000;
    static constexpr std::uint32_t workers_of_worth_it = 20;

    Heights() = default;
    Heights(const Heights&) = delete;
    Heights& operator=(const Heights&) = delete;

    /// Are heights known of any graph? One load of a line that rarely changes.
    bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
    /// Are there ready tasks here?
    bool inviting() const noexcept { return size_.load(std::memory_order_relaxed) != 0; }

    // ---- the thread that owns the rings, which issues nothing meanwhile ----

    /// Measures the heights of all tasks in these rings that have not completed. Throws std::bad_alloc.
    void measure(const std::vector<Ring*>& rings);
    /// The rings are waited for no more. Tasks that are ready here stay until they are taken.
    void forget(const std::vector<Ring*>& rings) noexcept;

    // ---- who has a task that waits for nothing any more ----

    /// 0: not known.
    std::uint32_t of(const DependentNode& node) noexcept;
    /// Is this at least the height of all that are ready here?
    bool is_highest(std::uint32_t height) const noexcept { return height >= highest_.load(std::memory_order_relaxed); }
    /// Anybody may take it from here. False where its height is not known, or there is no room.
    bool push(DependentNode& node) noexcept;

    // ---- who runs tasks ----

    /// The highest, of this scope unless it is null; null when there is none.
    DependentNode* take(const Scope* only) noexcept;
    bool holds(const Scope& scope) noexcept;
    /// Takes those that are ready here, all of them. Throws std::bad_alloc, and then nothing is taken.
    std::vector<DependentNode*> take_all();

  private:
    /// What is known of the tasks of one ring.
    struct Known {
        const Ring* ring;
        std::uint64_t through;               ///< the number of its last task
        std::size_t count;                   ///< of tasks that had not completed
        std::vector<std::uint32_t> heights;  ///< by slot; 0: not known
    };
    struct Ready {
        std::uint64_t rank;  ///< the height above, and behind it in which turn it came: among equals the newest is warm
        DependentNode* node;
        const Scope* scope;
        friend bool operator<(const Ready& a, const Ready& b) noexcept { return a.rank < b.rank; }
    };

    std::uint32_t known(const DependentNode& node) const noexcept;
    void note_size() noexcept;

    std::atomic<bool> any_{false};
    std::atomic<std::uint32_t> size_{0};
    std::atomic<std::uint32_t> highest_{0};
    SpinLock lock_;
    // Under the lock.
    std::uint32_t turn_ = 0;
    std::vector<Known> known_;
    std::vector<Ready> ready_;  ///< a heap
};

/// Whether the tasks of a graph are long enough, as the thread that waits for them finds. Its rings are forgotten when
/// the wait ends.
class OrderByHeight {
  public:
    /// `rings`: null for a wait for something else, of which nothing is measured. `workers`: of the machine.
    OrderByHeight(Heights& heights, const std::vector<Ring*>* rings, std::uint32_t workers) noexcept;
    ~OrderByHeight() {
        if (measured_) heights_.forget(*rings_);
    }
    OrderByHeight(const OrderByHeight&) = delete;
    OrderByHeight& operator=(const OrderByHeight&) = delete;

    /// Should the tasks that run next be timed? About one time in sixteen, and behind long ones.
    bool wants_time() noexcept {
        if (rings_ == nullptr || measured_) return false;
        if (until_next_ == 0) return true;
        --until_next_;
        return false;
    }
    /// They took so many ticks each. True when the heights have been measured therefore.
    bool timed(std::uint64_t ticks) noexcept;

  private:
    /// So many times in a row they must be long: a task that is interrupted is long, too.
    static constexpr std::uint32_t long_ones = 3;

    Heights& heights_;
    const std::vector<Ring*>* rings_;
    std::uint64_t least_ticks_;
    std::uint32_t until_next_ = 0;
    std::uint32_t long_in_a_row_ = 0;
    bool measured_ = false;
};

}  // namespace penstock
