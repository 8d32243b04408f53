// The programs that streams are compared with: a source, stages that may run for several items at once, and a sink,
// with their own buffers used again, by oneTBB's parallel_pipeline and by OpenMP's threads.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/parallel_pipeline.h>

#include "peers/onetbb.hpp"
#endif
#if defined(_OPENMP)
#include "harness/processors.hpp"
#include "peers/openmp.hpp"
#endif

namespace bench {

/// Whose program it is.
enum class Rival { onetbb, openmp };

/// Those that were found when this was built.
inline std::vector<Rival> rivals() {
    std::vector<Rival> found;
#if defined(PENSTOCK_BENCH_TBB)
    found.push_back(Rival::onetbb);
#endif
#if defined(_OPENMP)
    found.push_back(Rival::openmp);
#endif
    return found;
}

inline const char* name(Rival rival) { return rival == Rival::onetbb ? "onetbb" : "openmp"; }

template <class Item>
struct Pipeline {
    std::function<bool(Item&)> source;  ///< false: there are no more
    std::vector<std::function<void(Item&)>> stages;
    std::function<void(Item&)> sink;
};

#if defined(PENSTOCK_BENCH_TBB)
/// As many items as there are in `items` are under way at most.
template <class Item>
void run_by_onetbb(const Pipeline<Item>& pipeline, std::vector<Item>& items) {
    std::mutex mutex;
    std::vector<Item*> free;
    for (Item& item : items) free.push_back(&item);
    const auto take = [&](tbb::flow_control& control) -> Item* {
        Item* item;
        {
            const std::scoped_lock lock{mutex};
            item = free.back();
            free.pop_back();
        }
        if (!pipeline.source(*item)) control.stop();
        return item;
    };
    auto chain = tbb::make_filter<void, Item*>(tbb::filter_mode::serial_in_order, take);
    for (const auto& stage : pipeline.stages)
        chain = chain & tbb::make_filter<Item*, Item*>(tbb::filter_mode::parallel, [&stage](Item* item) {
                    stage(*item);
                    return item;
                });
    const auto sink = [&](Item* item) {
        pipeline.sink(*item);
        const std::scoped_lock lock{mutex};
        free.push_back(item);
    };
    in_onetbb_arena([&] {
        tbb::parallel_pipeline(items.size(),
                               chain & tbb::make_filter<Item*, void>(tbb::filter_mode::serial_out_of_order, sink));
    });
}
#endif

#if defined(_OPENMP)
/// Each thread takes the next item, does all of its stages and puts it into the sink: a loop whose pieces are dealt out
/// one by one. There is an item for each thread.
template <class Item>
void run_by_openmp(const Pipeline<Item>& pipeline, std::vector<Item>& items) {
    bind_openmp_team();
    const Pinned pinned{allowed_processors().front()};
    const int threads = std::min(openmp_team_size(), static_cast<int>(items.size()));
    std::mutex at_source, at_sink;
    const auto next = [&](Item& item) {
        const std::scoped_lock lock{at_source};
        return pipeline.source(item);
    };
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int thread = 0; thread < threads; ++thread) {
        Item& item = items[static_cast<std::size_t>(thread)];
        while (next(item)) {
            for (const auto& stage : pipeline.stages) stage(item);
            const std::scoped_lock lock{at_sink};
            pipeline.sink(item);
        }
    }
}
#endif

/// On all processors, the caller's included. Does nothing for a rival that was not found.
template <class Item>
void run_by(Rival rival, const Pipeline<Item>& pipeline, std::vector<Item>& items) {
#if defined(PENSTOCK_BENCH_TBB)
    if (rival == Rival::onetbb) run_by_onetbb(pipeline, items);
#endif
#if defined(_OPENMP)
    if (rival == Rival::openmp) run_by_openmp(pipeline, items);
#endif
}

}  // namespace bench
