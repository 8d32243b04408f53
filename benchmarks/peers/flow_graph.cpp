#include "peers/flow_graph.hpp"

#include "harness/measure.hpp"
#include "peers/peer.hpp"

#ifdef PENSTOCK_BENCH_TBB
#include <tbb/flow_graph.h>

#include <deque>

namespace bench {
namespace {

using Message = void*;

class Chain final : public FlowGraph {
  public:
    explicit Chain(int nodes) {
        for (int i = 0; i < nodes + 1; ++i) {  // the last is the sink
            nodes_.emplace_back(graph_, tbb::flow::serial, [](Message message) {
                null_task();
                return message;
            });
            if (i != 0) tbb::flow::make_edge(nodes_[static_cast<std::size_t>(i) - 1], nodes_.back());
        }
    }
    double stream(int messages) override {
        const auto start = Clock::now();
        for (int i = 0; i < messages; ++i) nodes_.front().try_put(&graph_);
        graph_.wait_for_all();
        return nanoseconds_since(start) / messages;
    }
    double one_by_one(int messages) override {
        const auto start = Clock::now();
        for (int i = 0; i < messages; ++i) {
            nodes_.front().try_put(&graph_);
            graph_.wait_for_all();
        }
        return nanoseconds_since(start) / messages;
    }

  private:
    tbb::flow::graph graph_;
    std::deque<tbb::flow::function_node<Message, Message>> nodes_;
};

}  // namespace

std::shared_ptr<FlowGraph> flow_graph(int nodes) { return std::make_shared<Chain>(nodes); }

}  // namespace bench
#else
std::shared_ptr<bench::FlowGraph> bench::flow_graph(int) { return nullptr; }
#endif
