// oneTBB's flow graph as a chain of nodes that do nothing but hand a message on.
#pragma once

#include <memory>

namespace bench {

class FlowGraph {
  public:
    virtual ~FlowGraph() = default;
    /// `messages` at once, nanoseconds each.
    virtual double stream(int messages) = 0;
    /// The next message starts when the one before has gone through, nanoseconds each.
    virtual double one_by_one(int messages) = 0;
};

/// A chain of `nodes` serial nodes; null where oneTBB was not found.
std::shared_ptr<FlowGraph> flow_graph(int nodes);

}  // namespace bench
