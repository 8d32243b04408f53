// MUST SAY: elements have another type
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const float>) {}
void wrong(Machine& machine, std::vector<double>& x) { machine.call<consume>(in(x)); }
