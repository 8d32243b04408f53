// MUST SAY: the ports are swapped
#include "penstock/penstock.hpp"

using namespace penstock;

void wrong(Graph& graph, Output<float>& from, Input<float>& to) { graph.connect(to, from); }
