// MUST SAY: shape does not fit the parameter
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(view<const int, 3>) {}
void wrong(Machine& machine, view<int, 2> x) { machine.call<consume>(in(x)); }
