// MUST SAY: a parameter that refers to memory needs a tagged argument
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void consume(std::span<const int>) {}
void wrong(Machine& machine, std::vector<int>& x) { machine.call<consume>(std::span<const int>(x)); }
