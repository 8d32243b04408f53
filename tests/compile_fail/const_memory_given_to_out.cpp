// MUST SAY: out and inout need memory that is not const
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"

using namespace penstock;

void produce(std::span<int>) {}
void wrong(Machine& machine, const std::vector<int>& x) { machine.call<produce>(out(x)); }
