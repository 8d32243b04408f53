// oneTBB: an arena of one slot for the issuing thread and the rest for workers, which an observer keeps on processors.
#if defined(PENSTOCK_BENCH_TBB)
#include "peers/onetbb.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>

#include "harness/processors.hpp"
#include "peers/peer.hpp"

namespace bench {
namespace {

class PinsWorkers : public tbb::task_scheduler_observer {
  public:
    explicit PinsWorkers(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
    ~PinsWorkers() override { observe(false); }
    void on_scheduler_entry(bool is_worker) override {
        if (!is_worker) return;
        const auto place = static_cast<std::size_t>(std::max(0, tbb::this_task_arena::current_thread_index()));
        pin_this_thread(allowed_processors()[place % allowed_processors().size()]);
    }
};

struct Arena {
    tbb::task_arena arena{std::max(2, static_cast<int>(allowed_processors().size())), 1};
    PinsWorkers pins{arena};
};

Arena& shared_arena() {
    static Arena arena;
    return arena;
}

}  // namespace

void in_onetbb_arena(const std::function<void()>& batch) {
    auto& arena = shared_arena().arena;
    arena.initialize();
    const Pinned pinned{allowed_processors().front()};
    arena.execute(batch);
}

Peer onetbb_peer() {
    Peer peer{"onetbb"};
    peer.inside = in_onetbb_arena;
    peer.round_trip = [] {
        thread_local tbb::task_group group;
        group.run([] { null_task(); });
        group.wait();
    };
    peer.hand_off = [] {
        std::atomic<bool> executed{false};
        shared_arena().arena.enqueue([&executed] { executed.store(true, std::memory_order_release); });
        while (!executed.load(std::memory_order_acquire)) {
        }
    };
    peer.many = [](int tasks) {
        thread_local tbb::task_group group;
        for (int i = 0; i < tasks; ++i) group.run([] { null_task(); });
        group.wait();
    };
    return peer;
}

Peer onetbb_parallel_for_peer() {
    Peer peer{"onetbb-parallel-for"};
    peer.inside = in_onetbb_arena;
    peer.many = [](int tasks) {
        tbb::parallel_for(
            tbb::blocked_range<int>(0, tasks, 1), [](const tbb::blocked_range<int>&) { null_task(); },
            tbb::simple_partitioner());
    };
    return peer;
}

}  // namespace bench
#endif
