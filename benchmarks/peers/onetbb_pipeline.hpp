// The program that streams are compared with: a source, stages that may run for several items at once, and a sink, by
// oneTBB's parallel_pipeline, with its own buffers used again for each token.
#pragma once

#include <functional>
#include <string>
#include <vector>

#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/parallel_pipeline.h>

#include <mutex>

#include "peers/onetbb.hpp"
#endif

namespace bench {

template <class Item>
struct Pipeline {
    std::function<bool(Item&)> source;  ///< false: there are no more
    std::vector<std::function<void(Item&)>> stages;
    std::function<void(Item&)> sink;
};

#if defined(PENSTOCK_BENCH_TBB)

/// As many items as there are in `items` are under way at most. On all processors, the caller's included.
template <class Item>
void run_onetbb_pipeline(const Pipeline<Item>& pipeline, std::vector<Item>& items) {
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

}  // namespace bench
