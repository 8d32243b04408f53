// MUST SAY: an in argument needs a parameter that cannot write it
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void produce(std::span<int>) {}
void wrong(Machine& machine, std::vector<int>& x) { machine.call<produce>(in(x)); }
