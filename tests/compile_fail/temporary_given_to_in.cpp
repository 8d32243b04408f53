// MUST SAY: this temporary owns its memory
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const int>) {}
void wrong(Machine& machine) { machine.call<consume>(in(std::vector<int>{1, 2})); }
