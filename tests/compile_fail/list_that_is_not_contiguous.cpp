// MUST SAY: this range is not contiguous in memory
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const int>) {}
void wrong(Machine& machine, std::list<int>& x) { machine.call<consume>(in(x)); }
