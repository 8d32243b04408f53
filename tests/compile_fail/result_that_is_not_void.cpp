// MUST SAY: tasks return nothing
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

int sum(std::span<const int> x) { return x[0]; }
void wrong(Machine& machine, std::vector<int>& x) { machine.call<sum>(in(x)); }
