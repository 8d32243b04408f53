// MUST SAY: the number of arguments differs
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const int>, int) {}
void wrong(Machine& machine, std::vector<int>& x) { machine.call<consume>(in(x)); }
