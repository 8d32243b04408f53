// MUST SAY: returns nothing, or bool
#include "penstock/penstock.hpp"

using namespace penstock;

struct Source {
    Output<float> out{"out"};
    int operator()() { return 0; }
};
void wrong(Graph& graph) { graph.add<Source>("source"); }
