// MUST SAY: an out or inout argument needs a parameter that can write it
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const int>) {}
void wrong(Machine& machine, std::vector<int>& x) { machine.call<consume>(out(x)); }
