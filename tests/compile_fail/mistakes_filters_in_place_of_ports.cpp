// MUST SAY: streams join ports, not filters
#include "penstock/penstock.hpp"

using namespace penstock;

struct Source {
    Output<float> out{"out"};
    bool operator()() { return false; }
};
struct Sink {
    Input<float> in{"in"};
    void operator()() {}
};
void wrong(Graph& graph) { graph.connect(graph.add<Source>("source"), graph.add<Sink>("sink")); }
