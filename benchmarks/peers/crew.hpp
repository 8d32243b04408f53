// A team whose members do the same work at the same time: rank 0 measures and says what comes next, the others sleep
// until then.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "harness/measure.hpp"
#include "harness/processors.hpp"
#include "penstock/barrier.hpp"
#include "penstock/message.hpp"

namespace bench {

/// 2, 4, 8 ... and as many members as there are processors; at least 2.
inline std::vector<int> member_counts() {
    const int most = static_cast<int>(allowed_processors().size());
    std::vector<int> counts;
    for (int members = 2; members < most; members *= 2) counts.push_back(members);
    counts.push_back(most < 2 ? 2 : most);
    return counts;
}

/// One member's part of everything that is compared. Made by all members together.
class Crew {
  public:
    using Work = std::function<void(std::uint32_t times)>;

    /// Keeps this member on a processor of its own where there are enough.
    explicit Crew(penstock::Rank me) : me_(me), orders_(me, {.name = "orders"}), barrier_(me, "crew") {
        const auto& processors = allowed_processors();
        pin_this_thread(processors[static_cast<std::size_t>(me.index()) % processors.size()]);
    }

    /// Something that all members do together; added by all in the same order.
    void add(Work work) { works_.push_back(std::move(work)); }

    /// Rank 0: nanoseconds of one of `times`, after a quarter as many to warm up.
    double timed(std::size_t work, std::uint32_t times) {
        order({static_cast<std::uint32_t>(work), times / 4 + 1});
        work_together(works_[work], times / 4 + 1);
        order({static_cast<std::uint32_t>(work), times});
        return work_together(works_[work], times) / times;
    }

    /// The others: do what is said until told to stop.
    void serve() {
        for (;;) {
            Order next;
            orders_.recv(0, next);
            if (next.work == stop_work) return;
            work_together(works_[next.work], next.times);
        }
    }
    void stop() { order({stop_work, 0}); }

  private:
    struct Order {
        std::uint32_t work = 0;
        std::uint32_t times = 0;
    };
    static constexpr std::uint32_t stop_work = ~0u;

    void order(Order next) {
        for (int rank = 1; rank < me_.size(); ++rank) orders_.send(rank, next);
    }
    double work_together(const Work& work, std::uint32_t times) {
        barrier_.arrive_and_wait();
        const auto start = Clock::now();
        work(times);
        barrier_.arrive_and_wait();
        return nanoseconds_since(start);
    }

    penstock::Rank me_;
    penstock::Messenger orders_;
    penstock::Barrier barrier_;
    std::vector<Work> works_;
};

}  // namespace bench
