// MUST SAY: a bare pointer has no length
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const int>) {}
void wrong(Machine& machine, int* x) { machine.call<consume>(in(x)); }
