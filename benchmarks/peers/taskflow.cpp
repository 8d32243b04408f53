// Taskflow: an executor with a worker for each processor. It has no way to keep its workers on processors.
#if defined(PENSTOCK_BENCH_TASKFLOW)
#include <memory>
#include <taskflow/taskflow.hpp>

#include "harness/processors.hpp"
#include "peers/peer.hpp"

namespace bench {
namespace {

tf::Executor& executor() {
    static tf::Executor shared{allowed_processors().size()};
    return shared;
}

}  // namespace

Peer taskflow_peer() {
    Peer peer{"taskflow-async"};
    peer.round_trip = [] { executor().async([] { null_task(); }).get(); };
    peer.hand_off = peer.round_trip;
    peer.many = [](int tasks) {
        for (int i = 0; i < tasks; ++i) executor().silent_async([] { null_task(); });
        executor().wait_for_all();
    };
    return peer;
}

Peer taskflow_static_peer() {
    struct Graph {
        int tasks = -1;
        tf::Taskflow flow;
    };
    auto graph = std::make_shared<Graph>();
    Peer peer{"taskflow-static"};
    peer.many = [graph](int tasks) {
        if (graph->tasks != tasks) {  // in the warm-up: making the graph is not timed
            graph->flow.clear();
            for (int i = 0; i < tasks; ++i) graph->flow.emplace([] { null_task(); });
            graph->tasks = tasks;
        }
        executor().run(graph->flow).wait();
    };
    peer.round_trip = [graph] {
        if (graph->tasks != 1) {
            graph->flow.clear();
            graph->flow.emplace([] { null_task(); });
            graph->tasks = 1;
        }
        executor().run(graph->flow).wait();
    };
    peer.hand_off = peer.round_trip;
    return peer;
}

}  // namespace bench
#endif
