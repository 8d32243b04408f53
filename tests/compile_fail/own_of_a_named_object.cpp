// MUST SAY: own(std::move(x)) takes x over
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void take(std::vector<int>) {}
void wrong(Machine& machine, std::vector<int>& x) { machine.call<take>(own(x)); }
