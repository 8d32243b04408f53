// MUST SAY: the two ends of a stream have values of one type
#include "penstock/penstock.hpp"

using namespace penstock;

void wrong(Graph& graph, Output<float>& from, Input<double>& to) { graph.connect(from, to); }
